"""what witnesses signed.

Revision 0008, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

# What keeps the log append-only, by dialect; `attestlab.log.tables` says why.
GUARDS = {
    "sqlite": (
        (
            "CREATE TRIGGER log_cosignatures_no_update BEFORE UPDATE ON log_cosignatures BEGIN SELECT "
            "RAISE(ABORT, 'log_cosignatures is append-only'); END"
        ),
        (
            "CREATE TRIGGER log_cosignatures_no_delete BEFORE DELETE ON log_cosignatures BEGIN SELECT "
            "RAISE(ABORT, 'log_cosignatures is append-only'); END"
        ),
    ),
    "postgresql": (
        (
            "CREATE OR REPLACE FUNCTION log_append_only() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE "
            "EXCEPTION '% is append-only', TG_TABLE_NAME; END$$"
        ),
        (
            "CREATE TRIGGER log_cosignatures_no_update BEFORE UPDATE OR DELETE OR TRUNCATE ON "
            "log_cosignatures FOR EACH STATEMENT EXECUTE FUNCTION log_append_only()"
        ),
    ),
}


def upgrade() -> None:
    """what witnesses signed."""
    op.create_table(
        "log_cosignatures",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.Column("tree_size", sa.BigInteger(), nullable=False),
        sa.Column("vkey", sa.String(length=400), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index(op.f("ix_log_cosignatures_tree_size"), "log_cosignatures", ["tree_size"], unique=False)
    op.create_index("ix_log_cosignatures_vkey", "log_cosignatures", ["vkey", "seq"], unique=False)
    for statement in GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)
