"""Create the tables of protections.

Revision 0031, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Create the tables of protections; a server makes the platform's issuer at its start, which seals a key."""
    op.create_table(
        "platform_issuers",
        sa.Column("purpose", sa.String(length=32), nullable=False),
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["issuer_id"], ["issuers.id"]),
        sa.PrimaryKeyConstraint("purpose"),
    )
    op.create_table(
        "protections",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("attestation_id", sa.Uuid(), nullable=True),
        sa.Column("content_hash", sa.String(length=64), nullable=True),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("description", sa.String(length=2000), nullable=False),
        sa.Column("content_type", sa.String(length=127), nullable=False),
        sa.Column("category", sa.String(length=64), nullable=False),
        sa.Column("file_name", sa.String(length=255), nullable=True),
        sa.Column("file_size", sa.BigInteger(), nullable=True),
        sa.Column("visibility", sa.String(length=8), nullable=False),
        sa.Column("source", sa.String(length=8), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["attestation_id"], ["attestations.id"]),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"]),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_protections_attestation_id"), "protections", ["attestation_id"], unique=False)
    op.create_index("ix_protections_of_hash", "protections", ["user_id", "content_hash"], unique=True)
    op.create_index("ix_protections_of_received", "protections", ["user_id", "attestation_id"], unique=True)
    op.create_index("ix_protections_of_user", "protections", ["user_id", "id"], unique=False)
    op.create_index("ix_protections_of_visibility", "protections", ["user_id", "visibility", "id"], unique=False)
    op.create_table(
        "protection_days",
        sa.Column("protection_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("valid", sa.BigInteger(), nullable=False),
        sa.Column("other", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["protection_id"], ["protections.id"]),
        sa.PrimaryKeyConstraint("protection_id", "day"),
    )
