"""Events of receipt types; the docstrings are the event catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from attestlab.core.events import Event


@dataclass(frozen=True)
class ReceiptTypeCreated(Event, type="receipt.type.created"):
    """A version of a receipt type was created; receipts of it can be minted."""

    receipt_type: str
    receipt_version: str
    created_at: datetime


@dataclass(frozen=True)
class ReceiptTypeDeprecated(Event, type="receipt.type.deprecated"):
    """A version of a receipt type was deprecated, or without `receipt_version` all; receipts of it stay valid."""

    receipt_type: str
    deprecated_at: datetime
    receipt_version: str | None = None
