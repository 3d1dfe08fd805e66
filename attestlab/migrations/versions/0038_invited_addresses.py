"""Let a team invite an address that has an account elsewhere, without learning that it has one.

Revision 0038, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Add the column; no person changes, because each invitation of before can be accepted."""
    op.add_column("users", sa.Column("invited_address", sa.String(length=254), nullable=True))
