"""Create the tables of requests for votes and of the votes of agents.

Revision 0039, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "vote_requests",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("originator_agent_id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.String(length=1000), nullable=False),
        sa.Column("claim_type", sa.String(length=1000), nullable=False),
        sa.Column("claim_value", sa.String(length=1000), nullable=False),
        sa.Column("claim_sha256", sa.String(length=43), nullable=False),
        sa.Column("required_votes", sa.Integer(), nullable=False),
        sa.Column("min_trust_score", sa.Double(), nullable=False),
        sa.Column("status", sa.String(length=9), nullable=False),
        sa.Column("confirm", sa.Integer(), nullable=False),
        sa.Column("deny", sa.Integer(), nullable=False),
        sa.Column("abstain", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["originator_agent_id"], ["agents.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_vote_requests_of_agent", "vote_requests", ["originator_agent_id", "id"], unique=False)
    op.create_index("ix_vote_requests_of_tenant", "vote_requests", ["tenant_id", "id"], unique=False)
    op.create_index(
        "ix_vote_requests_pending",
        "vote_requests",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_table(
        "votes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("request_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("verdict", sa.String(length=7), nullable=False),
        sa.Column("evidence", sa.String(length=4000), nullable=True),
        sa.Column("confidence", sa.Double(), nullable=True),
        sa.Column("kid", sa.String(length=40), nullable=False),
        sa.Column("jws", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"]),
        sa.ForeignKeyConstraint(["request_id"], ["vote_requests.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_votes_of_agent", "votes", ["agent_id", "id"], unique=False)
    op.create_index("ix_votes_of_request", "votes", ["request_id", "agent_id"], unique=True)
