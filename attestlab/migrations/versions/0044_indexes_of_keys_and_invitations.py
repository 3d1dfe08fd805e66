"""Find the receipts of a key, and the invitations that lapse, by index.

Revision 0044, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"


def upgrade() -> None:
    """Create both indexes; no row changes."""
    op.create_index("ix_receipts_of_key", "receipts", ["tenant_id", "kid"], unique=False)
    has_address = sa.text("invited_until IS NOT NULL AND invited_address IS NULL")
    op.create_index(
        "ix_users_invited",
        "users",
        ["invited_until"],
        unique=False,
        sqlite_where=has_address,
        postgresql_where=has_address,
    )
