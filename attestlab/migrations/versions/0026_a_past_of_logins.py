"""A past of logins can be loaded, and documents about logins expire by the time of logins.

Revision 0026, made 2026-11-27, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_TTL_DAYS = {"user": 180, "failures": 10}  # how long after its newest login a document expires; the others after 45


def upgrade() -> None:
    """Give documents their generation, and note the newest login of each tenant that has some.

    The table is made again, because SQLite cannot change a primary key.
    """
    op.create_table(
        "risk_login_learning",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("newest_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("pruned_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("base", sa.Integer(), nullable=False),
        sa.Column("published", sa.Integer(), nullable=False),
        sa.Column("draft", sa.Integer(), nullable=False),
        sa.Column("cursor_ms", sa.BigInteger(), nullable=False),
        sa.Column("cursor_id", sa.LargeBinary(), nullable=False),
        sa.Column("is_stale", sa.Boolean(), nullable=False),
        sa.Column("has_garbage", sa.Boolean(), nullable=False),
        sa.Column("accepted", sa.BigInteger(), nullable=False),
        sa.Column("learnt", sa.BigInteger(), nullable=False),
        sa.Column("began_with", sa.BigInteger(), nullable=False),
        sa.Column("loaded_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_ending", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id"),
    )
    op.create_table(
        "risk_login_backfill",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("order_ms", sa.BigInteger(), nullable=False),
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("is_past", sa.Boolean(), nullable=False),
        sa.Column("trace", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "order_ms", "id"),
        sqlite_with_rowid=False,
    )
    _add_generations()
    _note_newest()


def _add_generations() -> None:
    """Copy the rows away and back: the names of the old table's constraints are free once it is gone."""
    op.execute("CREATE TABLE risk_login_documents_copy AS SELECT * FROM risk_login_documents")
    op.drop_table("risk_login_documents")
    op.create_table(
        "risk_login_documents",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("document", sa.String(length=4096), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "generation", "digest"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO risk_login_documents (tenant_id, generation, digest, kind, document, expires_at) "
        "SELECT tenant_id, 0, digest, kind, document, expires_at FROM risk_login_documents_copy"
    )
    op.drop_table("risk_login_documents_copy")
    op.create_index("ix_risk_login_documents_by_end", "risk_login_documents", ["tenant_id", "expires_at"], unique=False)


def _note_newest() -> None:
    documents = sa.table(
        "risk_login_documents",
        sa.column("tenant_id", sa.Uuid()),
        sa.column("kind", sa.String()),
        sa.column("expires_at", sa.DateTime(timezone=True)),
    )
    ends = sa.select(documents.c.tenant_id, documents.c.kind, sa.func.max(documents.c.expires_at))
    newest: dict[object, object] = {}
    for tenant_id, kind, end in op.get_bind().execute(ends.group_by(documents.c.tenant_id, documents.c.kind)):
        at = end - timedelta(days=_TTL_DAYS.get(kind, 45))
        newest[tenant_id] = max(at, newest.get(tenant_id, at))
    learning = sa.table(
        "risk_login_learning",
        sa.column("tenant_id", sa.Uuid()),
        *(sa.column(name, sa.DateTime(timezone=True)) for name in ("newest_at", "pruned_until")),
        *(sa.column(name, sa.Integer()) for name in ("base", "published", "draft", "accepted", "learnt", "began_with")),
        sa.column("cursor_ms", sa.Integer()),
        sa.column("cursor_id", sa.LargeBinary()),
        *(sa.column(name, sa.Boolean()) for name in ("is_stale", "has_garbage", "is_ending")),
    )
    numbers = dict.fromkeys(("base", "published", "draft", "accepted", "learnt", "began_with", "cursor_ms"), 0)
    empty = {**numbers, "cursor_id": b"", "is_stale": False, "has_garbage": False, "is_ending": False}
    rows = [{"tenant_id": tenant, "newest_at": at, "pruned_until": at, **empty} for tenant, at in newest.items()]
    op.bulk_insert(learning, rows)
