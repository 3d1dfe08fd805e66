"""Tables and queries of cases, challenges, list entries and settings; each binds values as parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple, TypeVar
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Double, Index, Select, Table, and_, bindparam, or_, select, text
from sqlmodel import Field

from attestlab.core.db.byte_order import by_bytes
from attestlab.core.db.tables import Execute, Record, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.errors import NotFound
from attestlab.core.filters import Filters, build_conditions
from attestlab.risk.enforcement.shapes import CasesQuery, ChallengesQuery, ListsQuery
from attestlab.risk.links import ENDS, links
from attestlab.risk.rules import CaseStatus, Entity, EntityType, ListName, list_matching_ids

SINCE_0045 = {"info": {"since": "0045"}}


@short_repr
class RiskSettingsRecord(NamedTuple):
    """A tenant's own settings of risk; without a row, the defaults apply."""

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    escalation_threshold: Annotated[float, Field(sa_type=Double)]
    updated_at: datetime


RiskSettings = model_of(RiskSettingsRecord, "risk_settings")


@short_repr
class RiskCaseRecord(NamedTuple):
    """A case: the escalated signals of one entity until a person resolves it; an entity has at most one open case.

    `label_at` is when the outcome becomes a label, until it is one; before, the person may open the case again.
    `top_kind` is `source/type` of the signal with the highest score; cases of older versions have none.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    status: Annotated[str, Field(max_length=8)]
    signal_count: Annotated[int, Field(sa_type=BigInteger)]
    max_score: Annotated[float, Field(sa_type=Double)]
    opened_at: datetime
    outcome: Annotated[str | None, Field(max_length=12)] = None
    note: Annotated[str | None, Field(max_length=2000)] = None
    resolved_at: datetime | None = None
    resolved_by: Annotated[str | None, Field(max_length=64)] = None
    assignee_id: Annotated[UUID | None, Field(sa_column_kwargs=SINCE_0045)] = None
    label_at: Annotated[datetime | None, Field(sa_column_kwargs=SINCE_0045)] = None
    top_kind: Annotated[str | None, Field(max_length=129, sa_column_kwargs=SINCE_0045)] = None

    @property
    def entity(self) -> Entity:
        """What the case is about."""
        return Entity(EntityType(self.entity_type), self.entity_id)


RiskCase = model_of(
    RiskCaseRecord,
    "risk_cases",
    Index("ix_risk_cases_of_tenant", "tenant_id", "id"),
    Index(
        "ix_risk_cases_open",
        "tenant_id",
        "entity_type",
        "entity_id",
        unique=True,
        sqlite_where=text("status = 'open'"),
        info=by_bytes("entity_id"),
    ),
    Index("ix_risk_cases_of_entity", "tenant_id", "entity_type", "entity_id", "id", info=by_bytes("entity_id")),
    Index("ix_risk_cases_unlabelled", "label_at", sqlite_where=text("label_at IS NOT NULL")),
)


@short_repr
class RiskListEntryRecord(NamedTuple):
    """An entity on the tenant's allow or deny list; a removed entry stays as history."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    list: Annotated[str, Field(max_length=5)]
    entity_type: Annotated[str, Field(max_length=16)]
    entity_id: Annotated[str, Field(max_length=256)]
    reason: Annotated[str, Field(max_length=1024)]
    created_at: datetime
    created_by: Annotated[str, Field(max_length=64)]
    expires_at: datetime | None = None
    removed_at: datetime | None = None
    removed_by: Annotated[str | None, Field(max_length=64)] = None

    @property
    def entity(self) -> Entity:
        """What the entry is about."""
        return Entity(EntityType(self.entity_type), self.entity_id)


RiskListEntry = model_of(
    RiskListEntryRecord,
    "risk_list_entries",
    Index("ix_risk_list_entries_of_tenant", "tenant_id", "id"),
    Index("ix_risk_list_entries_of_entity", "tenant_id", "entity_type", "entity_id", info=by_bytes("entity_id")),
)


@short_repr
class RiskChallengeRecord(NamedTuple):
    """A challenge decision; it never changes."""

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    subject_type: Annotated[str, Field(max_length=64)]
    subject_id: Annotated[str, Field(max_length=256)]
    reason: Annotated[str, Field(max_length=1024)]
    risk_score: int | None
    challenge_required: bool
    created_by: Annotated[str, Field(max_length=64)]
    created_at: datetime


RiskChallenge = model_of(
    RiskChallengeRecord,
    "risk_challenges",
    Index("ix_risk_challenges_of_tenant", "tenant_id", "id"),
    Index("ix_risk_challenges_of_subject", "tenant_id", "subject_type", "subject_id", "id"),
)


