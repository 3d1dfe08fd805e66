"""Events of receipts; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from attestlab.core.events import Event


@dataclass(frozen=True)
class ReceiptCreated(Event, type="receipt.created"):
    """A receipt was minted and appended to the log."""

    receipt_id: UUID
    issuer_id: UUID
    receipt_type: str
    receipt_version: str
    log_index: int
    created_at: datetime


@dataclass(frozen=True)
class ReceiptRevoked(Event, type="receipt.revoked"):
    """An issuer revoked a receipt; `log_index` is the log entry of the revocation."""

    receipt_id: UUID
    issuer_id: UUID
    log_index: int
    revoked_at: datetime
