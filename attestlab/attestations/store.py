"""Queries on attestations and packs; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, and_, bindparam, func, literal_column, or_, select

from attestlab.attestations.rules import Status
from attestlab.attestations.tables import Attestation, AttestationPack
from attestlab.core.db.tables import table_of
from attestlab.core.db.transaction import AnyRow, Transaction
from attestlab.core.errors import NotFound
from attestlab.issuers.tables import Issuer, IssuerKey
from attestlab.log.tables import LogLeaf
from attestlab.orgs.tables import Tenant

attestations = table_of(Attestation)
packs = table_of(AttestationPack)
_issuers = table_of(Issuer)
_keys = table_of(IssuerKey)
_leaves = table_of(LogLeaf)
_tenants = table_of(Tenant)

_COLUMNS = tuple(attestations.c)
_ISSUER_COLUMNS = (
    _issuers.c.id.label("found_issuer"),
    _issuers.c.name.label("issuer_name"),
    _issuers.c.domain.label("issuer_domain"),
    _issuers.c.status.label("issuer_status"),
    _issuers.c.trust_tier.label("issuer_trust_tier"),
    _issuers.c.risk_rating.label("issuer_risk_rating"),
    _issuers.c.jurisdiction.label("issuer_jurisdiction"),
    _issuers.c.display_name.label("issuer_display_name"),
    _issuers.c.primary_color,
    _issuers.c.accent_color,
    _issuers.c.logo_url,
    _issuers.c.revoked_index,
)
_KEY_COLUMNS = (
    _keys.c.spki,
    _keys.c.status.label("key_status"),
    _keys.c.created_at.label("key_created_at"),
    _keys.c.changed_index.label("key_changed_index"),
    _keys.c.compromised_at,
)
PAGE = 500
_key_of_attestation = and_(
    _keys.c.tenant_id == attestations.c.tenant_id,
    _keys.c.kid == attestations.c.kid,
    _keys.c.issuer_id == attestations.c.issuer_id,
)
_WITH_EVIDENCE = (
    select(*_COLUMNS, *_ISSUER_COLUMNS, *_KEY_COLUMNS, _leaves.c.entry, _tenants.c.plan, _tenants.c.adjusted)
    .select_from(
        attestations.outerjoin(_issuers, _issuers.c.id == attestations.c.issuer_id)
        .outerjoin(_keys, _key_of_attestation)
        .outerjoin(_leaves, _leaves.c.index == attestations.c.log_index)
        .outerjoin(_tenants, _tenants.c.id == attestations.c.tenant_id)
    )
    .where(attestations.c.id == bindparam("id"))
)
# Everything that a signature and a log entry are checked against; a missing key or entry is None.
_SIGNED = (
    select(
        *(attestations.c[name] for name in ("id", "issuer_id", "kid", "alg", "schema_id", "content_type")),
        *(attestations.c[name] for name in ("payload_hash", "document_hash", "claims_hash", "expiry_at", "created_at")),
        *(attestations.c[name] for name in ("claims", "signature", "nonce")),
        _keys.c.spki,
        _leaves.c.entry,
    )
    .select_from(
        attestations.outerjoin(_keys, _key_of_attestation).outerjoin(
            _leaves, _leaves.c.index == attestations.c.log_index
        )
    )
    .order_by(attestations.c.id)
    .execution_options(yield_per=PAGE)
)
_OWNED = select(*_COLUMNS).where(
    attestations.c.id == bindparam("id"), attestations.c.tenant_id == bindparam("tenant_id")
)
_DUE = (
    select(*_COLUMNS)
    .where(attestations.c.status == literal_column("'VALID'"), attestations.c.expiry_at <= bindparam("now"))
    .order_by(attestations.c.expiry_at)
    .limit(bindparam("limit"))
)
_TAKEN = select(attestations.c.id).where(attestations.c.id == bindparam("id"))


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Filter of a list of attestations; None matches all. `since` is inclusive, `until` exclusive."""

    issuer_id: UUID | None = None
    status: Status | None = None
    schema: str | None = None
    kid: str | None = None
    document_hash: str | None = None
    pack_id: UUID | None = None
    since: datetime | None = None
    until: datetime | None = None


def get(connection: Connection, attestation_id: UUID, *, tenant_id: UUID) -> AnyRow:
    """Get an attestation of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such attestation.
    """
    row = connection.execute(_OWNED, {"id": attestation_id, "tenant_id": tenant_id}).first()
    if row is None:
        raise NotFound("attestation", attestation_id)
    return row


def get_for_update(tx: Transaction, attestation_id: UUID, *, tenant_id: UUID) -> AnyRow:
    """Get an attestation under the writer's lock, including changes of this transaction.

    Raises:
        NotFound: the tenant has no such attestation.
    """
    row: AnyRow | None = tx.exec(_OWNED, {"id": attestation_id, "tenant_id": tenant_id}).first()
    if row is None:
        raise NotFound("attestation", attestation_id)
    return row


def find_expired(tx: Transaction, *, now: datetime, limit: int) -> Sequence[AnyRow]:
    """Find up to `limit` VALID attestations of all tenants whose expiry has passed, earliest expiry first."""
    return tx.exec(_DUE, {"now": now, "limit": limit}).all()


def find_latest_successor(connection: Connection, attestation_id: UUID) -> UUID:
    """Follow the chain of supersessions from an attestation, and return the id of its last member."""
    chain = select(attestations.c.id, attestations.c.superseded_by).where(attestations.c.id == attestation_id)
    walk: Any = chain.cte("walk", recursive=True)
    following = select(attestations.c.id, attestations.c.superseded_by).where(attestations.c.id == walk.c.superseded_by)
    walk = walk.union(following)  # not UNION ALL, so that the query terminates on a cycle in damaged rows
    last: UUID | None = connection.execute(select(walk.c.id).where(walk.c.superseded_by.is_(None))).scalar()
    return last or attestation_id


