"""Issuers remember that their domain was proven.

Revision 0018, made 2026-11-22, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the time of the domain proof; null if not proven, or if proven earlier (the tier is then BASIC or higher)."""
    op.add_column("issuers", sa.Column("domain_proven_at", sa.DateTime(timezone=True), nullable=True))
