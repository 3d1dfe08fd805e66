"""Links: entities that one signal or raw event names together, such as a user and the device of a login.

A fact names its own entity, and those in well-known members of its details.

Only members of the details' outermost object count, because what is nested deeper describes something else. Ids have
one spelling, and placeholders link nothing: thousands share the device `unknown`, and no one else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import Annotated, NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import BigInteger, ColumnElement, Index, Integer, Select, bindparam, select, union_all
from sqlmodel import Field

from attestlab.core.db.byte_order import by_bytes
from attestlab.core.db.tables import Execute, fetch_all, model_of, short_repr, table_of
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.risk.rules import ENTITY_ID, ENTITY_MEMBERS, Entity, names_nothing, spell_id
from attestlab.risk.tallies import make_tally_upsert, tally


@short_repr
class RiskLinkRecord(NamedTuple):
    """Two entities that facts of one source name together; the first sorts before the second.

    `kind` is the source of the facts, `count` their number, and the times are those of the earliest and the latest
    occurrence. The row follows from signals and raw events, so fsck recomputes it.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    first_type: Annotated[str, Field(primary_key=True, max_length=16)]
    first_id: Annotated[str, Field(primary_key=True, max_length=256)]
    second_type: Annotated[str, Field(primary_key=True, max_length=16)]
    second_id: Annotated[str, Field(primary_key=True, max_length=256)]
    kind: Annotated[str, Field(primary_key=True, max_length=64)]
    count: Annotated[int, Field(sa_type=BigInteger)]  # type: ignore[assignment]  # overrides tuple.count
    first_seen: datetime
    last_seen: datetime


RiskLink = model_of(
    RiskLinkRecord,
    "risk_links",
    Index("ix_risk_links_of_first", "tenant_id", "first_type", "first_id", info=by_bytes("first_id")),
    Index(
        "ix_risk_links_of_second",
        "tenant_id",
        "second_type",
        "second_id",
        "first_type",
        "first_id",
        "kind",
        info=by_bytes("second_id"),
    ),
    sqlite_with_rowid=False,
)


MAX_ENTITIES = 6  # of one fact, with its own; they make fifteen links
_MAY_MENTION = re.compile(rf'"(?:{"|".join(ENTITY_MEMBERS)})":')


class LinkKey(NamedTuple):
    """Two entities of a tenant that facts of one source name together; the first sorts before the second.

    `kind` is that source, such as `login`.
    """

    tenant_id: UUID
    first_type: str
    first_id: str
    second_type: str
    second_id: str
    kind: str


def respell(key: LinkKey) -> LinkKey | None:
    """Return a link of two ids as they were sent, in their one spelling; None if one is a placeholder, or both are one.

    Links that older versions recorded stay as they are in the records, and are read with this.
    """
    ends = [_spell_end(key.first_type, key.first_id), _spell_end(key.second_type, key.second_id)]
    return next(_join_ends(key.tenant_id, ends, key.kind), None)


@lru_cache(maxsize=1_024)
def _spell_end(kind: str, entity_id: str) -> tuple[str, str] | None:
    """Return an entity in its one spelling, or None if its id is a placeholder; many facts share devices and addresses.

    >>> _spell_end("ip", "2001:DB8::0009"), _spell_end("device", "unknown")
    (('ip', '2001:db8::9'), None)
    """
    return None if names_nothing(kind, entity_id) else (kind, spell_id(kind, entity_id))


def _join_ends(tenant_id: UUID, ends: Iterable[tuple[str, str] | None], kind: str) -> Iterator[LinkKey]:
    """Return a link for each two entities in their one spelling."""
    for first, second in combinations([end for end in ends if end is not None], 2):
        if first < second:
            yield LinkKey(tenant_id, *first, *second, kind)
        elif first != second:
            yield LinkKey(tenant_id, *second, *first, kind)


class LinkSource(NamedTuple):
    """What links are made of: a signal or a raw event. `details` is JSON as stored."""

    tenant_id: UUID
    source: str
    entity_type: str
    entity_id: str
    details: str
    occurred_at: datetime


