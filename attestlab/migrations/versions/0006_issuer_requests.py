"""issuer requests.

Revision 0006, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """issuer requests."""
    op.create_table(
        "issuer_requests",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("issuer_id", sa.Uuid(), nullable=False),
        sa.Column("type", sa.String(length=20), nullable=False),
        sa.Column("reason", sa.String(length=1024), nullable=False),
        sa.Column("new_trust_tier", sa.String(length=12), nullable=True),
        sa.Column("new_risk_rating", sa.String(length=8), nullable=True),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("requested_by", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("approvals", sa.String(length=2048), nullable=False),
        sa.Column("impact", sa.String(length=512), nullable=False),
        sa.Column("rejected_by", sa.String(length=64), nullable=True),
        sa.Column("rejected_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("rejection_reason", sa.String(length=1024), nullable=True),
        sa.Column("executed_by", sa.String(length=64), nullable=True),
        sa.Column("executed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("log_index", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["issuer_id"],
            ["issuers.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(op.f("ix_issuer_requests_issuer_id"), "issuer_requests", ["issuer_id"], unique=False)
    op.create_index("ix_issuer_requests_of_tenant", "issuer_requests", ["tenant_id", "id"], unique=False)
