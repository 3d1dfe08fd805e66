"""Parsed proof bundles: what a bundle states, read strictly and not verified yet (CONTRACT section 7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from attestlab.attestations.bundle.reader import (
    Reader,
    decode_base64,
    decode_base64url,
    parse_nonce,
    require_known_format,
)
from attestlab.attestations.receipt_content import (
    RECEIPT_STATUSES,
    DisclosedContent,
    ReceiptContent,
    ReceiptStatement,
)
from attestlab.attestations.rules import RECEIPT, AttestedClaims, SignedContent, SignedStatement, Statement, Status
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
    """A parsed proof bundle of an attestation or a receipt; its content is not verified yet."""

    content: SignedContent = field(repr=False)
    signature: str = field(repr=False)
    status: Status
    public_key: bytes = field(repr=False)
    log: LogEvidence = field(repr=False)
    status_proof: StatusProof = field(repr=False)
    document: Mapping[str, object] = field(repr=False)  # as it was read, to verify the readable copies in it

    @property
    def statement(self) -> SignedStatement:
        """The signed statement."""
        return self.content.statement

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
    record = _read_receipt(top) if RECEIPT.noun in top.value else _read_attestation(top)
    statement, proof, entry, key = record.content.statement, *map(top.object, ("inclusion_proof", "log_entry", "key"))
    if proof.count("log_index") != record.log_index:
        raise ValueError(f"/inclusion_proof/log_index differs from /{statement.kind.noun}/log_index")
    if key.string("kid") != statement.kid:
        raise ValueError(f"/key/kid differs from the kid of the {statement.kind.noun}")
    issuer = top.object("issuer")
    issuer.require_same("id", str(statement.issuer_id))
    status_proof = StatusProof.read(top.object("status_proof"), statement.kind)
    if contradicts_profile(issuer.value, status_proof, statement):
        raise ValueError("/issuer/name and /issuer/domain differ from the issuer's profile in its log entry")
    return Bundle(
        content=record.content,
        signature=record.signature,
        status=record.status,
        public_key=decode_base64url(key.string("public_key"), "/key/public_key"),
        log=LogEvidence(
            entry=decode_base64(entry.string("entry_b64"), "/log_entry/entry_b64"),
            nonce=parse_nonce(entry.string("nonce"), "/log_entry/nonce"),
            index=record.log_index,
            hashes=tuple(parse_sha256(item) for item in proof.strings("hashes")),
            checkpoint=top.object("signed_tree_head").string("checkpoint"),
        ),
        status_proof=status_proof,
        document=top.value,
    )


class _Record(NamedTuple):
    """What a bundle states of its attestation or receipt."""

    content: SignedContent
    signature: str
    status: Status
    log_index: int


def _read_attestation(top: Reader) -> _Record:
    attestation, key = top.object("attestation"), top.object("key")
    payload = attestation.object("payload")
    claims = canonical(payload.object("claims").value)
    attestation.require_same("alg", key.string("algorithm"))
    attestation.require_same("schema", payload.string("schema"))
    attestation.require_same("attestation_id", attestation.string("id"))
    statement = _read_statement(attestation, payload.string("schema"), claims, Algorithm(key.string("algorithm")))
    status = Status(attestation.string("status"))
    content = AttestedClaims(statement, claims)
    return _Record(content, attestation.string("signature"), status, attestation.count("log_index"))


def _read_receipt(top: Reader) -> _Record:
    """Read a receipt, whose payload, subject and nonce are null once it was redacted."""
    if "attestation" in top.value:
        raise ValueError("/attestation and /receipt exclude each other")
    receipt = top.object("receipt")
    signature, log, index = receipt.object("signature"), receipt.object("log"), receipt.count("log_index")
    signature.require_same("alg", top.object("key").string("algorithm"))
    if log.value.get("leaf_index", index) != index:
        raise ValueError("/receipt/log/leaf_index differs from /receipt/log_index")
    log.require_same("leaf_hash", top.object("inclusion_proof").string("leaf_hash"))
    log.require_same("log_id", top.object("signed_tree_head").string("checkpoint").partition("\n")[0])
    statement = ReceiptStatement(
        id=receipt.uuid("receipt_id"),
        issuer_id=receipt.uuid("issuer_id"),
        kid=signature.string("kid"),
        alg=Algorithm(signature.string("alg")),
        receipt_type=receipt.string("receipt_type"),
        receipt_version=receipt.string("receipt_version"),
        schema_hash=receipt.string("schema_hash"),
        subject_hash=receipt.string("subject_hash"),
        payload_hash=receipt.string("payload_hash"),
        created_at=receipt.time("issued_at"),
    )
    content = ReceiptContent(statement, _read_disclosed(receipt))
    return _Record(content, signature.string("value"), _read_receipt_status(receipt), index)


def _read_disclosed(receipt: Reader) -> DisclosedContent | None:
    """Read what a receipt discloses; a redacted one discloses nothing."""
    redacted_at = receipt.time_or_none("redacted_at")
    nonce = receipt.string_or_none("nonce")
    parts = (receipt.object_or_none("payload"), receipt.string_or_none("subject"), nonce)
    if redacted_at is not None and parts == (None, None, None):
        return None
    if redacted_at is not None or nonce is None:
        raise ValueError("/receipt/redacted_at contradicts payload, subject and nonce, of which it has all or none")
    payload = canonical(receipt.object("payload").value)
    return DisclosedContent(payload, receipt.string("subject"), decode_base64url(nonce, "/receipt/nonce"))


def _read_receipt_status(receipt: Reader) -> Status:
    status = receipt.string("status")
    if status not in RECEIPT_STATUSES:
        raise ValueError(f"/receipt/status must be one of {', '.join(RECEIPT_STATUSES)}")
    return RECEIPT_STATUSES[status]


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
