"""Find entities, cases, attestations and decisions of a tenant by the beginning of an id.

Revision 0048, made 2026-11-28, frozen since: it names no model, so that later ones do not change it.

On PostgreSQL the indexes of entities' ids are made again with `text_pattern_ops`, which finds beginnings whatever
the language of the database, and equal ids as before. SQLite compares bytes, so its indexes stay.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0048"
down_revision = "0047"

_ENTITY = ["tenant_id", "entity_type", "entity_id"]
_FIRST = ["tenant_id", "first_type", "first_id"]
_SECOND = ["tenant_id", "second_type", "second_id", "first_type", "first_id", "kind"]
_OF_ENTITIES = (
    ("ix_risk_signals_of_entity", "risk_signals", [*_ENTITY, "seq"]),
    ("ix_risk_cases_of_entity", "risk_cases", [*_ENTITY, "id"]),
    ("ix_risk_list_entries_of_entity", "risk_list_entries", _ENTITY),
    ("ix_risk_links_of_second", "risk_links", _SECOND),
)


def upgrade() -> None:
    """Create the indexes; no row changes."""
    op.create_index("ix_attestations_of_tenant_by_id", "attestations", ["tenant_id", "id"], unique=False)
    op.create_index("ix_policy_decisions_of_tenant", "policy_decisions", ["tenant_id", "id"], unique=False)
    op.create_index(
        "ix_risk_links_of_first", "risk_links", _FIRST, unique=False, postgresql_ops={"first_id": "text_pattern_ops"}
    )
    if op.get_bind().dialect.name == "postgresql":
        for name, table, columns in _OF_ENTITIES:
            _make_again(name, table, columns)
        _make_again("ix_risk_cases_open", "risk_cases", _ENTITY, unique=True, where=sa.text("status = 'open'"))


def _make_again(
    name: str, table: str, columns: list[str], *, unique: bool = False, where: sa.TextClause | None = None
) -> None:
    op.drop_index(name, table_name=table)
    ops = {columns[2]: "text_pattern_ops"}  # of the id, after tenant and type
    op.create_index(name, table, columns, unique=unique, postgresql_where=where, postgresql_ops=ops)
