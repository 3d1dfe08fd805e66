"""Count attestations by day; earlier mints are counted from their events.

Revision 0005, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

from collections import Counter

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

_events = sa.table(
    "outbox_events", sa.column("tenant_id", sa.Uuid()), sa.column("type"), sa.column("created_at", sa.DateTime())
)
_days = sa.table(
    "usage_days", sa.column("tenant_id", sa.Uuid()), sa.column("metric"), sa.column("day", sa.Date()), sa.column("used")
)


def upgrade() -> None:
    """Count the mints of each day (UTC) from the events."""
    connection = op.get_bind()
    minted = sa.select(_events.c.tenant_id, _events.c.created_at).where(_events.c.type == "attestation.created")
    counted = Counter((row.tenant_id, row.created_at.date()) for row in connection.execute(minted))
    for (tenant_id, day), used in counted.items():
        connection.execute(_days.insert().values(tenant_id=tenant_id, metric="attestations", day=day, used=used))
