"""What ended is listed by issuer.

Revision 0011, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """What ended is listed by issuer."""
    op.create_index(
        "ix_attestations_ended",
        "attestations",
        ["issuer_id", "log_index"],
        unique=False,
        sqlite_where=sa.text("status IN ('REVOKED', 'SUPERSEDED')"),
        postgresql_where=sa.text("status IN ('REVOKED', 'SUPERSEDED')"),
    )
