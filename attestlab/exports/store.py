"""Queries for status lists and badges: attestations that ended, what a withdrawn key signed, whose one is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, bindparam, func, literal_column, select

from attestlab.attestations.signing import EXTERNAL_MAX_AGE
from attestlab.attestations.store import attestations
from attestlab.attestations.verification.facts import read_logged_at
from attestlab.core.db.tables import fetch_all, iterate, table_of
from attestlab.issuers.rules import KeyStatus
from attestlab.issuers.store import keys
from attestlab.log.tables import LogLeaf

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)  # before every attestation; a reported compromise time may be earlier still
_leaves = table_of(LogLeaf)
_NEWEST = select(func.max(attestations.c.log_index)).where(attestations.c.issuer_id == bindparam("issuer_id"))
REVOKED_OR_SUPERSEDED = select(attestations.c.log_index).where(
    attestations.c.issuer_id == bindparam("issuer_id"),
    attestations.c.status.in_(
        [literal_column("'REVOKED'"), literal_column("'SUPERSEDED'")]
    ),  # literals, as in the partial index
)
_WITHDRAWN_KEYS = select(keys.c.tenant_id, keys.c.kid, keys.c.changed_index, keys.c.compromised_at).where(
    keys.c.issuer_id == bindparam("issuer_id"),
    keys.c.status.in_([KeyStatus.REVOKED.value, KeyStatus.COMPROMISED.value]),
)


class WithdrawnKey(NamedTuple):
    """A revoked or compromised key, the log index of that change, and the time from which it is compromised."""

    tenant_id: UUID
    kid: str
    changed_index: int | None
    compromised_at: datetime | None


class LoggedAttestation(NamedTuple):
    """The columns of an attestation that tell when it was logged."""

    log_index: int
    custody: str
    created_at: datetime
    entry: bytes


def newest_index(connection: Connection, issuer_id: UUID) -> int | None:
    """The log index of the issuer's newest attestation."""
    return connection.execute(_NEWEST, {"issuer_id": issuer_id}).scalar()


def revoked_or_superseded_indexes(connection: Connection, issuer_id: UUID) -> Sequence[int]:
    """The log indexes of the issuer's attestations that were revoked or superseded."""
    return connection.execute(REVOKED_OR_SUPERSEDED, {"issuer_id": issuer_id}).scalars().all()


def indexes_invalidated_by_key(connection: Connection, issuer_id: UUID) -> Iterator[int]:
    """The log indexes of attestations that are INVALID due to a withdrawn key, by the rule of `check_key`."""
    for key in fetch_all(connection.execute(_WITHDRAWN_KEYS, {"issuer_id": issuer_id}), WithdrawnKey):
        if key.compromised_at is None:
            yield from _logged_from_index(connection, key)
        else:
            yield from _logged_from_time(connection, key, key.compromised_at)


def _logged_from_index(connection: Connection, key: WithdrawnKey) -> Sequence[int]:
    late = attestations.c.log_index >= key.changed_index
    return connection.execute(select(attestations.c.log_index).where(*_signed_by(key), late)).scalars().all()


def _logged_from_time(connection: Connection, key: WithdrawnKey, moment: datetime) -> Iterator[int]:
    """Select by the logged time, since a holder of an external key can choose a `created_at` up to a day too early."""
    columns = (attestations.c.log_index, attestations.c.custody, attestations.c.created_at, _leaves.c.entry)
    query = select(*columns).join(_leaves, _leaves.c.index == attestations.c.log_index)
    earliest = max(moment, _EPOCH) - EXTERNAL_MAX_AGE
    maybe = query.where(*_signed_by(key), attestations.c.created_at >= earliest)
    return (
        row.log_index
        for row in iterate(connection.execute(maybe), LoggedAttestation)
        if read_logged_at(row.entry, custody=row.custody, created_at=row.created_at) >= moment
    )


def _signed_by(key: WithdrawnKey) -> tuple[ColumnElement[bool], ...]:
    return (attestations.c.tenant_id == key.tenant_id, attestations.c.kid == key.kid)


def find_issuer_id(connection: Connection, attestation_id: UUID) -> UUID | None:
    """Find the issuer of an attestation of any tenant; None if there is no such attestation."""
    return connection.execute(
        select(attestations.c.issuer_id).where(attestations.c.id == attestation_id)
    ).scalar_one_or_none()
