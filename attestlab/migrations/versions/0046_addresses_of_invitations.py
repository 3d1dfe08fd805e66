"""Find invitations to teams by the address that they invite, which they no longer hold.

Revision 0046, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"


def upgrade() -> None:
    """Create the index; no row changes: an invitation that holds its address lapses within seven days."""
    has_address = sa.text("invited_address IS NOT NULL")
    op.create_index(
        "ix_users_invited_address",
        "users",
        ["invited_address"],
        unique=False,
        sqlite_where=has_address,
        postgresql_where=has_address,
    )
