"""Create the tables of compliance checks and of trust, and the columns of agents that follow from them.

Revision 0043, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
SEQUENCE_TYPE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables and add the columns; each agent of before has the score of one without evidence."""
    op.add_column("agents", sa.Column("trust_score", sa.Double(), nullable=False, server_default="0.5"))
    op.add_column("agents", sa.Column("passed_check_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "compliance_checks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("entity_type", sa.String(length=6), nullable=False),
        sa.Column("entity_id", sa.Uuid(), nullable=False),
        sa.Column("regulation", sa.String(length=9), nullable=False),
        sa.Column("status", sa.String(length=7), nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("passed_controls", sa.Integer(), nullable=False),
        sa.Column("asked_controls", sa.Integer(), nullable=False),
        sa.Column("findings", sa.String(), nullable=False),
        sa.Column("left_out", sa.String(length=200), nullable=False),
        sa.Column("asked_by_agent_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_compliance_checks_of_entity", "compliance_checks", ["entity_id", "id"], unique=False)
    op.create_index("ix_compliance_checks_of_tenant", "compliance_checks", ["tenant_id", "id"], unique=False)
    op.create_table(
        "agent_trust_changes",
        sa.Column("seq", SEQUENCE_TYPE, autoincrement=False, nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("score", sa.Double(), nullable=False),
        sa.Column("evidence", sa.BigInteger(), nullable=False),
        sa.Column("cause", sa.String(length=10), nullable=False),
        sa.Column("reference", sa.Uuid(), nullable=True),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("ix_agent_trust_changes_of_agent", "agent_trust_changes", ["agent_id", "seq"], unique=False)
    op.create_table(
        "agent_trust_due",
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("cause", sa.String(length=10), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"]),
        sa.PrimaryKeyConstraint("agent_id"),
    )
    op.create_index(op.f("ix_agent_trust_due_due_at"), "agent_trust_due", ["due_at"], unique=False)
