"""Create the tables of links between entities, of sources and of their activity, and fill them from what is recorded.

Revision 0022, made 2026-11-23, frozen since: it names no model, so that later ones do not change it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import combinations, starmap
from typing import NamedTuple
from uuid import UUID

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"

_KINDS = ("user", "device", "ip", "document", "session", "issuer", "attestation")
_MEMBERS = {name: kind for kind in _KINDS for name in (kind, f"{kind}_id")}
_MEMBERS = {**_MEMBERS, "subject_id": "user", "ip_address": "ip"}
del _MEMBERS["ip_id"]
_MAX_ENTITIES = 6
_ID = re.compile("[^\x00-\x1f\x7f]{1,256}")


_Key = tuple[object, ...]


class _Fact(NamedTuple):
    tenant_id: UUID
    source: str
    entity_type: str
    entity_id: str
    details: str
    occurred_at: datetime
    signal_type: str = ""  # of signals only
    score: float = 0.0


class _Counted(NamedTuple):
    count: int  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime


def upgrade() -> None:
    """Links have the order of both their entities, because a graph reads them from either."""
    links = op.create_table(
        "risk_links",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("first_type", sa.String(length=16), nullable=False),
        sa.Column("first_id", sa.String(length=256), nullable=False),
        sa.Column("second_type", sa.String(length=16), nullable=False),
        sa.Column("second_id", sa.String(length=256), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "first_type", "first_id", "second_type", "second_id", "kind"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_risk_links_of_second",
        "risk_links",
        ["tenant_id", "second_type", "second_id", "first_type", "first_id", "kind"],
        unique=False,
    )
    sources = op.create_table(
        "risk_sources",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("first_seen", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_seen", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "source"),
    )
    activity = op.create_table(
        "risk_activity",
        sa.Column("tenant_id", sa.Uuid(), nullable=False),
        sa.Column("source", sa.String(length=64), nullable=False),
        sa.Column("hour", sa.Integer(), nullable=False),
        sa.Column("signal_type", sa.String(length=64), nullable=False),
        sa.Column("score_class", sa.Integer(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id"],
            ["tenants.id"],
        ),
        sa.PrimaryKeyConstraint("tenant_id", "source", "hour", "signal_type", "score_class"),
        sqlite_with_rowid=False,
    )
    _fill(links, sources, activity)


def _fill(links: sa.Table, sources: sa.Table, activity: sa.Table) -> None:
    seen: dict[_Key, _Counted] = {}
    of_source: dict[_Key, _Counted] = {}
    hours: Counter[_Key] = Counter()
    for fact in _read("risk_signals", "source", "details", "signal_type", "score"):
        _count(of_source, (fact.tenant_id, fact.source), fact.occurred_at)
        hour, score_class = int(fact.occurred_at.timestamp() // 3600), min(int(fact.score * 10 / 100), 9)
        hours[fact.tenant_id, fact.source, hour, fact.signal_type, score_class] += 1
        for pair in _pair(fact):
            _count(seen, (fact.tenant_id, *pair, fact.source), fact.occurred_at)
    for fact in _read("risk_events", "event_type", "data"):
        for pair in _pair(fact):
            _count(seen, (fact.tenant_id, *pair, fact.source.partition(".")[0]), fact.occurred_at)
    _insert(links, [(*key, *counted) for key, counted in seen.items()])
    _insert(sources, [(*key, *counted) for key, counted in of_source.items()])
    _insert(activity, [(*key, count) for key, count in hours.items()])


def _read(table: str, source: str, details: str, *more: str) -> Iterator[_Fact]:
    columns: list[sa.ColumnElement[object]] = [sa.column("tenant_id", sa.Uuid())]
    columns += map(_name, (source, "entity_type", "entity_id", details))
    columns += [sa.column("occurred_at", sa.DateTime(timezone=True)), *map(_name, more)]
    query = sa.select(*columns).select_from(sa.table(table)).execution_options(yield_per=500)
    for fact in starmap(_Fact, op.get_bind().execute(query)):  # times have no zone on SQLite
        yield fact._replace(occurred_at=fact.occurred_at.replace(tzinfo=fact.occurred_at.tzinfo or UTC))


def _name(column: str) -> sa.ColumnClause[object]:
    return sa.column(column)


def _pair(fact: _Fact) -> Iterator[tuple[str, str, str, str]]:
    """Yield the pairs of entities that a fact names."""
    named = {(fact.entity_type, fact.entity_id): None}
    for name, value in json.loads(fact.details).items():
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if name in _MEMBERS and isinstance(value, str) and _ID.fullmatch(value):
            named[_MEMBERS[name], value] = None
    for first, second in combinations(sorted([*named][:_MAX_ENTITIES]), 2):
        yield *first, *second


def _count(counts: dict[_Key, _Counted], key: _Key, at: datetime) -> None:
    known = counts.setdefault(key, _Counted(0, at, at))
    counts[key] = _Counted(known.count + 1, min(known.first_seen, at), max(known.last_seen, at))


def _insert(table: sa.Table, rows: list[_Key]) -> None:
    names = [column.name for column in table.columns]
    if rows:
        op.bulk_insert(table, [dict(zip(names, row, strict=True)) for row in rows])
