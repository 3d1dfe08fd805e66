"""Create the table of receipt types.

Revision 0032, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Create the table of receipt types."""
    op.create_table(
        "receipt_types",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("display_name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=2000), nullable=False),
        sa.Column("schema_text", sa.Text(), nullable=False),
        sa.Column("schema_hash", sa.String(length=43), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deprecated_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deprecation_reason", sa.String(length=1000), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_receipt_types_of_tenant", "receipt_types", ["tenant_id", "id"], unique=False)
    op.create_index("ix_receipt_types_of_name", "receipt_types", ["tenant_id", "name", "ordinal"], unique=True)
    op.create_index("ix_receipt_types_of_version", "receipt_types", ["tenant_id", "name", "version"], unique=True)