Value = TypeVar("Value")
settings = table_of(RiskSettings)
cases = table_of(RiskCase)
list_entries = table_of(RiskListEntry)
challenges = table_of(RiskChallenge)
_SETTINGS = select(*settings.c).where(settings.c.tenant_id == bindparam("tenant_id"))
_LISTS = select(list_entries.c.list).where(
    list_entries.c.tenant_id == bindparam("tenant"),
    list_entries.c.entity_type == bindparam("type"),
    list_entries.c.entity_id.in_(bindparam("entities", expanding=True)),
    list_entries.c.removed_at.is_(None),
    or_(list_entries.c.expires_at.is_(None), list_entries.c.expires_at > bindparam("now")),
)
MAX_IDS_PER_QUERY = 5_000  # SQLite takes some 32,000 values


class ListPage(NamedTuple):
    """A page of a list: at most `limit` rows of a tenant, newest first, after the row `before`."""

    tenant_id: UUID
    before: UUID | None = None
    limit: int = 50


def find_settings(execute: Execute, tenant_id: UUID) -> RiskSettingsRecord | None:
    """Find a tenant's own settings; None if the defaults apply."""
    return fetch_one(execute(_SETTINGS, {"tenant_id": tenant_id}), RiskSettingsRecord)


def find_open_cases(execute: Execute, tenant_id: UUID, entities: Iterable[Entity]) -> dict[Entity, RiskCaseRecord]:
    """Find the open cases of entities."""
    found: dict[Entity, RiskCaseRecord] = {}
    for kind, all_ids in _group_ids(entities).items():
        for ids in _chunks(all_ids, MAX_IDS_PER_QUERY):
            cases_found = fetch_all(execute(_select_open_cases(tenant_id, kind, ids)), RiskCaseRecord)
            found.update({Entity(kind, case.entity_id): case for case in cases_found})
    return found


def get_case(execute: Execute, case_id: UUID, *, tenant_id: UUID) -> RiskCaseRecord:
    """Get a case of the tenant.

    Raises:
        NotFound: the tenant has no such case.
    """
    return _get(execute, cases, RiskCaseRecord, case_id, tenant_id, "case")


def list_cases(execute: Execute, page: ListPage, filters: CasesQuery) -> list[RiskCaseRecord]:
    """List the cases that filters select, newest first."""
    query = _page(cases, page, filters)
    if (linked := filters.linked_entity) is not None:
        query = query.where(or_(*name_linked(page.tenant_id, linked)))
    return fetch_all(execute(query), RiskCaseRecord)