def is_superseded_by(connection: Connection, old_id: UUID, new_id: UUID) -> bool:
    """Return whether the row of the old attestation names the new one as its successor."""
    query = select(attestations.c.id).where(attestations.c.id == old_id, attestations.c.superseded_by == new_id)
    return connection.execute(query).first() is not None


def get_with_evidence(connection: Connection, attestation_id: UUID) -> AnyRow | None:
    """Get an attestation of any tenant with its issuer, key and log entry; None if there is none."""
    return connection.execute(_WITH_EVIDENCE, {"id": attestation_id}).first()


def iterate_signed(connection: Connection, first: UUID | None, end: UUID | None) -> Iterator[AnyRow]:
    """Yield the attestations with `first` <= id < `end`, each with its key and log entry, reading page by page."""
    query = _SIGNED if first is None else _SIGNED.where(attestations.c.id >= first)
    yield from connection.execute(query if end is None else query.where(attestations.c.id < end))


def sample_ids(connection: Connection, step: int) -> list[UUID]:
    """Return every `step`-th attestation id in ascending order, without the first."""
    count = connection.scalar(select(func.count()).select_from(attestations)) or 0
    ordered = select(attestations.c.id).order_by(attestations.c.id).limit(1)
    return [connection.execute(ordered.offset(offset)).scalar_one() for offset in range(step, count, step)]


def is_taken(connection: Connection, attestation_id: UUID) -> bool:
    """Return whether an attestation of any tenant has this id."""
    return connection.execute(_TAKEN, {"id": attestation_id}).first() is not None


def page(
    connection: Connection,
    *,
    tenant_id: UUID,
    criteria: Filter,
    now: datetime,
    before: int | None,
    offset: int,
    limit: int,
) -> Sequence[AnyRow]:
    """List the tenant's attestations in descending order of log index, below `before`."""
    query = select(*_COLUMNS).where(attestations.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(attestations.c.log_index < before)
    query = _apply_filter(query, criteria, now).order_by(attestations.c.log_index.desc()).limit(limit).offset(offset)
    return connection.execute(query).all()


def get_pack(connection: Connection, pack_id: UUID, *, tenant_id: UUID) -> AnyRow:
    """Get a verification pack of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such pack.
    """
    query = select(*packs.c).where(packs.c.id == pack_id, packs.c.tenant_id == tenant_id)
    row = connection.execute(query).first()
    if row is None:
        raise NotFound("attestation pack", pack_id)
    return row


def count_packs(tx: Transaction, tenant_id: UUID) -> int:
    """Count the tenant's verification packs."""
    return int(tx.exec(select(func.count()).select_from(packs).where(packs.c.tenant_id == tenant_id)).scalar_one())


def page_of_packs(connection: Connection, *, tenant_id: UUID, before: UUID | None, limit: int) -> Sequence[AnyRow]:
    """List the tenant's packs, newest first, starting after `before`."""
    query = select(*packs.c).where(packs.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(packs.c.id < before)
    return connection.execute(query.order_by(packs.c.id.desc()).limit(limit)).all()


def _apply_filter(query: Select[Any], criteria: Filter, now: datetime) -> Select[Any]:
    columns = attestations.c
    equal = {
        columns.issuer_id: criteria.issuer_id,
        columns.schema_id: criteria.schema,
        columns.kid: criteria.kid,
        columns.document_hash: criteria.document_hash,
        columns.pack_id: criteria.pack_id,
    }
    query = query.where(*(column == value for column, value in equal.items() if value is not None))
    if criteria.status is not None:
        query = query.where(_has_status(criteria.status, now))
    if criteria.since is not None:
        query = query.where(columns.created_at >= criteria.since)
    if criteria.until is not None:
        query = query.where(columns.created_at < criteria.until)
    return query


def _has_status(status: Status, now: datetime) -> Any:
    """Build the condition on the status as of `now`: a VALID row whose expiry has passed counts as EXPIRED."""
    columns = attestations.c
    if status is Status.VALID:
        return and_(columns.status == status.value, or_(columns.expiry_at.is_(None), columns.expiry_at > now))
    if status is Status.EXPIRED:
        overdue = and_(columns.status == Status.VALID.value, columns.expiry_at <= now)
        return or_(columns.status == status.value, overdue)
    return columns.status == status.value


def find_log_indexes(connection: Connection, *, attestation_id: UUID | None, document_hash: str | None) -> list[int]:
    """Find the log indexes (at most 100) of attestations with this id or document hash, lowest first."""
    query = select(attestations.c.log_index).order_by(attestations.c.log_index).limit(100)
    if attestation_id is not None:
        query = query.where(attestations.c.id == attestation_id)
    if document_hash is not None:
        query = query.where(attestations.c.document_hash == document_hash)
    return list(connection.scalars(query))


def count_signed(tx: Transaction, tenant_id: UUID, kid: str) -> int:
    """Count the attestations that a tenant's key has signed, including those of this transaction."""
    by_key = (attestations.c.tenant_id == tenant_id, attestations.c.kid == kid)
    signed: int = tx.exec(select(func.count()).select_from(attestations).where(*by_key)).scalar_one()
    return signed


def count(connection: Connection) -> int:
    """Count the attestations of all tenants."""
    return connection.scalar(select(func.count()).select_from(attestations)) or 0
