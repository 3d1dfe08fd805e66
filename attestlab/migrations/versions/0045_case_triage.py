"""Cases have an assignee, a time from which their outcome is a label, and the kind of their highest signal.

Revision 0045, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"


def upgrade() -> None:
    """Add the columns; they stay null in the cases of today, whose outcomes are labels already."""
    op.add_column("risk_cases", sa.Column("assignee_id", sa.Uuid(), nullable=True))
    op.add_column("risk_cases", sa.Column("label_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("risk_cases", sa.Column("top_kind", sa.String(length=129), nullable=True))
    op.create_index(
        "ix_risk_cases_unlabelled",
        "risk_cases",
        ["label_at"],
        unique=False,
        sqlite_where=sa.text("label_at IS NOT NULL"),
        postgresql_where=sa.text("label_at IS NOT NULL"),
    )
