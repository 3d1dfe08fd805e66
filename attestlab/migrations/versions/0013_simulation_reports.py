"""simulation reports.

Revision 0013, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """simulation reports."""
    op.create_table(
        "simulation_reports",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("policy_id", sa.Uuid(), nullable=True),
        sa.Column("document_digest", sa.String(length=64), nullable=False),
        sa.Column("baseline_digest", sa.String(length=64), nullable=False),
        sa.Column("unexpected_flips", sa.Integer(), nullable=False),
        sa.Column("report", sa.Text(), nullable=False),
        sa.Column("made_by", sa.String(length=64), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["policy_id"],
            ["policies.id"],
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("digest"),
    )
    op.create_index("ix_simulation_reports_of_tenant", "simulation_reports", ["tenant_id", "made_at"], unique=False)
