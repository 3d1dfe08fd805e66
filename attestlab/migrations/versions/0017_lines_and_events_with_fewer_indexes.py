"""Lines of the trail and events with fewer indexes: all that happens has a line and an event, and writes each of them.

Whoever asks for an action or a kind of resource finds both in one index. Nobody looks for a line or an event by its
id, which is as unique as the place in the chain whose hash covers it; events are read in their order.

Revision 0017, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_OF_LINES = (
    "tenant_id, seq, id, timestamp, action, resource_type, resource_id, record, integrity_hash, prev_hash, "
    "actor_type, actor_id, outcome"
)
_OF_EVENTS = "seq, id, tenant_id, type, created_at, body, hash"


def upgrade() -> None:
    """Two B-trees less for each line, on SQLite three for each event; SQLite can only make the tables anew for that."""
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_lines()
        _rebuild_events()
    else:
        op.drop_constraint("audit_events_id_key", "audit_events")
        op.drop_constraint("outbox_events_id_key", "outbox_events")
        op.drop_index("ix_outbox_events_tenant_id", table_name="outbox_events")
        op.drop_index("ix_audit_events_of_action", table_name="audit_events")
        op.drop_index("ix_audit_events_of_kind", table_name="audit_events")
    op.create_index("ix_audit_events_of_deed", "audit_events", ["tenant_id", "resource_type", "action", "seq"])


def _rebuild_lines() -> None:
    op.create_table(
        "audit_events_anew",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("resource_type", sa.String(length=40), nullable=False),
        sa.Column("resource_id", sa.String(length=128), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("integrity_hash", sa.LargeBinary(), nullable=False),
        sa.Column("prev_hash", sa.LargeBinary(), nullable=False),
        sa.Column("actor_type", sa.String(length=8), server_default="", nullable=False),
        sa.Column("actor_id", sa.String(length=64), server_default="", nullable=False),
        sa.Column("outcome", sa.String(length=8), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("tenant_id", "seq"),
    )
    op.execute(f"INSERT INTO audit_events_anew ({_OF_LINES}) SELECT {_OF_LINES} FROM audit_events ORDER BY rowid")
    op.drop_table("audit_events")
    op.rename_table("audit_events_anew", "audit_events")
    op.create_index("ix_audit_events_resource_id", "audit_events", ["resource_id"])
    op.create_index("ix_audit_events_of_actor", "audit_events", ["tenant_id", "actor_id", "seq"])
    op.create_index("ix_audit_events_of_time", "audit_events", ["tenant_id", "timestamp"])


def _rebuild_events() -> None:
    op.create_table(
        "outbox_events_anew",
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.execute(f"INSERT INTO outbox_events_anew ({_OF_EVENTS}) SELECT {_OF_EVENTS} FROM outbox_events ORDER BY seq")
    op.drop_table("outbox_events")
    op.rename_table("outbox_events_anew", "outbox_events")
