"""Queries of protections; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import BigInteger, ColumnElement, Select, and_, cast, delete, exists, func, or_, select

from attestlab.attestations.rules import Status, compute_current_status
from attestlab.attestations.store import attestations
from attestlab.consumer.inbox.rules import DeliveryState
from attestlab.consumer.inbox.store import items as inbox_items
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, short_repr, table_of
from attestlab.core.db.upserts import Upsert
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.orgs.store import users
from attestlab.protections.rules import ProtectionSource, Visibility
from attestlab.protections.shapes import ProtectionsQuery
from attestlab.protections.tables import (
    PlatformIssuer,
    PlatformIssuerRecord,
    Protection,
    ProtectionDay,
    ProtectionDayRecord,
    ProtectionRecord,
)

protections = table_of(Protection)
days = table_of(ProtectionDay)
platform_issuers = table_of(PlatformIssuer)

_IS_HELD = exists().where(
    inbox_items.c.attestation_id == protections.c.attestation_id,
    inbox_items.c.user_id == protections.c.user_id,
    inbox_items.c.state == DeliveryState.DELIVERED.value,
)
_IS_OWN = protections.c.source == ProtectionSource.OWN.value
_IS_THERE = and_(protections.c.deleted_at.is_(None), or_(_IS_OWN, _IS_HELD))
"""A received credential that its recipient declines later is shown no longer."""
_COUNT = (
    select(cast(func.coalesce(func.sum(days.c.valid), 0), BigInteger))
    .where(days.c.protection_id == protections.c.id)
    .scalar_subquery()
)
_ATTESTED = (attestations.c.status, attestations.c.expiry_at, attestations.c.document_hash)
_SHOWN = (
    select(*protections.c, *_ATTESTED, _COUNT)
    .join(attestations, attestations.c.id == protections.c.attestation_id)
    .where(_IS_THERE)
)
ADD_VERIFICATIONS = Upsert(
    days,
    key=("protection_id", "day"),
    change=lambda new: {name: days.c[name] + new[name] for name in ("valid", "other")},
)


@short_repr
class AttestedProtection(NamedTuple):
    """A protection with its attestation, and the number of its VALID verifications."""

    row: ProtectionRecord
    attestation_id: UUID
    stored_status: str
    expiry_at: datetime | None
    document_hash: str | None
    verification_count: int

    @property
    def content_hash(self) -> str | None:
        """The hash of own content, or the one that a received credential names."""
        return self.row.content_hash or self.document_hash

    def status(self, now: datetime) -> Status:
        """Return the status of the attestation as of `now`."""
        return compute_current_status(Status(self.stored_status), self.expiry_at, now=now)


def get(execute: Execute, protection_id: UUID, *, user_id: UUID) -> AttestedProtection:
    """Return a protection of a consumer.

    Raises:
        NotFound: the consumer has no such protection, or it was deleted.
    """
    query = _SHOWN.where(protections.c.id == protection_id, protections.c.user_id == user_id)
    found = _fetch(execute, query)
    if not found:
        raise NotFound("protection", protection_id)
    return found[0]


def page(
    execute: Execute, query: ProtectionsQuery, *, user_id: UUID, before: UUID | None, limit: int
) -> Sequence[AttestedProtection]:
    """List protections of a consumer, newest first."""
    found = _SHOWN.where(protections.c.user_id == user_id, *build_conditions(query, protections.c))
    if before is not None:
        found = found.where(protections.c.id < before)
    return _fetch(execute, found.order_by(protections.c.id.desc()).limit(limit))


def count(execute: Execute, query: ProtectionsQuery, *, user_id: UUID) -> int:
    """Count the protections of a consumer that match."""
    matching = (protections.c.user_id == user_id, _IS_THERE, *build_conditions(query, protections.c))
    number: int = execute(select(func.count()).select_from(protections).where(*matching)).scalar_one()
    return number


def page_public(execute: Execute, user_id: UUID, *, before: UUID | None, limit: int) -> Sequence[AttestedProtection]:
    """List the public protections of a consumer, newest first."""
    return page(execute, ProtectionsQuery(visibility=Visibility.PUBLIC), user_id=user_id, before=before, limit=limit)


def find_by_hash(execute: Execute, content_hash: str, *, user_id: UUID) -> UUID | None:
    """Return the protection by which a consumer protects content with this hash."""
    return _find_id(execute, user_id, protections.c.content_hash == content_hash)


def find_by_attestation(execute: Execute, attestation_id: UUID, *, user_id: UUID) -> UUID | None:
    """Return the protection by which a consumer shows this attestation."""
    return _find_id(execute, user_id, protections.c.attestation_id == attestation_id)


def _find_id(execute: Execute, user_id: UUID, condition: ColumnElement[bool]) -> UUID | None:
    query = select(protections.c.id).where(protections.c.user_id == user_id, condition)
    found: UUID | None = execute(query).scalar()
    return found


def count_minted_since(execute: Execute, since: datetime, *, user_id: UUID) -> int:
    """Count the attestations that were minted for a consumer since then, also of deleted protections."""
    minted = (protections.c.user_id == user_id, _IS_OWN, protections.c.created_at >= since)
    query = select(func.count()).select_from(protections).where(*minted)
    number: int = execute(query).scalar_one()
    return number


def list_rows(execute: Execute, user_id: UUID) -> Sequence[ProtectionRecord]:
    """List all protections of a consumer that were not deleted, oldest first; also of declined credentials."""
    kept = (protections.c.user_id == user_id, protections.c.deleted_at.is_(None))
    query = select(*protections.c).where(*kept).order_by(protections.c.id)
    return fetch_all(execute(query), ProtectionRecord)


def select_protected(tenant_id: UUID) -> Select[UUID]:
    """Select the ids of the attestations that the protections of a consumer's tenant name."""
    account = select(users.c.id).where(users.c.tenant_id == tenant_id).scalar_subquery()
    return select(protections.c.attestation_id).where(protections.c.user_id == account, _IS_THERE)


def list_by_attestations(execute: Execute, attestation_ids: Collection[UUID]) -> Sequence[tuple[UUID, UUID]]:
    """List the protections that name one of these attestations, each with its attestation."""
    query = select(protections.c.id, protections.c.attestation_id)
    return [(row[0], row[1]) for row in execute(query.where(protections.c.attestation_id.in_(attestation_ids)))]


def list_days(execute: Execute, protection_id: UUID, *, since: date) -> Sequence[ProtectionDayRecord]:
    """List the days since then on which a protection was verified."""
    query = select(*days.c).where(days.c.protection_id == protection_id, days.c.day >= since)
    return fetch_all(execute(query), ProtectionDayRecord)


def delete_days(execute: Execute, protection_id: UUID) -> None:
    """Delete the counts of a protection that is deleted."""
    execute(delete(days).where(days.c.protection_id == protection_id))


def find_platform_issuer(execute: Execute, purpose: str) -> PlatformIssuerRecord | None:
    """Return the platform's issuer for a purpose."""
    query = select(*platform_issuers.c).where(platform_issuers.c.purpose == purpose)
    return fetch_one(execute(query), PlatformIssuerRecord)


def _fetch(execute: Execute, query: Select[tuple[object, ...]]) -> Sequence[AttestedProtection]:
    width = len(ProtectionRecord._fields)
    return [_make(ProtectionRecord._make(row[:width]), row[width:]) for row in execute(query)]


def _make(row: ProtectionRecord, attested: Sequence[object]) -> AttestedProtection:
    assert row.attestation_id is not None
    return AttestedProtection._make((row, row.attestation_id, *attested))
