"""Queries of the search: ids by ranges of indexes, names by a pattern over the few rows that a tenant has of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Integer,
    String,
    and_,
    cast,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    union_all,
)

from attestlab.attestations.store import attestations
from attestlab.core.db.byte_order import After, AtLeast, Before, ByteOrder
from attestlab.core.db.tables import Execute, fetch_all
from attestlab.issuers.store import issuers, keys
from attestlab.orgs.store import IS_THERE, api_keys, users
from attestlab.policy.store import decisions, policies
from attestlab.risk.enforcement.store import RiskCaseRecord, cases, hold_at, list_entries
from attestlab.risk.links import ENDS, links
from attestlab.risk.rules import CaseStatus, Entity, EntityType
from attestlab.risk.signals.store import signals
from attestlab.search.rules import Span, list_spellings

IdRange = tuple[UUID, UUID] | None
# No parameter, because the index of open cases is chosen by this text.
_OPEN: ColumnElement[str] = literal_column(f"'{CaseStatus.OPEN}'")


class IssuerMatch(NamedTuple):
    """An issuer whose name, domain or id matches."""

    id: UUID
    name: str
    domain: str
    status: str


class KeyMatch(NamedTuple):
    """A signing key whose `kid` matches, with its issuer."""

    kid: str
    issuer_id: UUID
    issuer: str
    status: str


class ApiKeyMatch(NamedTuple):
    """An API key whose name, prefix or id matches."""

    id: UUID
    name: str
    prefix: str
    status: str


class PolicyMatch(NamedTuple):
    """A policy whose name or id matches."""

    id: UUID
    name: str
    category: str
    status: str


class DecisionMatch(NamedTuple):
    """A decision whose id matches."""

    id: str
    action: str
    allowed: bool
    created_at: datetime


class AttestationMatch(NamedTuple):
    """An attestation whose id, or whose document's hash, matches."""

    id: UUID
    schema: str
    issuer: str
    status: str
    expiry_at: datetime | None
    created_at: datetime
    document_hash: str | None


class PersonMatch(NamedTuple):
    """A person whose name, address or id matches."""

    id: UUID
    name: str
    email: str
    roles: str
    status: str | None


def find_entities(
    execute: Execute, tenant_id: UUID, spans: Sequence[Span], *, now: datetime, limit: int
) -> list[Entity]:
    """Find the entities with signals or entries of lists whose ids are in one of the spans, at most `limit` a type."""
    of_signals = _IdIndex(signals.c.tenant_id == tenant_id, signals.c.entity_type, signals.c.entity_id)
    listed = and_(list_entries.c.tenant_id == tenant_id, *hold_at(now))
    of_lists = _IdIndex(listed, list_entries.c.entity_type, list_entries.c.entity_id)
    return _walk_all(execute, [of_signals, of_lists], spans, limit)


def find_linked_entities(execute: Execute, tenant_id: UUID, spans: Sequence[Span], *, limit: int) -> list[Entity]:
    """Find the entities with links whose ids are in one of the spans, at most `limit` a type and end of a link."""
    mine = links.c.tenant_id == tenant_id
    return _walk_all(execute, [_IdIndex(mine, kind, id_) for kind, id_ in ENDS], spans, limit)


class _IdIndex(NamedTuple):
    """Rows that an index has in the order of an entity's type and id."""

    condition: ColumnElement[bool]
    kind: ColumnElement[str]
    id: ColumnElement[str]


def _walk_all(execute: Execute, indexes: Iterable[_IdIndex], spans: Sequence[Span], limit: int) -> list[Entity]:
    if not spans:
        return []
    return list(dict.fromkeys(found for index in indexes for found in _walk_ids(execute, index, spans, limit)))


