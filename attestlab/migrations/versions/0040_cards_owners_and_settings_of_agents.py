"""Let holders sign the cards of their agents, remember whose owner left, and let tenants set what follows from it.

Revision 0040, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0039"


def upgrade() -> None:
    """Add the columns, whose null says what was true before, and create the table of settings."""
    op.add_column("agents", sa.Column("card_signature", sa.String(), nullable=True))
    op.add_column("agents", sa.Column("owner_left_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index(
        "ix_agents_left",
        "agents",
        ["owner_left_at"],
        unique=False,
        sqlite_where=sa.text("owner_left_at IS NOT NULL AND status = 'active'"),
        postgresql_where=sa.text("owner_left_at IS NOT NULL AND status = 'active'"),
    )
    op.create_table(
        "agent_settings",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("ownerless_grace_days", sa.Integer(), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("tenant_id"),
    )
