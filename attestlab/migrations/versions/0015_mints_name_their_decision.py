"""Mints name the decision that allowed them.

Revision 0015, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the decision id of a mint; null means that no policy applied."""
    op.add_column("attestations", sa.Column("decision_id", sa.String(length=30), nullable=True))