def may_mention(details: str) -> bool:
    """Whether details as stored may name entities; it takes half a microsecond."""
    return _MAY_MENTION.search(details) is not None


def find_links(fact: LinkSource) -> Iterator[LinkKey]:
    """Yield a link for each two entities that a fact names; most facts name one only, and cost a microsecond."""
    if not may_mention(fact.details):
        return iter(())
    named = dict.fromkeys([(fact.entity_type, fact.entity_id), *_find_mentions(fact.details)])
    ends = [_spell_end(*end) for end in [*named][:MAX_ENTITIES]]
    return _join_ends(fact.tenant_id, ends, fact.source)


def _find_mentions(details: str) -> Iterator[tuple[str, str]]:
    """Yield type and id of the entities in the members of a JSON object; a value that is no id is left out."""
    for name, value in orjson.loads(details).items():
        kind = ENTITY_MEMBERS.get(name)
        if kind is None:
            continue
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and ENTITY_ID.fullmatch(value):
            yield kind, value


links = table_of(RiskLink)
MAX_LINKS_READ = 1_000  # of an entity, in each direction; the newest of them are returned
_FIRST = (links.c.first_type, links.c.first_id)
_SECOND = (links.c.second_type, links.c.second_id)
ENDS = (_FIRST, _SECOND)  # type and id of each end; a link is read from either
ADD = make_tally_upsert(links)


def _read(end: Sequence[ColumnElement[str]], *, then: Sequence[ColumnElement[str]]) -> Select[tuple[object, ...]]:
    """Select the links with an entity at this end, in the order of an index, so that the limit ends the scan."""
    of_tenant = links.c.tenant_id == bindparam("tenant_id")
    its_own = (of_tenant, end[0] == bindparam("type"), end[1] == bindparam("id"))
    first = bindparam("read", type_=Integer)
    ordered = select(*links.c).where(*its_own).order_by(*then, links.c.kind).limit(first).subquery()
    return select(*ordered.c)


_OF_ENTITY = union_all(_read(_FIRST, then=_SECOND), _read(_SECOND, then=_FIRST)).subquery()
_ORDER = (_OF_ENTITY.c.last_seen.desc(), *(_OF_ENTITY.c[column.name] for column in links.primary_key))
_NEWEST = select(*_OF_ENTITY.c).order_by(*_ORDER).limit(bindparam("limit", type_=Integer))


def list_newest(execute: Execute, tenant_id: UUID, entity: Entity, *, limit: int) -> Sequence[RiskLinkRecord]:
    """List the links of an entity, those that were last seen most recently first.

    Of an entity with more than `MAX_LINKS_READ` links in a direction, that many are read in the order of the other
    entities' names, so that the time of a query has a bound. Those of placeholders, which older versions recorded,
    are left out.
    """
    bounds = {"read": MAX_LINKS_READ, "limit": limit}
    found = execute(_NEWEST, {"tenant_id": tenant_id, "type": entity.type.value, "id": entity.id, **bounds})
    return [link for link in fetch_all(found, RiskLinkRecord) if respell(LinkKey._make(link[: len(LinkKey._fields)]))]


_SIGHTINGS = Buffer[tuple[LinkKey, datetime]]("risk_links")


def note_links(tx: Transaction, facts: Iterable[LinkSource]) -> None:
    """Remember the entities that facts name together until the commit."""
    tx.buffer(_SIGHTINGS).extend(see_links(facts))


def write_links(tx: Transaction) -> None:
    """Add what a transaction's facts say about links, one row a link; a commit hook."""
    sightings = tx.buffer(_SIGHTINGS)
    if not sightings:
        return
    tallies = tally(sightings)
    sightings.clear()
    tx.flush()
    ADD.run_many(tx.connection, [(*link, *tallies[link]) for link in sorted(tallies)])


def see_links(facts: Iterable[LinkSource]) -> Iterator[tuple[LinkKey, datetime]]:
    """Yield each pair of entities that each fact names, and when it occurred."""
    for fact in facts:
        for link in find_links(fact):
            yield link, fact.occurred_at