def _walk_ids(execute: Execute, index: _IdIndex, spans: Sequence[Span], limit: int) -> list[Entity]:
    """Walk from each id to the next one by the index (a loose index scan), however many rows each has."""
    wanted = union_all(
        *(
            select(_text(kind.value).label("kind"), _text(span.first).label("low"), _text(span.end).label("high"))
            for kind in EntityType
            for span in spans
        )
    ).subquery("wanted")
    next_id = select(index.id).where(index.condition).order_by(ByteOrder(index.id)).limit(1)
    start = select(
        wanted.c.kind,
        next_id.where(index.kind == wanted.c.kind, AtLeast(index.id, wanted.c.low))
        .where(Before(index.id, wanted.c.high))
        .correlate(wanted)
        .scalar_subquery()
        .label("id"),
        wanted.c.high,
        cast(literal(1), Integer).label("place"),
    )
    walk = start.cte("walk", recursive=True)
    following = (
        next_id.where(index.kind == walk.c.kind, After(index.id, walk.c.id))
        .where(Before(index.id, walk.c.high))
        .correlate(walk)
        .scalar_subquery()
    )
    step = select(walk.c.kind, following, walk.c.high, walk.c.place + 1)
    walk = walk.union_all(step.where(walk.c.id.is_not(None), walk.c.place < limit))
    rows = execute(select(walk.c.kind, walk.c.id).where(walk.c.id.is_not(None)))
    return [Entity(EntityType(kind), entity_id) for kind, entity_id in rows]


def _text(value: str) -> ColumnElement[str]:
    return cast(literal(value), String)


def find_cases(
    execute: Execute, tenant_id: UUID, ids: IdRange, spans: Sequence[Span], *, limit: int
) -> list[RiskCaseRecord]:
    """Find the cases whose id is in the range, or whose entity's id is in one of the spans: open ones first."""
    mine = cases.c.tenant_id == tenant_id
    found: list[RiskCaseRecord] = []
    if ids is not None:
        by_id = select(*cases.c).where(mine, cases.c.id.between(*ids)).order_by(cases.c.id.desc()).limit(limit)
        found += fetch_all(execute(by_id), RiskCaseRecord)
    for condition in (cases.c.status == _OPEN, cases.c.status != _OPEN):
        if len(found) < limit:
            found += _find_cases_of_entities(execute, [mine, condition], spans, limit)
    return list({case.id: case for case in found}.values())[:limit]


def _find_cases_of_entities(
    execute: Execute, conditions: Sequence[ColumnElement[bool]], spans: Sequence[Span], limit: int
) -> list[RiskCaseRecord]:
    """Find cases by their entity, type by type, because the index has the ids of each type in order."""
    column, found = cases.c.entity_id, list[RiskCaseRecord]()
    for kind in EntityType:
        for span in spans:
            query = select(*cases.c).where(*conditions, cases.c.entity_type == kind.value)
            query = query.where(AtLeast(column, span.first), Before(column, span.end))
            found += fetch_all(execute(query.order_by(ByteOrder(column)).limit(limit)), RiskCaseRecord)
    return sorted(found, key=lambda case: case.id, reverse=True)


def find_issuers(execute: Execute, tenant_id: UUID, part: str, ids: IdRange, *, limit: int) -> list[IssuerMatch]:
    """Find the tenant's issuers by a part of a name or of the domain, or by id; newest first."""
    columns = issuers.c
    named = _contain(part, columns.name, columns.display_name, columns.legal_name, columns.domain)
    query = select(columns.id, columns.name, columns.domain, columns.status)
    query = query.where(columns.tenant_id == tenant_id, or_(named, _lie_in(columns.id, ids)))
    return fetch_all(execute(query.order_by(columns.id.desc()).limit(limit)), IssuerMatch)


def find_keys(execute: Execute, tenant_id: UUID, part: str, *, limit: int) -> list[KeyMatch]:
    """Find the tenant's signing keys by a part of their `kid`; newest first."""
    query = select(keys.c.kid, keys.c.issuer_id, issuers.c.name, keys.c.status)
    query = query.join(issuers, issuers.c.id == keys.c.issuer_id)
    query = query.where(keys.c.tenant_id == tenant_id, _contain(part, keys.c.kid))
    return fetch_all(execute(query.order_by(keys.c.created_at.desc(), keys.c.kid).limit(limit)), KeyMatch)


