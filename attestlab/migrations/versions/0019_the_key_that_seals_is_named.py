"""Record the id of the key-encryption key under which private keys are sealed.

Revision 0019, made 2026-11-22, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """The log's own sealed key begins with a version byte and the id, of eight bytes, of the key that sealed it."""
    op.create_table(
        "sealed_under",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kek_id", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.execute("INSERT INTO sealed_under (id, kek_id) SELECT 1, substr(sealed_key, 2, 8) FROM log_head WHERE id = 1")