def name_linked(tenant_id: UUID, entity: Entity) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of which a case about an entity, or about one that a link joins to it, meets one."""
    kind, case_id = cases.c.entity_type, cases.c.entity_id
    yield and_(kind == entity.type.value, case_id == entity.id)
    for (own_type, own_id), (type_, id_) in (ENDS, ENDS[::-1]):
        ids = select(own_id).where(links.c.tenant_id == tenant_id, type_ == entity.type.value, id_ == entity.id)
        yield case_id.in_(ids.where(own_type == kind))


def get_cases(execute: Execute, ids: Sequence[UUID], *, tenant_id: UUID) -> dict[UUID, RiskCaseRecord]:
    """Get the cases of the tenant by their ids; unknown ids are left out."""
    query = select(*cases.c).where(cases.c.tenant_id == tenant_id, cases.c.id.in_(ids))
    return {row.id: row for row in fetch_all(execute(query), RiskCaseRecord)}


def list_unlabelled(execute: Execute, *, until: datetime, limit: int) -> list[RiskCaseRecord]:
    """List the resolved cases of all tenants whose outcome is to become a label by then."""
    query = select(*cases.c).where(cases.c.label_at <= until).order_by(cases.c.label_at).limit(limit)
    return fetch_all(execute(query), RiskCaseRecord)


def get_list_entry(execute: Execute, entry_id: UUID, *, tenant_id: UUID) -> RiskListEntryRecord:
    """Get an entry of the tenant's lists, also a removed one.

    Raises:
        NotFound: the tenant has no such entry.
    """
    return _get(execute, list_entries, RiskListEntryRecord, entry_id, tenant_id, "list entry")


def list_list_entries(
    execute: Execute, page: ListPage, filters: ListsQuery, *, now: datetime
) -> list[RiskListEntryRecord]:
    """List the entries that filters select and that hold at `now`, newest first."""
    return fetch_all(execute(_page(list_entries, page, filters).where(*hold_at(now))), RiskListEntryRecord)


def find_list_entries(execute: Execute, tenant_id: UUID, entity: Entity, *, now: datetime) -> list[RiskListEntryRecord]:
    """Find the entries of an entity and of the networks around it that hold at `now`, on both lists."""
    query = select(*list_entries.c).where(*_match(tenant_id, entity[0], list_matching_ids(*entity), now))
    found = fetch_all(execute(query), RiskListEntryRecord)
    return sorted(found, key=lambda row: row.id)  # ORDER BY would make SQLite read all entries of the tenant


def is_listed(execute: Execute, name: ListName, tenant_id: UUID, entity: tuple[str, str], *, now: datetime) -> bool:
    """Return whether an entry of a list for exactly this entity holds at `now`."""
    columns = list_entries.c
    its_own = _match(tenant_id, entity[0], [entity[1]], now)
    return execute(select(columns.id).where(*its_own, columns.list == name.value).limit(1)).first() is not None


def find_lists(execute: Execute, tenant_id: UUID, entity: tuple[str, str], *, now: datetime) -> frozenset[str]:
    """Return the names of the lists that an entity, or a network around it, is on at `now`."""
    parameters = {"tenant": tenant_id, "type": str(entity[0]), "entities": list_matching_ids(*entity), "now": now}
    return frozenset(execute(_LISTS, parameters).scalars())


def find_lists_of(
    execute: Execute, tenant_id: UUID, entities: Iterable[Entity], *, now: datetime
) -> Mapping[Entity, set[str]]:
    """Return the names of the lists that each of several entities is on at `now`; none of one that is on no list."""
    columns, found = list_entries.c, defaultdict[Entity, set[str]](set)
    for kind, entities_of in _group_by_matching_id(entities).items():
        for ids in _chunks([*entities_of], MAX_IDS_PER_QUERY):
            rows = execute(select(columns.list, columns.entity_id).where(*_match(tenant_id, kind, ids, now)))
            for name, entity_id in rows:
                for entity in entities_of[entity_id]:
                    found[entity].add(name)
    return found


def list_challenges(execute: Execute, page: ListPage, filters: ChallengesQuery) -> list[RiskChallengeRecord]:
    """List the challenge decisions that filters select, newest first."""
    return fetch_all(execute(_page(challenges, page, filters)), RiskChallengeRecord)


def _select_open_cases(tenant_id: UUID, kind: EntityType, ids: Sequence[str]) -> Select[tuple[object, ...]]:
    of_entities = (cases.c.tenant_id == tenant_id, cases.c.entity_type == kind.value, cases.c.entity_id.in_(ids))
    return select(*cases.c).where(*of_entities, cases.c.status == CaseStatus.OPEN.value)


def _group_ids(entities: Iterable[Entity]) -> Mapping[EntityType, list[str]]:
    """Group ids by type: SQLite uses an index for a list of ids, but not for a list of pairs."""
    ids: defaultdict[EntityType, list[str]] = defaultdict(list)
    for entity in entities:
        ids[entity.type].append(entity.id)
    return ids


def _group_by_matching_id(entities: Iterable[Entity]) -> Mapping[str, Mapping[str, list[Entity]]]:
    """Group entities by type, as `_group_ids` does, and by the ids of entries that hold for them."""
    found: defaultdict[str, defaultdict[str, list[Entity]]] = defaultdict(lambda: defaultdict(list))
    for entity in entities:
        for entity_id in list_matching_ids(*entity):
            found[entity.type.value][entity_id].append(entity)
    return found


def _match(tenant_id: UUID, kind: str, ids: Sequence[str], now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on list entries of a tenant with one of these ids that hold at `now`."""
    columns = list_entries.c
    return (columns.tenant_id == tenant_id, columns.entity_type == kind, columns.entity_id.in_(ids), *hold_at(now))


def _chunks(values: Sequence[Value], size: int) -> Iterator[Sequence[Value]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]


def hold_at(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions on list entries that hold at a moment."""
    expires_at = list_entries.c.expires_at
    return (list_entries.c.removed_at.is_(None), or_(expires_at.is_(None), expires_at > now))


def _page(table: Table, page: ListPage, filters: Filters) -> Select[tuple[object, ...]]:
    conditions = build_conditions(filters, table.c)
    if page.before is not None:
        conditions.append(table.c.id < page.before)
    query = select(*table.c).where(table.c.tenant_id == page.tenant_id, *conditions)
    return query.order_by(table.c.id.desc()).limit(page.limit)


def _get(execute: Execute, table: Table, kind: type[Record], row_id: UUID, tenant_id: UUID, what: str) -> Record:
    query = select(*table.c).where(table.c.id == row_id, table.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), kind)
    if row is None:
        raise NotFound(what, row_id)
    return row
