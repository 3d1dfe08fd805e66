"""The events that an installation published."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from attestlab.core.records.outbox import OutboxEvent
from attestlab.core.strict_json import parse_json
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller


def read_events(lab: Installation, caller: Caller) -> list[tuple[str, Any]]:
    """The tenant's events, oldest first, as (type, data)."""
    events = select(OutboxEvent.type, OutboxEvent.body).where(OutboxEvent.tenant_id == caller.tenant_id)
    with lab.storage.read() as connection:
        rows = connection.execute(events.order_by(OutboxEvent.seq)).all()
    return [(row.type, parse_json(row.body)["data"]) for row in rows]  # type: ignore[index]


def read_events_of_type(lab: Installation, kind: str) -> list[dict[str, Any]]:
    """The data of every event of this type, oldest first."""
    with lab.storage.read() as connection:
        query = select(OutboxEvent.body).where(OutboxEvent.type == kind).order_by(OutboxEvent.seq)
        bodies: list[Any] = [parse_json(body) for body in connection.scalars(query)]
    return [body["data"] for body in bodies]
