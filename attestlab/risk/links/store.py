"""Queries of links between entities; each names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select, union_all

from attestlab.core.db.tables import Execute, fetch_all, table_of
from attestlab.risk.links.tables import RiskLink, RiskLinkRecord
from attestlab.risk.rules import Entity
from attestlab.risk.tallies import make_tally_upsert

links = table_of(RiskLink)
MAX_LINKS_READ = 1_000  # of an entity, in each direction; the newest of them are returned
_FIRST = (links.c.first_type, links.c.first_id)
_SECOND = (links.c.second_type, links.c.second_id)
ADD = make_tally_upsert(links)


def list_newest(execute: Execute, tenant_id: UUID, entity: Entity, *, limit: int) -> Sequence[RiskLinkRecord]:
    """List the links of an entity, those that were last seen most recently first.

    Of an entity with more than `MAX_LINKS_READ` links in a direction, that many are read in the order of the other
    entities' names, so that the time of a query has a bound.
    """
    of_entity = union_all(
        _read(tenant_id, entity, _FIRST, then=_SECOND), _read(tenant_id, entity, _SECOND, then=_FIRST)
    ).subquery()
    order = (of_entity.c.last_seen.desc(), *(of_entity.c[column.name] for column in links.primary_key))
    return fetch_all(execute(select(*of_entity.c).order_by(*order).limit(limit)), RiskLinkRecord)


def _read(
    tenant_id: UUID, entity: Entity, end: Sequence[ColumnElement[str]], *, then: Sequence[ColumnElement[str]]
) -> Select[tuple[object, ...]]:
    """Select the links with the entity at this end, in the order of an index, so that the limit ends the scan."""
    its_own = (links.c.tenant_id == tenant_id, end[0] == entity.type.value, end[1] == entity.id)
    ordered = select(*links.c).where(*its_own).order_by(*then, links.c.kind).limit(MAX_LINKS_READ).subquery()
    return select(*ordered.c)
