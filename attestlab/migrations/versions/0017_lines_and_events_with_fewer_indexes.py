"""Remove indexes from audit lines and events, because every operation writes a line and an event.

One index serves queries for an action and for a type of resource. Another returns the lines of a resource in order;
the old index lacked the order, so SQLite read the whole trail backwards. No query looks up a line or an event by its
id, which is as unique as its position in the chain, whose hash covers it; events are read in order.

Revision 0017, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Remove two B-trees for each line, on SQLite also three for each event; there it recreates the tables."""
    if op.get_bind().dialect.name == "sqlite":
        _rebuild_lines()
        _rebuild_events()
    else:
        op.drop_constraint("audit_events_id_key", "audit_events")
        op.drop_constraint("outbox_events_id_key", "outbox_events")
        op.drop_index("ix_outbox_events_tenant_id", table_name="outbox_events")
        op.drop_index("ix_audit_events_of_action", table_name="audit_events")
        op.drop_index("ix_audit_events_of_kind", table_name="audit_events")
        op.drop_index("ix_audit_events_resource_id", table_name="audit_events")
    op.create_index("ix_audit_events_of_deed", "audit_events", ["tenant_id", "resource_type", "action", "seq"])
    op.create_index("ix_audit_events_of_resource", "audit_events", ["tenant_id", "resource_id", "seq"])


def _rebuild_lines() -> None:
    _rebuild(
        "audit_events",
        sa.Column("tenant_id", sa.Uuid(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), primary_key=True, autoincrement=False),
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
    )
    op.create_index("ix_audit_events_of_actor", "audit_events", ["tenant_id", "actor_id", "seq"])
    op.create_index("ix_audit_events_of_time", "audit_events", ["tenant_id", "timestamp"])


def _rebuild_events() -> None:
    _rebuild(
        "outbox_events",
        sa.Column("seq", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
    )


def _rebuild(table: str, *columns: sa.Column[Any]) -> None:  # of several types
    """Recreate the table with these columns, no index except its key, and all its rows in order."""
    names = ", ".join(column.name for column in columns)
    op.create_table(f"{table}_anew", *columns)
    op.execute(f"INSERT INTO {table}_anew ({names}) SELECT {names} FROM {table} ORDER BY rowid")
    op.drop_table(table)
    op.rename_table(f"{table}_anew", table)
