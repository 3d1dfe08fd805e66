"""Queries of links between entities; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Integer, Select, bindparam, select, union_all

from attestlab.core.db.tables import Execute, fetch_all, table_of
from attestlab.risk.links.mentions import LinkKey, respell
from attestlab.risk.links.tables import RiskLink, RiskLinkRecord
from attestlab.risk.rules import Entity
from attestlab.risk.tallies import make_tally_upsert

links = table_of(RiskLink)
MAX_LINKS_READ = 1_000  # of an entity, in each direction; the newest of them are returned
_FIRST = (links.c.first_type, links.c.first_id)
_SECOND = (links.c.second_type, links.c.second_id)
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
