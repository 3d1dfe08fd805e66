"""Parsed proof bundles: what a bundle states, read strictly and not verified yet (CONTRACT section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from attestlab.attestations.bundle.reader import (
    Reader,
    decode_base64,
    decode_base64url,
    parse_nonce,
    require_known_format,
)
from attestlab.attestations.rules import Statement, Status
from attestlab.attestations.verification.logged_issuer import contradicts_profile
from attestlab.attestations.verification.status_proof import StatusProof
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_DEPTH, parse_json
from attestlab.log.entries import parse_sha256

MAX_BUNDLE_DEPTH = MAX_DEPTH + 2  # a bundle contains the claims two levels deeper than the body of the mint


@dataclass(frozen=True)
class LogEvidence:
    """The log entry of the mint, its index and path (leaf to root), and the checkpoint that must prove them."""

    entry: bytes = field(repr=False)
    nonce: bytes = field(repr=False)
    index: int
    hashes: tuple[bytes, ...] = field(repr=False)
    checkpoint: str = field(repr=False)


@dataclass(frozen=True)
class Bundle:
    """A parsed proof bundle; its content is not verified yet."""

    statement: Statement
    claims: bytes = field(repr=False)
    signature: str = field(repr=False)
    status: Status
    public_key: bytes = field(repr=False)
    log: LogEvidence = field(repr=False)
    status_proof: StatusProof = field(repr=False)
    document: Mapping[str, object] = field(repr=False)  # as it was read, to verify the readable copies in it

    @classmethod
    def read(cls, text: bytes) -> Bundle:
        """Read a bundle's JSON text as returned by the service.

        Raises:
            NewerFormat: the bundle needs a newer verifier.
            ValidationFailed: the text is not strict JSON, or not a bundle.
        """
        return cls.parse(parse_json(text, max_depth=MAX_BUNDLE_DEPTH))

    @classmethod
    def parse(cls, document: object) -> Bundle:
        """Read a bundle's JSON value.

        Raises:
            NewerFormat: the bundle needs a newer verifier.
            ValidationFailed: a member is missing or invalid.
        """
        try:
            return _read_bundle(Reader(document, ""))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValidationFailed(f"This is not a proof bundle: {error}.") from error


def _read_bundle(top: Reader) -> Bundle:
    require_known_format(top)
    attestation, proof, entry = top.object("attestation"), top.object("inclusion_proof"), top.object("log_entry")
    payload = attestation.object("payload")
    claims = canonical(payload.object("claims").value)
    key = top.object("key")
    if proof.count("log_index") != attestation.count("log_index"):
        raise ValueError("/inclusion_proof/log_index differs from /attestation/log_index")
    if key.string("kid") != attestation.string("kid"):
        raise ValueError("/key/kid differs from /attestation/kid")
    attestation.require_same("alg", key.string("algorithm"))
    attestation.require_same("schema", payload.string("schema"))
    attestation.require_same("attestation_id", attestation.string("id"))
    issuer = top.object("issuer")
    issuer.require_same("id", attestation.string("issuer_id"))
    statement = _read_statement(attestation, payload.string("schema"), claims, Algorithm(key.string("algorithm")))
    status_proof = StatusProof.read(top.object("status_proof"))
    if contradicts_profile(issuer.value, status_proof, statement):
        raise ValueError("/issuer/name and /issuer/domain differ from the issuer's profile in its log entry")
    return Bundle(
        statement=statement,
        claims=claims,
        signature=attestation.string("signature"),
        status=Status(attestation.string("status")),
        public_key=decode_base64url(key.string("public_key"), "/key/public_key"),
        log=LogEvidence(
            entry=decode_base64(entry.string("entry_b64"), "/log_entry/entry_b64"),
            nonce=parse_nonce(entry.string("nonce"), "/log_entry/nonce"),
            index=proof.count("log_index"),
            hashes=tuple(parse_sha256(item) for item in proof.strings("hashes")),
            checkpoint=top.object("signed_tree_head").string("checkpoint"),
        ),
        status_proof=status_proof,
        document=top.value,
    )


def _read_statement(attestation: Reader, schema: str, claims: bytes, alg: Algorithm) -> Statement:
    return Statement(
        id=attestation.uuid("id"),
        issuer_id=attestation.uuid("issuer_id"),
        kid=attestation.string("kid"),
        alg=alg,
        schema=schema,
        content_type=attestation.string("content_type"),
        payload_hash=attestation.string("payload_hash"),
        document_hash=attestation.string_or_none("document_hash"),
        claims_hash=sha256_b64url(claims),
        expiry_at=attestation.time_or_none("expiry_at"),
        created_at=attestation.time("created_at"),
    )
