"""Preparation of a mint: validate the request and sign the statement, before the log assigns an index.

A prepared attestation is checked and signed without holding the writer's lock. The transaction
that issues it checks the status of issuer and key again, because either may have changed.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from uuid import UUID

from attestlab.attestations import rules, signing
from attestlab.attestations.risk_context import RiskSubjects
from attestlab.attestations.rules import AttestedClaims, Statement, Status
from attestlab.attestations.schemas import validation as claim_rules
from attestlab.attestations.schemas.catalogue import ContentType
from attestlab.attestations.shapes import MintIn
from attestlab.attestations.tables import AttestationRecord
from attestlab.core.clock import truncate_to_milliseconds
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.errors import ValidationFailed
from attestlab.core.ids import new_id
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey
from attestlab.log import entries
from attestlab.orgs import role_rules
from attestlab.orgs.rules import Caller


@dataclass(frozen=True, kw_only=True)
class MintRequest:
    """A request to mint an attestation.

    `file_sha256` (32 bytes) and `file_size` (bytes) describe the file, which itself never
    arrives here. `id`, `created_at` and `signature` are for external keys only. `supersedes`
    is the attestation of the same tenant that the new one replaces. `client_address` is the address of the
    client who sent the request, for policies that test its risk; it is not stored.
    """

    issuer_id: UUID
    kid: str
    schema: str
    claims: Mapping[str, object] = field(repr=False)
    alg: Algorithm | None = None
    content_type: str = ContentType.JSON.value
    document_hash: str | None = None
    file_sha256: bytes | None = None
    file_size: int | None = None
    expiry_at: datetime | None = None
    expiry_from_claims: bool = False
    subject_reference: str | None = None
    metadata: Mapping[str, object] | None = field(default=None, repr=False)
    recipient_email: str | None = field(default=None, repr=False)
    pack_id: UUID | None = None
    supersedes: UUID | None = None
    id: UUID | None = None
    created_at: datetime | None = None
    signature: str | None = None
    client_address: str | None = field(default=None, repr=False)


_COPIED = {each.name for each in fields(MintRequest)} & MintIn.model_fields.keys() - {"content_type"}
_COMPUTED = {"schema_id", "content_type", "payload_b64url"}  # payloads arrive as hashes
if _FORGOTTEN := MintIn.model_fields.keys() - _COPIED - _COMPUTED:
    raise TypeError(f"MintRequest lacks fields of MintIn: {', '.join(sorted(_FORGOTTEN))}. Add them.")


def build_request(body: MintIn, **more: object) -> MintRequest:
    """Build the request of a validated body; `more` are fields that clients do not send, or other values."""
    make: Callable[..., MintRequest] = MintRequest
    copied = {name: getattr(body, name) for name in _COPIED}
    return make(**{**copied, "schema": body.schema_id, "content_type": body.content_type.value, **more})


@dataclass(frozen=True)
class PreparedAttestation:
    """A signed attestation that is not in the log yet; `entry` is its log entry, `nonce` opens the commitment in it."""

    caller: Caller
    key: SigningKey
    request: MintRequest
    statement: Statement
    claims: bytes = field(repr=False)  # canonical JSON, as is `metadata`
    metadata: bytes | None = field(repr=False)
    signature: str = field(repr=False)
    nonce: bytes = field(repr=False)
    entry: bytes = field(repr=False)
    warnings: tuple[str, ...]

    @property
    def risk_subjects(self) -> RiskSubjects:
        """The issuer, document and client whose risk policies may test."""
        statement = self.statement
        return RiskSubjects(statement.issuer_id, statement.document_hash, self.request.client_address)


def prepare(
    request: MintRequest, key: SigningKey, *, caller: Caller, issuers: Issuers, now: datetime
) -> PreparedAttestation:
    """Validate a mint request against its schema and key, and sign the statement.

    Raises:
        ValidationFailed: claims, hashes, times or the external signature are invalid.
    """
    signing.require_key_fits(request, key, signing.EXTERNAL_FIELDS)
    warnings = claim_rules.check_claims(request.schema, request.claims)
    document_hash, more = rules.resolve_document_hash(request.claims, request.document_hash, request.file_sha256)
    if request.recipient_email is not None:
        role_rules.normalize_address(request.recipient_email, field="/recipient_email")
    claims = canonical(request.claims)
    statement = _build_statement(request, key, claims, document_hash, now)
    content = AttestedClaims(statement, claims)
    signature = signing.sign_or_verify(request, statement, key, issuers)
    nonce = secrets.token_bytes(entries.NONCE_BYTES)
    return PreparedAttestation(
        caller=caller,
        key=key,
        request=request,
        statement=statement,
        claims=claims,
        metadata=signing.encode_metadata(request.metadata),
        signature=signature,
        nonce=nonce,
        entry=entries.minted_entry(
            attestation_id=statement.id, **signing.collect_mint_facts(content, key, signature, nonce, now)
        ),
        warnings=(*warnings, *more),
    )


def _build_statement(
    request: MintRequest, key: SigningKey, claims: bytes, document_hash: str | None, now: datetime
) -> Statement:
    created_at = signing.resolve_created_at(request.created_at, now)
    return Statement(
        id=request.id or new_id(created_at),
        issuer_id=request.issuer_id,
        kid=key.kid,
        alg=key.alg,
        schema=request.schema,
        content_type=request.content_type,
        payload_hash=rules.compute_payload_hash(request.schema, claims, request.file_sha256),
        document_hash=document_hash,
        claims_hash=sha256_b64url(claims),
        expiry_at=_resolve_expiry(request, now),
        created_at=created_at,
    )


def _resolve_expiry(request: MintRequest, now: datetime) -> datetime | None:
    expiry_at = request.expiry_at
    if expiry_at is None and request.expiry_from_claims:
        expiry_at = claim_rules.expiry_from_claims(request.schema, request.claims)
        if expiry_at is None:
            raise ValidationFailed.of(
                "/expiry_from_claims", "no_expiry_claim", "The claims have no expiry_date and no valid_to."
            )
    if expiry_at is None:
        return None
    rules.require_future(expiry_at, now=now)
    return truncate_to_milliseconds(expiry_at)


def build_record(prepared: PreparedAttestation, *, log_index: int, decision_id: str | None) -> AttestationRecord:
    """Build the row of a prepared attestation, once the log has assigned its index."""
    request, statement, key = prepared.request, prepared.statement, prepared.key
    return AttestationRecord(
        id=statement.id,
        tenant_id=key.tenant_id,
        issuer_id=statement.issuer_id,
        kid=statement.kid,
        alg=statement.alg.value,
        schema_id=statement.schema,
        content_type=statement.content_type,
        claims=prepared.claims,
        claims_hash=statement.claims_hash,
        payload_hash=statement.payload_hash,
        payload_size=request.file_size,
        document_hash=statement.document_hash,
        expiry_at=statement.expiry_at,
        created_at=statement.created_at,
        status=Status.VALID.value,
        signature=prepared.signature,
        custody=key.custody.value,
        log_index=log_index,
        nonce=prepared.nonce,
        snapshot_status=key.issuer_status.value,
        snapshot_trust_tier=key.trust_tier,
        snapshot_risk_rating=key.risk_rating,
        snapshot_jurisdiction=key.jurisdiction,
        subject_reference=request.subject_reference,
        recipient_email=request.recipient_email,
        extra=prepared.metadata,
        pack_id=request.pack_id,
        superseded_by=None,
        revocation_reason=None,
        revoked_at=None,
        changed_index=None,
        changed_at=None,
        supersedes=request.supersedes,
        decision_id=decision_id,
    )
