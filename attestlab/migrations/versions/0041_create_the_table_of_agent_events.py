"""Create the table of the events that agents report.

Revision 0041, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "agent_events",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("event_type", sa.String(length=128), nullable=False),
        sa.Column("status", sa.String(length=5), nullable=False),
        sa.Column("latency_ms", sa.Double(), nullable=True),
        sa.Column("attributes", sa.String(length=8192), nullable=False),
        sa.Column("session_id", sa.Uuid(), nullable=True),
        sa.Column("reporting_session_id", sa.Uuid(), nullable=True),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_agent_events_id", "agent_events", ["id"], unique=True)
    op.create_index("ix_agent_events_of_agent", "agent_events", ["agent_id", "occurred_at", "status"], unique=False)
