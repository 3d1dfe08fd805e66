"""Failed verifications as raw events of risk, which the tenant's mapping turns into signals."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.attestations.events import VerificationFailed
from attestlab.core.db.transaction import Transaction
from attestlab.risk.normalization.service import record_event
from attestlab.risk.rules import Entity, EntityType

FAILED, FORGED = "verification.failed", "verification.invalid_sig"


def record_failures(
    tx: Transaction, tenant_id: UUID, event: VerificationFailed, *, at: datetime, is_forged: bool
) -> None:
    """Record the verifications that an event reports: about the attestation, or about the issuer of several."""
    entity = Entity(EntityType.ISSUER, str(event.issuer_id))
    if event.attestation_id is not None:
        entity = Entity(EntityType.ATTESTATION, str(event.attestation_id))
    data = {"issuer_id": str(event.issuer_id), "count": event.count}
    if event.verdict is not None:
        data["verdict"] = event.verdict
    record_event(tx, tenant_id, FORGED if is_forged else FAILED, entity, data=data, occurred_at=at, at=at)
