"""Create the table of receipts.

Revision 0033, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
_DISCLOSED = sa.text("redacted_at IS NULL")


def upgrade() -> None:
    """Create the table of receipts."""
    op.create_table(
        "receipts",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("kid", sa.String(length=64), nullable=False),
        sa.Column("alg", sa.String(length=8), nullable=False),
        sa.Column("receipt_type", sa.String(length=64), nullable=False),
        sa.Column("receipt_version", sa.String(length=64), nullable=False),
        sa.Column("schema_hash", sa.String(length=43), nullable=False),
        sa.Column("subject", sa.String(length=256), nullable=True),
        sa.Column("subject_nonce", sa.LargeBinary(), nullable=True),
        sa.Column("subject_hash", sa.String(length=43), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=True),
        sa.Column("payload_hash", sa.String(length=43), nullable=False),
        sa.Column("extra", sa.String(), nullable=True),
        sa.Column("retention_policy", sa.String(length=16), nullable=False),
        sa.Column("retain_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.String(length=10), nullable=False),
        sa.Column("signature", sa.String(), nullable=False),
        sa.Column("custody", sa.String(length=8), nullable=False),
        sa.Column("log_index", sa.BigInteger(), nullable=False),
        sa.Column("leaf_hash", sa.LargeBinary(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("snapshot_status", sa.String(length=10), nullable=False),
        sa.Column("snapshot_trust_tier", sa.String(length=12), nullable=False),
        sa.Column("snapshot_risk_rating", sa.String(length=8), nullable=False),
        sa.Column("snapshot_jurisdiction", sa.String(length=2), nullable=True),
        sa.Column("decision_id", sa.String(length=30), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revocation_reason", sa.String(length=1000), nullable=True),
        sa.Column("changed_index", sa.BigInteger(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("redacted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("log_index"),
    )
    op.create_index("ix_receipts_of_issuer", "receipts", ["issuer_id", "log_index"], unique=False)
    op.create_index("ix_receipts_of_subject", "receipts", ["tenant_id", "subject", "log_index"], unique=False)
    op.create_index("ix_receipts_of_tenant", "receipts", ["tenant_id", "log_index"], unique=False)
    op.create_index("ix_receipts_of_type", "receipts", ["tenant_id", "receipt_type", "log_index"], unique=False)
    op.create_index(
        "ix_receipts_retained",
        "receipts",
        ["retain_until"],
        unique=False,
        sqlite_where=_DISCLOSED,
        postgresql_where=_DISCLOSED,
    )
