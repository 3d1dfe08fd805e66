"""Every query about the trail; columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select

from attestlab.core.audit import AuditEvent
from attestlab.core.transaction import AnyRow

events: Any = AuditEvent.__table__  # type: ignore[attr-defined]  # SQLModel sets it on every table class
_SHOWN = (events.c.seq, events.c.record, events.c.integrity_hash, events.c.prev_hash)


def page(
    connection: Connection,
    *,
    tenant_id: UUID,
    equal: dict[str, str | None],
    since: datetime | None,
    until: datetime | None,
    before: int | None,
    limit: int,
) -> Sequence[AnyRow]:
    """A tenant's lines, newest first; `equal` maps columns to what they must hold, None to anything."""
    wanted = [events.c.tenant_id == tenant_id]
    wanted += [events.c[name] == value for name, value in equal.items() if value is not None]
    if since is not None:
        wanted.append(events.c.timestamp >= since)
    if until is not None:
        wanted.append(events.c.timestamp < until)
    if before is not None:
        wanted.append(events.c.seq < before)
    return connection.execute(select(*_SHOWN).where(*wanted).order_by(events.c.seq.desc()).limit(limit)).all()
