"""Rules of receipts: how long their payloads are kept, and what a receipt may become (CONTRACT 11.5)."""

from __future__ import annotations

import calendar
from datetime import datetime
from enum import StrEnum
from typing import Final

from attestlab.attestations.receipt_content import ReceiptStatus
from attestlab.core.errors import Conflict, ValidationFailed

PAYLOAD_LIMIT_BYTES: Final = 64 * 1024
SUBJECT_LIMIT_CHARS: Final = 256


class RetentionPolicy(StrEnum):
    """How long the service keeps a receipt's payload; then it redacts the receipt."""

    STANDARD = "standard"
    EXTENDED = "extended"
    PERMANENT = "permanent"


_YEARS = {RetentionPolicy.STANDARD: 1, RetentionPolicy.EXTENDED: 7}


def retain_until(policy: RetentionPolicy, created_at: datetime) -> datetime | None:
    """Return when a payload is redacted; None if it is kept for good. A leap day's year ends on 28 February.

    >>> from datetime import UTC
    >>> retain_until(RetentionPolicy.STANDARD, datetime(2028, 2, 29, tzinfo=UTC)).isoformat()
    '2029-02-28T00:00:00+00:00'
    """
    years = _YEARS.get(policy)
    if years is None:
        return None
    year = created_at.year + years
    last_day = calendar.monthrange(year, created_at.month)[1]
    return created_at.replace(year=year, day=min(created_at.day, last_day))


def require_active(status: ReceiptStatus) -> None:
    """Require that a receipt can be revoked; REVOKED is final.

    Raises:
        Conflict: the receipt is revoked.
    """
    if status is not ReceiptStatus.ACTIVE:
        message = f"The receipt is {status.value}, which is final. Only an ACTIVE one can be revoked."
        raise Conflict(message, details={"status": status.value})


def require_payload_fits(payload: bytes) -> None:
    """Require a payload within the limit, as canonical JSON.

    Raises:
        ValidationFailed: it is too large.
    """
    if len(payload) > PAYLOAD_LIMIT_BYTES:
        message = f"payload is {len(payload):,} bytes of JSON; the limit is {PAYLOAD_LIMIT_BYTES:,}. Send less."
        raise ValidationFailed.of("/payload", "too_large", message)
