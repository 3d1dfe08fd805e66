"""Blocked addresses as signals: a client that exceeded its limits repeatedly, and was blocked for a while."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from attestlab.core.db.transaction import Transaction
from attestlab.risk.rules import MAX_SCORE, Entity, EntityType, Factor
from attestlab.risk.signals.members import encode_details
from attestlab.risk.signals.recording import NewSignal, record_signals
from attestlab.web.rate_limit.client_address import rate_limit_key

SOURCE, SIGNAL_TYPE = "limits", "velocity"
SCORE = 70.0  # it did not stop after being told, several times; below the default threshold of escalation


def record_blocked_address(tx: Transaction, tenant_id: UUID, address: str, *, at: datetime) -> None:
    """Record a signal about the address of a blocked client; of IPv6 about the /64 network, which was blocked."""
    factor = Factor("address_blocked", True, MAX_SCORE, SCORE, "The address exceeded its limits again and again.")
    entity = Entity(EntityType.IP, rate_limit_key(address))
    new = NewSignal(SOURCE, SIGNAL_TYPE, SCORE, entity, encode_details(None, [factor]), at)
    record_signals(tx, tenant_id, [new], at=at)