def find_api_keys(execute: Execute, tenant_id: UUID, part: str, ids: IdRange, *, limit: int) -> list[ApiKeyMatch]:
    """Find the tenant's API keys by a part of their name or of their prefix, or by id; newest first."""
    columns = api_keys.c
    query = select(columns.id, columns.name, columns.prefix, columns.status).where(columns.tenant_id == tenant_id)
    query = query.where(or_(_contain(part, columns.name, columns.prefix), _lie_in(columns.id, ids)))
    return fetch_all(execute(query.order_by(columns.id.desc()).limit(limit)), ApiKeyMatch)


def find_policies(execute: Execute, tenant_id: UUID, part: str, ids: IdRange, *, limit: int) -> list[PolicyMatch]:
    """Find the tenant's policies by a part of their name, or by id; newest first."""
    columns = policies.c
    query = select(columns.id, columns.name, columns.category, columns.status).where(columns.tenant_id == tenant_id)
    query = query.where(or_(_contain(part, columns.name), _lie_in(columns.id, ids)))
    return fetch_all(execute(query.order_by(columns.id.desc()).limit(limit)), PolicyMatch)


def find_decisions(execute: Execute, tenant_id: UUID, span: Span, *, limit: int) -> list[DecisionMatch]:
    """Find the tenant's decisions whose ids are in a span; newest first."""
    columns = decisions.c
    query = select(columns.id, columns.action, columns.allowed, columns.created_at)
    query = query.where(columns.tenant_id == tenant_id, columns.id >= span.first, columns.id <= span.end)
    return fetch_all(execute(query.order_by(columns.id.desc()).limit(limit)), DecisionMatch)


def find_attestations(
    execute: Execute, tenant_id: UUID, ids: IdRange, digests: Span | None, *, limit: int
) -> list[AttestationMatch]:
    """Find the tenant's attestations by id, then by the hash of their document; newest first."""
    columns = attestations.c
    found: list[AttestationMatch] = []
    if ids is not None:
        by_id = and_(columns.tenant_id == tenant_id, columns.id.between(*ids))
        found += _list_attestations(execute, by_id, columns.id, limit)
    if digests is not None:
        # Within a function, so that SQLite reads the few rows of the hashes, not all of the tenant.
        mine = func.coalesce(columns.tenant_id, columns.tenant_id) == tenant_id
        hashed = and_(mine, columns.document_hash >= digests.first, columns.document_hash < digests.end)
        found += _list_attestations(execute, hashed, columns.document_hash, limit)
    return list({each.id: each for each in found}.values())[:limit]


def _list_attestations(
    execute: Execute, condition: ColumnElement[bool], order: ColumnElement[UUID] | ColumnElement[str], limit: int
) -> list[AttestationMatch]:
    columns = attestations.c
    query = select(
        columns.id,
        columns.schema_id,
        issuers.c.name,
        columns.status,
        columns.expiry_at,
        columns.created_at,
        columns.document_hash,
    ).join(issuers, issuers.c.id == columns.issuer_id)
    return fetch_all(execute(query.where(condition).order_by(order.desc()).limit(limit)), AttestationMatch)


def find_people(execute: Execute, tenant_id: UUID, part: str, ids: IdRange, *, limit: int) -> list[PersonMatch]:
    """Find the tenant's people by a part of their name or address, or by id; newest first, without removed ones."""
    columns = users.c
    invited = columns.invited_address
    by_address = or_(_contain(part, invited), and_(invited.is_(None), _contain(part, columns.email)))
    query = select(columns.id, columns.name, columns.email, columns.invited_address, columns.roles, columns.status)
    query = query.where(columns.tenant_id == tenant_id, IS_THERE)
    query = query.where(or_(_contain(part, columns.name), by_address, _lie_in(columns.id, ids)))
    rows = execute(query.order_by(columns.id.desc()).limit(limit))
    return [PersonMatch(id, name, address or email, *more) for id, name, email, address, *more in rows]


def _contain(part: str, *columns: ColumnElement[object]) -> ColumnElement[bool]:
    """Return the condition that one of the columns contains a text as it is, without regard to case."""
    return or_(*(each.icontains(spelt, autoescape=True) for each in columns for spelt in list_spellings(part)))


def _lie_in(column: ColumnElement[UUID], ids: IdRange) -> ColumnElement[bool]:
    return false() if ids is None else column.between(*ids)
