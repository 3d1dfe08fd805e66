"""Queries on attestations and packs; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Connection, Uuid, and_, any_, bindparam, func, literal_column, or_, select

from attestlab.attestations.evidence_queries import CurrentIssuer, CurrentKey, EvidenceQuery, is_key_of, keys, leaves
from attestlab.attestations.rules import Status
from attestlab.attestations.shapes import AttestationsQuery
from attestlab.attestations.tables import Attestation, AttestationPack, AttestationPackRecord, AttestationRecord
from attestlab.core.db.foreseen_reads import ForeseenRead
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, iterate, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions

attestations = table_of(Attestation)
packs = table_of(AttestationPack)

_COLUMNS = tuple(attestations.c)
PAGE = 500
_EVIDENCE = EvidenceQuery(attestations, AttestationRecord)
_SIGNED = (
    select(
        *(attestations.c[name] for name in ("id", "issuer_id", "kid", "alg", "schema_id", "content_type")),
        *(attestations.c[name] for name in ("payload_hash", "document_hash", "claims_hash", "expiry_at", "created_at")),
        *(attestations.c[name] for name in ("claims", "signature", "nonce")),
        keys.c.spki,
        leaves.c.entry,
    )
    .select_from(
        attestations.outerjoin(keys, is_key_of(attestations)).outerjoin(
            leaves, leaves.c.index == attestations.c.log_index
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
_ALL_TAKEN = select(attestations.c.id).where(attestations.c.id == any_(bindparam("ids", type_=ARRAY(Uuid()))))


class AttestationEvidence(NamedTuple):
    """An attestation with its issuer, key, log entry, and the plan of its tenant; None is a missing row."""

    attestation: AttestationRecord
    issuer: CurrentIssuer | None
    key: CurrentKey | None
    entry: bytes | None
    plan: str | None
    adjustments: str | None
    addons: str | None

    @property
    def row(self) -> AttestationRecord:
        """The row of the attestation."""
        return self.attestation


class SignedAttestation(NamedTuple):
    """The columns that a signature and a log entry are checked against; a missing key or entry is None."""

    id: UUID
    issuer_id: UUID
    kid: str
    alg: str
    schema_id: str
    content_type: str
    payload_hash: str
    document_hash: str | None
    claims_hash: str
    expiry_at: datetime | None
    created_at: datetime
    claims: bytes
    signature: str
    nonce: bytes
    spki: bytes | None
    entry: bytes | None


class Issuance(NamedTuple):
    """Which issuer an attestation has, and since when."""

    id: UUID
    issuer_id: UUID
    created_at: datetime


def get(connection: Connection, attestation_id: UUID, *, tenant_id: UUID) -> AttestationRecord:
    """Get an attestation of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such attestation.
    """
    found = fetch_one(connection.execute(_OWNED, {"id": attestation_id, "tenant_id": tenant_id}), AttestationRecord)
    if found is None:
        raise NotFound("attestation", attestation_id)
    return found


def get_readable(connection: Connection, attestation_id: UUID, is_readable: ColumnElement[bool]) -> AttestationRecord:
    """Get an attestation of any tenant that meets a condition; others are not found.

    Raises:
        NotFound: there is no such attestation.
    """
    query = select(*_COLUMNS).where(attestations.c.id == attestation_id, is_readable)
    found = fetch_one(connection.execute(query), AttestationRecord)
    if found is None:
        raise NotFound("attestation", attestation_id)
    return found


def get_for_update(tx: Transaction, attestation_id: UUID, *, tenant_id: UUID) -> AttestationRecord:
    """Get an attestation under the writer's lock, including changes of this transaction.

    Raises:
        NotFound: the tenant has no such attestation.
    """
    found = fetch_one(tx.exec(_OWNED, {"id": attestation_id, "tenant_id": tenant_id}), AttestationRecord)
    if found is None:
        raise NotFound("attestation", attestation_id)
    return found


def find_expired(tx: Transaction, *, now: datetime, limit: int) -> list[AttestationRecord]:
    """Find up to `limit` VALID attestations of all tenants whose expiry has passed, earliest expiry first."""
    return fetch_all(tx.exec(_DUE, {"now": now, "limit": limit}), AttestationRecord)


def find_latest_successor(connection: Connection, attestation_id: UUID) -> UUID:
    """Follow the chain of supersessions from an attestation, and return the id of its last member."""
    link = select(attestations.c.id, attestations.c.superseded_by)
    walk = link.where(attestations.c.id == attestation_id).cte("walk", recursive=True)
    # UNION, not UNION ALL, so that the query terminates on a cycle in damaged rows.
    walk = walk.union(link.where(attestations.c.id == walk.c.superseded_by))
    return connection.scalar(select(walk.c.id).where(walk.c.superseded_by.is_(None))) or attestation_id


def is_superseded_by(connection: Connection, old_id: UUID, new_id: UUID) -> bool:
    """Return whether the row of the old attestation names the new one as its successor."""
    query = select(attestations.c.id).where(attestations.c.id == old_id, attestations.c.superseded_by == new_id)
    return connection.execute(query).first() is not None


def get_with_evidence(connection: Connection, attestation_id: UUID) -> AttestationEvidence | None:
    """Get an attestation of any tenant with its issuer, key and log entry; None if there is none."""
    found = _EVIDENCE.find(connection, attestation_id)
    return None if found is None else AttestationEvidence._make(found)


def iterate_signed(connection: Connection, first: UUID | None, end: UUID | None) -> Iterator[SignedAttestation]:
    """Yield the attestations with `first` <= id < `end`, each with its key and log entry, reading page by page."""
    query = _SIGNED if first is None else _SIGNED.where(attestations.c.id >= first)
    yield from iterate(
        connection.execute(query if end is None else query.where(attestations.c.id < end)), SignedAttestation
    )


def sample_ids(connection: Connection, step: int) -> list[UUID]:
    """Return every `step`-th attestation id in ascending order, without the first."""
    count = connection.scalar(select(func.count()).select_from(attestations)) or 0
    ordered = select(attestations.c.id).order_by(attestations.c.id).limit(1)
    return [connection.execute(ordered.offset(offset)).scalar_one() for offset in range(step, count, step)]


def find_taken_id(execute: Execute, attestation_id: UUID) -> bool:
    """Return whether an attestation of any tenant has this id."""
    return execute(_TAKEN, {"id": attestation_id}).first() is not None


def find_taken_ids(execute: Execute, attestation_ids: Collection[UUID]) -> dict[UUID, bool]:
    """Find those of these ids that an attestation of any tenant has, on PostgreSQL."""
    return dict.fromkeys(execute(_ALL_TAKEN, {"ids": list(attestation_ids)}).scalars(), True)


TAKEN_IDS = ForeseenRead("taken attestation ids", find=find_taken_id, find_all=find_taken_ids)


def page(
    connection: Connection,
    criteria: AttestationsQuery,
    *,
    is_readable: ColumnElement[bool],
    now: datetime,
    before: int | None,
    offset: int,
    limit: int,
) -> list[AttestationRecord]:
    """List the attestations that a caller may read in descending order of log index, below `before`."""
    query = select(*_COLUMNS).where(is_readable)
    if before is not None:
        query = query.where(attestations.c.log_index < before)
    query = query.where(*build_conditions(criteria, attestations.c))
    if criteria.status is not None:
        query = query.where(_has_status(criteria.status, now))
    query = query.order_by(attestations.c.log_index.desc()).limit(limit).offset(offset)
    return fetch_all(connection.execute(query), AttestationRecord)


def list_issuances(connection: Connection, tenant_id: UUID, column: str, value: UUID, *, limit: int) -> list[Issuance]:
    """List the tenant's attestations with this `id` or `issuer_id`, newest first."""
    columns = [attestations.c[name] for name in Issuance._fields]
    query = select(*columns).where(attestations.c[column] == value, attestations.c.tenant_id == tenant_id)
    return fetch_all(connection.execute(query.order_by(attestations.c.log_index.desc()).limit(limit)), Issuance)


def get_pack(connection: Connection, pack_id: UUID, *, tenant_id: UUID) -> AttestationPackRecord:
    """Get a verification pack of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such pack.
    """
    query = select(*packs.c).where(packs.c.id == pack_id, packs.c.tenant_id == tenant_id)
    found = fetch_one(connection.execute(query), AttestationPackRecord)
    if found is None:
        raise NotFound("attestation pack", pack_id)
    return found


def count_packs(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's verification packs."""
    return int(execute(select(func.count()).select_from(packs).where(packs.c.tenant_id == tenant_id)).scalar_one())


def page_of_packs(
    connection: Connection, *, tenant_id: UUID, before: UUID | None, limit: int
) -> list[AttestationPackRecord]:
    """List the tenant's packs, newest first, starting after `before`."""
    query = select(*packs.c).where(packs.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(packs.c.id < before)
    return fetch_all(connection.execute(query.order_by(packs.c.id.desc()).limit(limit)), AttestationPackRecord)


def _has_status(status: Status, now: datetime) -> ColumnElement[bool]:
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
