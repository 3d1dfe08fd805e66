"""Create the table of reports by mail, and the columns of a file that is attached to a mail.

Revision 0052, made 2026-11-29, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"


def upgrade() -> None:
    """Create the table and the columns."""
    op.create_table(
        "view_schedules",
        sa.Column("view_id", sa.Uuid(), nullable=False),
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("weekday", sa.Integer(), nullable=True),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("recipients", sa.String(length=740), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("next_attempt_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("is_leased", sa.Boolean(), nullable=False),
        sa.Column("last_sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_error", sa.String(length=400), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["view_id"], ["saved_views.id"]),
        sa.ForeignKeyConstraint(["tenant_id"], ["tenants.id"]),
        sa.PrimaryKeyConstraint("view_id"),
    )
    op.create_index("ix_view_schedules_next_attempt_at", "view_schedules", ["next_attempt_at"])
    op.add_column("mails", sa.Column("attachment_name", sa.String(length=100), nullable=True))
    op.add_column("mails", sa.Column("sealed_attachment", sa.LargeBinary(), nullable=True))
