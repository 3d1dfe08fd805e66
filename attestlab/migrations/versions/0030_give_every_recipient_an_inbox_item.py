"""Give every recipient an inbox item: an attestation may have several, and each reads its own.

Revision 0030, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Move the deliveries, whose id becomes that of their attestation, and count them by account."""
    op.create_table(
        "inbox_items",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("attestation_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("recipient_email", sa.String(length=254), nullable=True),
        sa.Column("user_id", sa.Uuid(), nullable=True),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("delivered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("username", sa.String(length=30), nullable=True),
        sa.Column("safe_metadata", sa.LargeBinary(), nullable=True),
        sa.Column("declined_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decline_reason", sa.String(length=1000), nullable=True),
        sa.Column("read_state", sa.String(length=8), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["issuer_id"],
            ["issuers.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "inbox_counts",
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("unread", sa.BigInteger(), nullable=False),
        sa.Column("read", sa.BigInteger(), nullable=False),
        sa.Column("archived", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"],
            ["users.id"],
        ),
        sa.PrimaryKeyConstraint("user_id"),
    )
    _move_deliveries()
    op.create_index("ix_inbox_items_of_account", "inbox_items", ["user_id", "read_state", "id"], unique=False)
    op.create_index("ix_inbox_items_of_address", "inbox_items", ["attestation_id", "recipient_email"], unique=True)
    op.create_index("ix_inbox_items_of_recipient", "inbox_items", ["attestation_id", "user_id"], unique=True)
    op.create_index(
        "ix_inbox_items_pending",
        "inbox_items",
        ["recipient_email"],
        unique=False,
        sqlite_where=sa.text("state = 'PENDING'"),
        postgresql_where=sa.text("state = 'PENDING'"),
    )


def _move_deliveries() -> None:
    op.execute(
        "INSERT INTO inbox_items (id, attestation_id, tenant_id, issuer_id, recipient_email, user_id, state, "
        "created_at, delivered_at, read_state, updated_at) "
        "SELECT attestation_id, attestation_id, tenant_id, issuer_id, recipient_email, user_id, state, "
        "created_at, delivered_at, 'UNREAD', coalesce(delivered_at, created_at) FROM deliveries"
    )
    op.drop_table("deliveries")
    op.execute(
        "INSERT INTO inbox_counts (user_id, unread, read, archived) "
        "SELECT user_id, count(*), 0, 0 FROM inbox_items WHERE user_id IS NOT NULL GROUP BY user_id"
    )
