"""Rename a column of the tallies of verifications by what it counts: those that no event has published yet.

Revision 0027, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

from alembic import op

revision = "0027"
down_revision = "0026"

# PostgreSQL 18 names the constraint of a column that is not null; versions before it have none to rename.
RENAME_CONSTRAINT = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_constraint WHERE conname = 'verification_tallies_untold_not_null') THEN
        ALTER TABLE verification_tallies
            RENAME CONSTRAINT verification_tallies_untold_not_null TO verification_tallies_unpublished_not_null;
    END IF;
END $$
"""


def upgrade() -> None:
    """Rename it; no row changes."""
    op.execute("ALTER TABLE verification_tallies RENAME COLUMN untold TO unpublished")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(RENAME_CONSTRAINT)
