"""Signing of a record's statement by an issuer's key: a managed key signs here, an external one before the request.

Attestations and receipts share it (CONTRACT sections 5 and 11.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from attestlab.attestations import rules
from attestlab.attestations.risk_context import RiskSubjects
from attestlab.attestations.rules import SignedContent, SignedStatement
from attestlab.core.clock import truncate_to_milliseconds
from attestlab.core.crypto import jws
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import format_time
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.issuers.rules import Custody
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey
from attestlab.log import entries
from attestlab.log.entries import MintFacts
from attestlab.orgs.rules import Caller

EXTERNAL_MAX_AGE = timedelta(hours=24)
EXTERNAL_MAX_SKEW = timedelta(minutes=5)
FAST_ALGORITHMS = {Algorithm.ED25519, Algorithm.ES256}  # sign in tens of microseconds
EXTERNAL_FIELDS = ("id", "created_at", "signature")


class SigningRequest(Protocol):
    """A request to mint a record; `id`, `created_at` and `signature` are for external keys only."""

    @property
    def alg(self) -> Algorithm | None: ...
    @property
    def id(self) -> UUID | None: ...
    @property
    def created_at(self) -> datetime | None: ...
    @property
    def signature(self) -> str | None: ...


class PreparedMint(Protocol):
    """A signed record that is not in the log yet; `entry` is its log entry."""

    @property
    def caller(self) -> Caller: ...
    @property
    def key(self) -> SigningKey: ...
    @property
    def statement(self) -> SignedStatement: ...
    @property
    def entry(self) -> bytes: ...
    @property
    def risk_subjects(self) -> RiskSubjects: ...


def require_key_fits(request: SigningRequest, key: SigningKey, external_fields: tuple[str, ...]) -> None:
    """Require the algorithm of the key, and that a managed key gets no field that is for external keys only.

    Raises:
        ValidationFailed: it does not fit.
    """
    if request.alg is not None and request.alg is not key.alg:
        raise ValidationFailed.of("/alg", "alg_mismatch", f"The key {key.kid} signs with {key.alg.value}.")
    if key.custody is Custody.MANAGED:
        for name in external_fields:
            if getattr(request, name) is not None:
                raise ValidationFailed.of(f"/{name}", "external_only", f"{name} is only for external keys. Omit it.")


def resolve_created_at(created_at: datetime | None, now: datetime) -> datetime:
    """Return the creation time: now, or with an external key the signed time, which must be close to now."""
    if created_at is None:
        return now
    if not now - EXTERNAL_MAX_AGE <= created_at <= now + EXTERNAL_MAX_SKEW:
        raise ValidationFailed.of(
            "/created_at",
            "not_about_now",
            "created_at must be within the last 24 hours, and at most 5 minutes in the future.",
        )
    return truncate_to_milliseconds(created_at)


def sign_or_verify(
    request: SigningRequest,
    statement: SignedStatement,
    key: SigningKey,
    issuers: Issuers,
    *,
    chosen: Mapping[str, str | None] | None = None,
) -> str:
    """Sign the statement with a managed key, or verify the signature that an external key made.

    `chosen` are further members of the statement that the holder of an external key names; the value is the one to
    sign, or None if the request has it.

    Raises:
        ValidationFailed: the signature of an external key is missing or invalid.
    """
    payload = statement.canonical()
    if key.custody is Custody.MANAGED:
        return jws.sign_compact(key.alg, issuers.unseal_private_key(key), key.kid, payload)
    proposed = {name: value for name, value in (chosen or {}).items() if value is not None}
    if request.signature is None or request.id is None or request.created_at is None or proposed:
        raise _signature_required(statement, payload, proposed)
    try:
        jws.verify_compact(
            key.alg, issuers.load_public_key(key.alg, key.spki), request.signature, kid=key.kid, payload=payload
        )
    except SignatureInvalid as error:
        raise ValidationFailed.of("/signature", "signature_invalid", error.message) from error
    return request.signature


def _signature_required(statement: SignedStatement, payload: bytes, proposed: Mapping[str, str]) -> ValidationFailed:
    """Build the error that gives the holder of an external key the exact bytes to sign."""
    named = {"id": str(statement.id), "created_at": format_time(statement.created_at), **proposed}
    error = ValidationFailed.of(
        "/signature",
        "signature_required",
        f"This key is external: sign details.signing_input_b64url, then send {', '.join(named)}, and the JWS as "
        "signature.",
    )
    signing_input = jws.signing_input(jws.protected_header(statement.alg, statement.kid), payload)
    error.details |= {"signing_input_b64url": signing_input.decode("ascii"), **named}
    return error


def collect_mint_facts(
    content: SignedContent, key: SigningKey, signature: str, nonce: bytes, now: datetime
) -> MintFacts:
    """Collect the members of a mint's log entry, with its commitment, which `nonce` opens."""
    statement = content.statement
    return {
        "issuer_id": statement.issuer_id,
        "kid": statement.kid,
        "alg": statement.alg.value,
        "public_spki": key.spki,
        "at": now,
        "commit": entries.commitment(nonce, content.encode_committed_payload(), signature),
    }


def encode_metadata(metadata: Mapping[str, object] | None) -> bytes | None:
    """Encode a record's metadata as canonical JSON.

    Raises:
        ValidationFailed: it is too large.
    """
    if metadata is None:
        return None
    encoded = canonical(metadata)
    if len(encoded) > rules.METADATA_LIMIT_BYTES:
        message = f"metadata is {len(encoded):,} bytes of JSON; the limit is {rules.METADATA_LIMIT_BYTES:,}."
        raise ValidationFailed.of("/metadata", "too_large", message)
    return encoded
