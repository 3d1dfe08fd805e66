"""Create the table of delegations.

Revision 0037, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Create the table of delegations."""
    op.create_table(
        "delegations",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("parent_agent_id", sa.Uuid(), nullable=False),
        sa.Column("child_agent_id", sa.Uuid(), nullable=False),
        sa.Column("previous_id", sa.Uuid(), nullable=True),
        sa.Column("depth", sa.Integer(), nullable=False),
        sa.Column("scopes", sa.String(), nullable=False),
        sa.Column("is_birth", sa.Boolean(), nullable=False),
        sa.Column("kid", sa.String(length=40), nullable=False),
        sa.Column("hop", sa.String(), nullable=False),
        sa.Column("digest", sa.String(length=43), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("log_index", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_because", sa.String(length=16), nullable=True),
        sa.Column("revoked_index", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["child_agent_id"],
            ["agents.id"],
        ),
        sa.ForeignKeyConstraint(
            ["parent_agent_id"],
            ["agents.id"],
        ),
        sa.ForeignKeyConstraint(
            ["previous_id"],
            ["delegations.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_delegations_given", "delegations", ["parent_agent_id", "id"], unique=False)
    op.create_index(
        "ix_delegations_one_parent",
        "delegations",
        ["child_agent_id"],
        unique=True,
        sqlite_where=sa.text("revoked_at IS NULL"),
        postgresql_where=sa.text("revoked_at IS NULL"),
    )
    op.create_index(op.f("ix_delegations_previous_id"), "delegations", ["previous_id"], unique=False)
    op.create_index("ix_delegations_received", "delegations", ["child_agent_id", "id"], unique=False)
    op.create_index(
        "ix_delegations_revoked",
        "delegations",
        ["revoked_index"],
        unique=False,
        sqlite_where=sa.text("revoked_index IS NOT NULL"),
        postgresql_where=sa.text("revoked_index IS NOT NULL"),
    )
