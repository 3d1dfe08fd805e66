"""A bulk request of risk signals that is sent again accepts the lines that it accepted at first.

Revision 0023, made 2026-11-23, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Store when a request began instead of when it was written last.

    The table is made again, because PostgreSQL names a constraint after the column. Its rows live for a day.
    """
    earlier = sa.table(
        "risk_bulk_progress",
        sa.column("id", sa.LargeBinary()),
        sa.column("recorded", sa.BigInteger()),
        sa.column("updated_at", sa.DateTime(timezone=True)),
    )
    rows = op.get_bind().execute(sa.select(*earlier.c)).all()
    op.drop_table("risk_bulk_progress")
    made = op.create_table(
        "risk_bulk_progress",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("recorded", sa.BigInteger(), nullable=False),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_risk_bulk_progress_began_at", "risk_bulk_progress", ["began_at"], unique=False)
    op.bulk_insert(made, [{"id": row.id, "recorded": row.recorded, "began_at": row.updated_at} for row in rows])
