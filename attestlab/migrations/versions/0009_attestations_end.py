"""Add final statuses of attestations, an index by key, and verification packs.

Revision 0009, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the log index of status changes, an index by key, and verification packs."""
    op.create_table(
        "attestation_packs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=2048), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_attestation_packs_of_tenant", "attestation_packs", ["tenant_id", "id"], unique=False)
    op.add_column("attestations", sa.Column("changed_index", sa.BigInteger(), nullable=True))
    op.add_column("attestations", sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("attestations", sa.Column("supersedes", sa.Uuid(), nullable=True))
    op.create_index("ix_attestations_of_key", "attestations", ["tenant_id", "kid", "log_index"], unique=False)
    op.create_index(
        "ix_attestations_running_out",
        "attestations",
        ["expiry_at"],
        unique=False,
        sqlite_where=sa.text("status = 'VALID' AND expiry_at IS NOT NULL"),
        postgresql_where=sa.text("status = 'VALID' AND expiry_at IS NOT NULL"),
    )
