"""Queries on issuers, keys and logos; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, Connection, String, Uuid, and_, any_, bindparam, func, select

from attestlab.core.crypto.signing import Algorithm
from attestlab.core.db.foreseen_reads import KeyRows
from attestlab.core.db.tables import Execute, Result, fetch_all, fetch_one, iterate, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.issuers.rules import Custody, IssuerStatus, KeyStatus
from attestlab.issuers.tables import Issuer, IssuerKey, IssuerKeyRecord, IssuerLogo, IssuerLogoRecord, IssuerRecord

issuers = table_of(Issuer)
keys = table_of(IssuerKey)

logos = table_of(IssuerLogo)


_SIGNING = select(
    keys.c.tenant_id,
    keys.c.issuer_id,
    keys.c.kid,
    keys.c.alg,
    keys.c.spki,
    keys.c.sealed,
    keys.c.custody,
    keys.c.status,
    keys.c.created_at,
    issuers.c.status.label("issuer_status"),
    issuers.c.trust_tier,
    issuers.c.risk_rating,
    issuers.c.jurisdiction,
).join(issuers, issuers.c.id == keys.c.issuer_id)


class KeyPlace(NamedTuple):
    """What identifies a key: an issuer's name for it may be another issuer's too."""

    tenant_id: UUID
    issuer_id: UUID
    kid: str


_NAMES = select(issuers.c.id, issuers.c.name).where(issuers.c.id == any_(bindparam("ids", type_=ARRAY(Uuid()))))
_places = KeyRows(tenant_id=Uuid(), issuer_id=Uuid(), kid=String())
_SIGNING_AT = _SIGNING.where(*(keys.c[name] == bindparam(name) for name in KeyPlace._fields))
_SIGNING_AT_ALL = _SIGNING.join(_places.rows, and_(*(keys.c[name] == _places.c[name] for name in KeyPlace._fields)))


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key with its issuer's status and ratings: everything that a mint needs of both."""

    tenant_id: UUID
    issuer_id: UUID
    kid: str
    alg: Algorithm
    spki: bytes = field(repr=False)
    sealed: bytes | None = field(repr=False)
    custody: Custody
    status: KeyStatus
    created_at: datetime
    issuer_status: IssuerStatus
    trust_tier: str
    risk_rating: str
    jurisdiction: str | None


def find_signing_key(execute: Execute, place: KeyPlace) -> SigningKey | None:
    """Find the tenant's key of an issuer, with the issuer's status and ratings, in one query."""
    return next(_make_signing_keys(execute(_SIGNING_AT, place._asdict())), None)


def find_signing_keys(execute: Execute, places: Collection[KeyPlace]) -> dict[KeyPlace, SigningKey]:
    """Find several keys like `find_signing_key`, on PostgreSQL; leaves out those that do not exist."""
    found = _make_signing_keys(execute(_SIGNING_AT_ALL, _places.bind(places)))
    return {KeyPlace(key.tenant_id, key.issuer_id, key.kid): key for key in found}


def _make_signing_keys(rows: Result) -> Iterator[SigningKey]:
    for row in rows:
        yield SigningKey(
            row[0],
            row[1],
            row[2],
            Algorithm(row[3]),
            row[4],
            row[5],
            Custody(row[6]),
            KeyStatus(row[7]),
            row[8],
            IssuerStatus(row[9]),
            row[10],
            row[11],
            row[12],
        )


def get(execute: Execute, issuer_id: UUID, *, tenant_id: UUID) -> IssuerRecord:
    """Get an issuer of the tenant; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such issuer.
    """
    query = select(*issuers.c).where(issuers.c.id == issuer_id, issuers.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), IssuerRecord)
    if row is None:
        raise NotFound("issuer", issuer_id)
    return row


def find_name(execute: Execute, issuer_id: UUID) -> str | None:
    """Return the name of an issuer of any tenant."""
    name: str | None = execute(select(issuers.c.name).where(issuers.c.id == issuer_id)).scalar()
    return name


