"""Preparation of a receipt: validate the request and sign the statement, before the log assigns an index."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime

from attestlab.attestations import signing
from attestlab.attestations.receipt_content import (
    SUBJECT_NONCE_BYTES,
    DisclosedContent,
    ReceiptContent,
    ReceiptStatement,
    ReceiptStatus,
    hash_subject,
)
from attestlab.attestations.risk_context import RiskSubjects
from attestlab.core.crypto.canonical_json import canonical, sha256_b64url
from attestlab.core.crypto.signing import Algorithm
from attestlab.core.encoding import b64url_decode, b64url_encode
from attestlab.core.errors import FieldError, ValidationFailed
from attestlab.core.ids import new_id
from attestlab.issuers.service import Issuers
from attestlab.issuers.store import SigningKey
from attestlab.log import entries
from attestlab.log.results import SequencedEntry
from attestlab.orgs.rules import Caller
from attestlab.receipts import rules
from attestlab.receipts.shapes import ReceiptIn
from attestlab.receipts.tables import ReceiptRecord
from attestlab.receipts.types.rules import validate_payload
from attestlab.receipts.types.tables import ReceiptTypeRecord

EXTERNAL_FIELDS = (*signing.EXTERNAL_FIELDS, "nonce")


@dataclass(frozen=True)
class PreparedReceipt:
    """A signed receipt that is not in the log yet; `entry` is its log entry, `nonce` opens the commitment in it."""

    caller: Caller
    key: SigningKey
    receipt_type: ReceiptTypeRecord
    request: ReceiptIn
    statement: ReceiptStatement
    disclosed: DisclosedContent = field(repr=False)
    metadata: bytes | None = field(repr=False)
    signature: str = field(repr=False)
    nonce: bytes = field(repr=False)
    entry: bytes = field(repr=False)
    client_address: str | None = field(repr=False)

    @property
    def risk_subjects(self) -> RiskSubjects:
        """The issuer and client whose risk policies may test; a receipt is about no document."""
        return RiskSubjects(self.statement.issuer_id, None, self.client_address)


def prepare(
    request: ReceiptIn,
    key: SigningKey,
    receipt_type: ReceiptTypeRecord,
    *,
    caller: Caller,
    issuers: Issuers,
    now: datetime,
    client_address: str | None,
) -> PreparedReceipt:
    """Validate a request against its type and key, and sign the statement.

    Raises:
        ValidationFailed: payload, metadata, times or the external signature are invalid.
    """
    signing.require_key_fits(request, key, EXTERNAL_FIELDS)
    disclosed = _disclose(request, receipt_type)
    statement = _build_statement(request, key, receipt_type, disclosed, now)
    chosen = {"nonce": b64url_encode(disclosed.nonce) if request.nonce is None else None}
    signature = signing.sign_or_verify(request, statement, key, issuers, chosen=chosen)
    nonce = secrets.token_bytes(entries.NONCE_BYTES)
    content = ReceiptContent(statement, disclosed)
    return PreparedReceipt(
        caller=caller,
        key=key,
        receipt_type=receipt_type,
        request=request,
        statement=statement,
        disclosed=disclosed,
        metadata=signing.encode_metadata(request.metadata),
        signature=signature,
        nonce=nonce,
        entry=entries.receipt_minted_entry(
            receipt_id=statement.id, **signing.collect_mint_facts(content, key, signature, nonce, now)
        ),
        client_address=client_address,
    )


def _disclose(request: ReceiptIn, receipt_type: ReceiptTypeRecord) -> DisclosedContent:
    payload = canonical(request.payload)
    rules.require_payload_fits(payload)
    faults = validate_payload(receipt_type.schema_text, request.payload)
    if faults:
        raise ValidationFailed(
            f"The payload does not fit {receipt_type.name} {receipt_type.version}: "
            f"{' '.join(message for _place, message in faults)}",
            [FieldError(place, "schema", message) for place, message in faults],
        )
    return DisclosedContent(payload, request.subject, _resolve_nonce(request.nonce))


def _resolve_nonce(text: str | None) -> bytes:
    if text is None:
        return secrets.token_bytes(SUBJECT_NONCE_BYTES)
    nonce = b64url_decode(text, field="/nonce")
    if len(nonce) != SUBJECT_NONCE_BYTES:
        message = f"nonce has {len(nonce)} bytes; it must have {SUBJECT_NONCE_BYTES}, as base64url."
        raise ValidationFailed.of("/nonce", "length", message)
    return nonce


def _build_statement(
    request: ReceiptIn, key: SigningKey, receipt_type: ReceiptTypeRecord, disclosed: DisclosedContent, now: datetime
) -> ReceiptStatement:
    created_at = signing.resolve_created_at(request.created_at, now)
    return ReceiptStatement(
        id=request.id or new_id(created_at),
        issuer_id=request.issuer_id,
        kid=key.kid,
        alg=key.alg,
        receipt_type=receipt_type.name,
        receipt_version=receipt_type.version,
        schema_hash=receipt_type.schema_hash,
        subject_hash=hash_subject(disclosed.nonce, disclosed.subject),
        payload_hash=sha256_b64url(disclosed.payload),
        created_at=created_at,
    )


def build_record(prepared: PreparedReceipt, logged: SequencedEntry, *, decision_id: str | None) -> ReceiptRecord:
    """Build the row of a prepared receipt, once the log has assigned its index."""
    request, statement, key, disclosed = prepared.request, prepared.statement, prepared.key, prepared.disclosed
    metadata = prepared.metadata
    return ReceiptRecord(
        id=statement.id,
        tenant_id=key.tenant_id,
        issuer_id=statement.issuer_id,
        kid=statement.kid,
        alg=statement.alg.value,
        receipt_type=statement.receipt_type,
        receipt_version=statement.receipt_version,
        schema_hash=statement.schema_hash,
        subject=disclosed.subject,
        subject_nonce=disclosed.nonce,
        subject_hash=statement.subject_hash,
        payload=disclosed.payload,
        payload_hash=statement.payload_hash,
        extra=None if metadata is None else metadata.decode(),
        retention_policy=request.retention_policy.value,
        retain_until=rules.retain_until(request.retention_policy, statement.created_at),
        created_at=statement.created_at,
        status=ReceiptStatus.ACTIVE.value,
        signature=prepared.signature,
        custody=key.custody.value,
        log_index=logged.index,
        leaf_hash=logged.leaf_hash,
        nonce=prepared.nonce,
        snapshot_status=key.issuer_status.value,
        snapshot_trust_tier=key.trust_tier,
        snapshot_risk_rating=key.risk_rating,
        snapshot_jurisdiction=key.jurisdiction,
        decision_id=decision_id,
    )


def build_content(row: ReceiptRecord) -> ReceiptContent:
    """Build the signed statement of a row, and what it discloses."""
    statement = ReceiptStatement(
        id=row.id,
        issuer_id=row.issuer_id,
        kid=row.kid,
        alg=Algorithm(row.alg),
        receipt_type=row.receipt_type,
        receipt_version=row.receipt_version,
        schema_hash=row.schema_hash,
        subject_hash=row.subject_hash,
        payload_hash=row.payload_hash,
        created_at=row.created_at,
    )
    if row.payload is None or row.subject is None or row.subject_nonce is None:
        return ReceiptContent(statement, None)
    return ReceiptContent(statement, DisclosedContent(row.payload, row.subject, row.subject_nonce))
