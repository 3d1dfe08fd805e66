"""Chain the stored answers; existing answers are linked in the order in which they were given.

Revision 0002, made 2026-11-21, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import hashlib
from datetime import UTC
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_KEPT = ("place", "fingerprint", "status", "headers", "body")


def _columns(*names: str) -> list[Any]:  # of SQLAlchemy
    return [*map(sa.column, names), sa.column("created_at", sa.DateTime(timezone=True))]


_kept = sa.table("kept_answers", *_columns(*_KEPT))
_answers = sa.table("remembered_answers", *_columns("seq", *_KEPT, "hash"))
_heads = sa.table("chain_heads", *map(sa.column, ("name", "length", "hash")))


def upgrade() -> None:
    """Recreate the table, and keep the answers in it."""
    op.execute("CREATE TABLE kept_answers AS SELECT * FROM remembered_answers")
    op.drop_table("remembered_answers")
    op.create_table(
        "remembered_answers",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("place", sa.LargeBinary(), nullable=False),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq"),
        sa.UniqueConstraint("place"),
    )
    length, last = _link(op.get_bind())
    if length:
        op.execute(_heads.insert().values(name="answers", length=length, hash=last))
    op.drop_table("kept_answers")


def _link(connection: sa.Connection) -> tuple[int, bytes]:
    """Copy the existing answers as a chain into the new table, and return its length and last hash."""
    length, last = 0, bytes(32)
    in_order = sa.select(_kept).order_by(_kept.c.created_at, _kept.c.place)
    for row in connection.execute(in_order).all():
        last = hashlib.sha256(last + _linked_bytes(row)).digest()
        connection.execute(_answers.insert().values(seq=length, hash=last, **row._mapping))
        length += 1
    return length, last


def _linked_bytes(row: Any) -> bytes:  # of SQLAlchemy
    at = row.created_at if row.created_at.tzinfo else row.created_at.replace(tzinfo=UTC)
    head = f"{row.status} {at.astimezone(UTC).isoformat()} {len(row.headers)}\n".encode()
    return b"".join((row.place, row.fingerprint, head, row.headers, row.body))