def find_names(execute: Execute, issuer_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the names of these issuers of any tenant, on PostgreSQL; leaves out those that do not exist."""
    return {row[0]: row[1] for row in execute(_NAMES, {"ids": list(issuer_ids)})}


def page(
    connection: Connection, *, tenant_id: UUID, before: UUID | None, offset: int, limit: int
) -> list[IssuerRecord]:
    """List the tenant's issuers, newest first, starting after `before`."""
    query = select(*issuers.c).where(issuers.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(issuers.c.id < before)
    newest_first = query.order_by(issuers.c.id.desc()).limit(limit).offset(offset)
    return fetch_all(connection.execute(newest_first), IssuerRecord)


def page_of_all(tx: Transaction, *, after: UUID | None, limit: int) -> list[IssuerRecord]:
    """List the issuers of all tenants by id, starting after `after`."""
    query = select(*issuers.c).order_by(issuers.c.id).limit(limit)
    if after is not None:
        query = query.where(issuers.c.id > after)
    return fetch_all(tx.exec(query), IssuerRecord)


def exists(connection: Connection, issuer_id: UUID) -> bool:
    """Return whether any tenant has this issuer."""
    return connection.execute(select(issuers.c.id).where(issuers.c.id == issuer_id)).first() is not None


def find_logo(execute: Execute, issuer_id: UUID) -> IssuerLogoRecord | None:
    """Find the logo of an issuer of any tenant; a removed logo has empty content."""
    return fetch_one(execute(select(*logos.c).where(logos.c.issuer_id == issuer_id)), IssuerLogoRecord)


def count(execute: Execute, tenant_id: UUID) -> int:
    """Count the tenant's issuers, without revoked ones, which can never mint again."""
    usable = (issuers.c.tenant_id == tenant_id, issuers.c.status != IssuerStatus.REVOKED.value)
    number: int = execute(select(func.count()).select_from(issuers).where(*usable)).scalar_one()
    return number


def count_usable_keys(execute: Execute, issuer_id: UUID) -> int:
    """Count the active and pending keys of an issuer."""
    usable = (KeyStatus.ACTIVE.value, KeyStatus.PENDING.value)
    mine = (keys.c.issuer_id == issuer_id, keys.c.status.in_(usable))
    number: int = execute(select(func.count()).select_from(keys).where(*mine)).scalar_one()
    return number


def list_managed_keys(tx: Transaction) -> list[IssuerKeyRecord]:
    """List the managed keys of all tenants, with all columns."""
    sealed = select(*keys.c).where(keys.c.sealed.is_not(None)).order_by(keys.c.tenant_id, keys.c.kid)
    return fetch_all(tx.exec(sealed), IssuerKeyRecord)


def list_keys(execute: Execute, issuer_ids: Sequence[UUID]) -> dict[UUID, list[IssuerKeyRecord]]:
    """List the keys of several issuers by issuer id, oldest first."""
    by_issuer: dict[UUID, list[IssuerKeyRecord]] = {issuer_id: [] for issuer_id in issuer_ids}
    query = select(*keys.c).where(keys.c.issuer_id.in_(issuer_ids)).order_by(keys.c.created_at, keys.c.kid)
    for row in iterate(execute(query), IssuerKeyRecord):
        by_issuer[row.issuer_id].append(row)
    return by_issuer


def get_key(execute: Execute, kid: str, *, tenant_id: UUID) -> IssuerKeyRecord:
    """Get a key of the tenant with all columns; those of other tenants are not found.

    Raises:
        NotFound: the tenant has no such key.
    """
    query = select(*keys.c).where(keys.c.tenant_id == tenant_id, keys.c.kid == kid)
    row = fetch_one(execute(query), IssuerKeyRecord)
    if row is None:
        raise NotFound("signing key", kid)
    return row


def find_prepared_key(execute: Execute, issuer_id: UUID, spki: bytes) -> IssuerKeyRecord | None:
    """Find the issuer's pending key with this public key, with all columns."""
    mine = (keys.c.issuer_id == issuer_id, keys.c.status == KeyStatus.PENDING.value, keys.c.spki == spki)
    return fetch_one(execute(select(*keys.c).where(*mine)), IssuerKeyRecord)


def find_kid(tx: Transaction, *, tenant_id: UUID, spki: bytes) -> str | None:
    """Find the kid of a public key in the tenant, whatever the key's status; None if it is unknown."""
    kid: str | None = tx.exec(select(keys.c.kid).where(keys.c.tenant_id == tenant_id, keys.c.spki == spki)).scalar()
    return kid


def is_kid_taken(tx: Transaction, *, tenant_id: UUID, kid: str) -> bool:
    """Return whether the tenant has a key with this kid, including buffered inserts of this transaction."""
    query = select(keys.c.kid).where(keys.c.tenant_id == tenant_id, keys.c.kid == kid)
    return tx.exec(query).first() is not None
