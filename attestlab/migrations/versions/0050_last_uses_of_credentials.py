"""Create the table of when keys and sessions were last used.

Revision 0050, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "credential_uses",
        sa.Column("credential_id", sa.Uuid(), nullable=False),
        sa.Column("actor_id", sa.Uuid(), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("credential_id"),
    )
    op.create_index("ix_credential_uses_of_actor", "credential_uses", ["actor_id", "last_used_at"], unique=False)
