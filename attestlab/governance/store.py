"""Queries of issuer governance; every query names its columns and binds values as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, and_, case, exists, extract, func, not_, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.attestations.rules import Status
from attestlab.attestations.store import attestations
from attestlab.core.db.tables import Execute, table_of
from attestlab.core.db.transaction import AnyRow
from attestlab.core.errors import NotFound
from attestlab.delivery.store import deliveries
from attestlab.governance.rules import RequestStatus, RequestType
from attestlab.governance.tables import IssuerRequest
from attestlab.issuers.rules import Custody, KeyStatus
from attestlab.issuers.store import keys
from attestlab.log.store import leaves

requests = table_of(IssuerRequest)

_ALL = func.count().label("attestations")


def get(execute: Execute, request_id: UUID, *, tenant_id: UUID | None) -> dict[str, Any]:
    """Get a request of the tenant, or of any tenant if `tenant_id` is None, with all columns.

    Raises:
        NotFound: there is no such request.
    """
    query = select(*requests.c).where(requests.c.id == request_id)
    if tenant_id is not None:
        query = query.where(requests.c.tenant_id == tenant_id)
    row = execute(query).mappings().first()
    if row is None:
        raise NotFound("issuer request", request_id)
    return dict(row)


def has_tier_decision(execute: Execute, issuer_id: UUID) -> bool:
    """Return whether a request to change the issuer's trust tier was ever executed."""
    done = (requests.c.type == RequestType.CHANGE_TRUST_TIER.value, requests.c.status == RequestStatus.EXECUTED.value)
    query = select(requests.c.id).where(requests.c.issuer_id == issuer_id, *done).limit(1)
    return execute(query).first() is not None


def page(
    connection: Connection,
    *,
    tenant_id: UUID | None,
    issuer_id: UUID | None,
    status: str | None,
    before: UUID | None,
    limit: int,
) -> list[dict[str, Any]]:
    """List the requests of the tenant, or of all tenants if `tenant_id` is None, newest first."""
    equal = {requests.c.tenant_id: tenant_id, requests.c.issuer_id: issuer_id, requests.c.status: status}
    query = select(*requests.c).where(*(column == value for column, value in equal.items() if value is not None))
    if before is not None:
        query = query.where(requests.c.id < before)
    return [dict(row) for row in connection.execute(query.order_by(requests.c.id.desc()).limit(limit)).mappings()]


class _TimeOfEntry(FunctionElement[datetime]):
    """SQL function: the time in a log entry, comparable with the times of rows."""

    inherit_cache = True
    type = UTCDateTime()


@compiles(_TimeOfEntry, "sqlite")
def _compile_for_sqlite(element: _TimeOfEntry, compiler: SQLCompiler, **more: Any) -> str:
    """Compile to text: SQLite stores times as text, and an entry has three decimals, a row six."""
    entry = compiler.process(element.clauses, **more)
    return f"replace(substr(json_extract(CAST({entry} AS TEXT), '$.at'), 1, 23), 'T', ' ') || '000'"


@compiles(_TimeOfEntry, "postgresql")
def _compile_for_postgresql(element: _TimeOfEntry, compiler: SQLCompiler, **more: Any) -> str:
    entry = compiler.process(element.clauses, **more)
    return f"CAST(convert_from({entry}, 'UTF8')::json ->> 'at' AS TIMESTAMP WITH TIME ZONE)"


_ENTRY_TIME = (
    select(_TimeOfEntry(leaves.c.entry))
    .where(leaves.c.index == attestations.c.log_index)
    .correlate(attestations)
    .scalar_subquery()
)
# The holder of an external key chooses `created_at`; for managed keys it equals the time of the log entry.
_LOGGED_AT = case((attestations.c.custody == Custody.EXTERNAL.value, _ENTRY_TIME), else_=attestations.c.created_at)


def _count_valid(now: datetime) -> Any:
    """Count the valid attestations of a group: neither ended nor expired, nor logged after their key's loss."""
    columns = attestations.c
    in_time = or_(columns.expiry_at.is_(None), columns.expiry_at > now)
    holds = and_(columns.status == Status.VALID.value, in_time, not_(_is_logged_after_key_loss()))
    return func.coalesce(func.sum(case((holds, 1), else_=0)), 0).label("valid")


def _is_logged_after_key_loss() -> Any:
    """Build the condition that an attestation was logged after its key was revoked or compromised.

    It agrees with the key step of a verification.
    """
    its_key = (keys.c.tenant_id == attestations.c.tenant_id, keys.c.kid == attestations.c.kid)
    lost = keys.c.status.in_((KeyStatus.REVOKED.value, KeyStatus.COMPROMISED.value))
    by_time = and_(keys.c.compromised_at.is_not(None), keys.c.compromised_at <= _LOGGED_AT)
    by_order = and_(keys.c.compromised_at.is_(None), attestations.c.log_index >= keys.c.changed_index)
    return exists().where(*its_key, lost, or_(by_time, by_order))


def count_minted(execute: Execute, issuer_id: UUID, *, now: datetime) -> AnyRow:
    """Count the attestations of an issuer, as `(attestations, valid)`."""
    return execute(select(_ALL, _count_valid(now)).where(attestations.c.issuer_id == issuer_id)).one()


def _build_filter(tenant_id: UUID, issuer_id: UUID, kid: str | None) -> list[Any]:
    mine = [attestations.c.tenant_id == tenant_id, attestations.c.issuer_id == issuer_id]
    return mine if kid is None else [*mine, attestations.c.kid == kid]


def count_by_schema(
    connection: Connection, tenant_id: UUID, issuer_id: UUID, kid: str | None, *, now: datetime
) -> Sequence[AnyRow]:
    """Count the attestations of an issuer or key as `(schema, attestations, valid)`, largest count first."""
    schema = attestations.c.schema_id.label("schema")
    query = select(schema, _ALL, _count_valid(now)).where(*_build_filter(tenant_id, issuer_id, kid)).group_by(schema)
    return connection.execute(query.order_by(_ALL.desc(), schema)).all()


def count_by_month(
    connection: Connection, tenant_id: UUID, issuer_id: UUID, kid: str | None, *, now: datetime
) -> Sequence[AnyRow]:
    """Count attestations by month of their log entry (UTC) as `(year, month, attestations, valid)`, oldest first."""
    parts = [extract(part, _LOGGED_AT).label(part) for part in ("year", "month")]
    query = select(*parts, _ALL, _count_valid(now)).where(*_build_filter(tenant_id, issuer_id, kid)).group_by(*parts)
    return connection.execute(query.order_by(*parts)).all()


def count_by_recipient(
    connection: Connection, tenant_id: UUID, issuer_id: UUID, kid: str | None, *, now: datetime, limit: int
) -> Sequence[AnyRow]:
    """Count attestations by the recipient of their delivery as `(recipient, attestations, valid)`, largest first."""
    recipient = deliveries.c.recipient_email.label("recipient")
    query = select(recipient, _ALL, _count_valid(now)).join(
        deliveries, deliveries.c.attestation_id == attestations.c.id
    )
    query = query.where(*_build_filter(tenant_id, issuer_id, kid))
    return connection.execute(query.group_by(recipient).order_by(_ALL.desc(), recipient).limit(limit)).all()
