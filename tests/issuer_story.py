"""What the stories of issuers look at afterwards: the log and the outbox."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import select

from attestlab.core.records.outbox import OutboxEvent
from attestlab.core.strict_json import parse_json
from attestlab.installation import Installation
from attestlab.issuers.service import IssuerWithKeys
from attestlab.log import entries
from attestlab.log.entries import ParsedEntry
from attestlab.orgs.rules import Caller

Registered = Callable[..., IssuerWithKeys]


def logged(lab: Installation, start: int = 0) -> list[ParsedEntry]:
    """What stands in the log from index `start`."""
    with lab.storage.read() as connection:
        return [entries.parse_entry(row.entry) for row in lab.log.entries(connection, start, 1000)]


def published_events(lab: Installation, caller: Caller) -> list[tuple[str, Any]]:
    """The tenant's events, oldest first, as (type, data)."""
    events = select(OutboxEvent.type, OutboxEvent.body).where(OutboxEvent.tenant_id == caller.tenant_id)
    with lab.storage.read() as connection:
        rows = connection.execute(events.order_by(OutboxEvent.seq)).all()
    return [(row.type, parse_json(row.body)["data"]) for row in rows]  # type: ignore[index]
