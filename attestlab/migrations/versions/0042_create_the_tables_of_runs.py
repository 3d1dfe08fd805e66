"""Create the tables of runs and of the steps that agents recorded.

Revision 0042, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "agent_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("extra", sa.String(), nullable=False),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("chain_ok", sa.Boolean(), nullable=False),
        sa.Column("planned_steps", sa.Integer(), nullable=False),
        sa.Column("recorded_steps", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("run_hash", sa.String(length=43), nullable=True),
        sa.Column("log_index", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_agent_runs_of_agent", "agent_runs", ["agent_id", "id"], unique=False)
    op.create_index("ix_agent_runs_of_tenant", "agent_runs", ["tenant_id", "id"], unique=False)
    op.create_table(
        "agent_run_steps",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("step_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("inputs_hash", sa.String(length=64), nullable=False),
        sa.Column("outputs_hash", sa.String(length=64), nullable=False),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("chain_ok", sa.Boolean(), nullable=False),
        sa.Column("kid", sa.String(length=40), nullable=False),
        sa.Column("jws", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"]),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_agent_run_steps_of_agent", "agent_run_steps", ["agent_id", "id"], unique=False)
    op.create_index("ix_agent_run_steps_of_run", "agent_run_steps", ["run_id", "step_id"], unique=True)
    op.create_index("ix_agent_run_steps_of_tenant", "agent_run_steps", ["tenant_id", "id"], unique=False)
