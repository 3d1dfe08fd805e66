"""The table of governance requests, and all queries of issuer governance; each names its columns and binds values."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Index,
    Label,
    and_,
    case,
    exists,
    extract,
    func,
    not_,
    or_,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlmodel import Field
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.attestations.rules import Status
from attestlab.attestations.store import attestations
from attestlab.consumer.inbox.store import items as inbox_items
from attestlab.core.db.tables import Execute, fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.errors import NotFound
from attestlab.core.filters import build_conditions
from attestlab.governance.rules import RequestStatus, RequestType
from attestlab.governance.shapes import RequestsQuery
from attestlab.issuers.rules import Custody, KeyStatus
from attestlab.issuers.store import keys
from attestlab.log.store import leaves


@short_repr
class IssuerRequestRecord(NamedTuple):
    """A request to change an issuer's status or ratings.

    `approvals` is a JSON array of `{user_id, approved_at}`. `impact` is a JSON object with the counts of affected
    attestations and keys, taken at the request, at each approval and at the execution.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    issuer_id: Annotated[UUID, Field(foreign_key="issuers.id", index=True)]
    type: Annotated[str, Field(max_length=20)]
    reason: Annotated[str, Field(max_length=1024)]
    new_trust_tier: Annotated[str | None, Field(max_length=12)]
    new_risk_rating: Annotated[str | None, Field(max_length=8)]
    status: Annotated[str, Field(max_length=8)]
    requested_by: Annotated[str, Field(max_length=64)]
    created_at: datetime
    approvals: Annotated[str, Field(max_length=2048)]
    impact: Annotated[str, Field(max_length=512)]
    rejected_by: Annotated[str | None, Field(max_length=64)] = None
    rejected_at: datetime | None = None
    rejection_reason: Annotated[str | None, Field(max_length=1024)] = None
    executed_by: Annotated[str | None, Field(max_length=64)] = None
    executed_at: datetime | None = None
    log_index: Annotated[int | None, Field(sa_type=BigInteger)] = None


IssuerRequest = model_of(
    IssuerRequestRecord, "issuer_requests", Index("ix_issuer_requests_of_tenant", "tenant_id", "id")
)


requests = table_of(IssuerRequest)

_ALL = func.count().label("attestations")


class MintedCount(NamedTuple):
    """The number of attestations of an issuer; `valid` are neither ended nor expired, nor logged after a key's loss."""

    attestations: int
    valid: int


class SchemaCount(NamedTuple):
    """The number of attestations with one schema."""

    schema: str
    attestations: int
    valid: int


class MonthCount(NamedTuple):
    """The number of attestations logged in one month (UTC)."""

    year: int
    month: int
    attestations: int
    valid: int


class RecipientCount(NamedTuple):
    """The number of attestations delivered to one recipient."""

    recipient: str
    attestations: int
    valid: int


def get(execute: Execute, request_id: UUID, *, tenant_id: UUID | None) -> IssuerRequestRecord:
    """Get a request of the tenant, or of any tenant if `tenant_id` is None, with all columns.

    Raises:
        NotFound: there is no such request.
    """
    query = select(*requests.c).where(requests.c.id == request_id)
    if tenant_id is not None:
        query = query.where(requests.c.tenant_id == tenant_id)
    row = fetch_one(execute(query), IssuerRequestRecord)
    if row is None:
        raise NotFound("issuer request", request_id)
    return row


def has_tier_decision(execute: Execute, issuer_id: UUID) -> bool:
    """Return whether a request to change the issuer's trust tier was ever executed."""
    done = (requests.c.type == RequestType.CHANGE_TRUST_TIER.value, requests.c.status == RequestStatus.EXECUTED.value)
    query = select(requests.c.id).where(requests.c.issuer_id == issuer_id, *done).limit(1)
    return execute(query).first() is not None


def page(
    connection: Connection, criteria: RequestsQuery, *, tenant_id: UUID | None, before: UUID | None, limit: int
) -> list[IssuerRequestRecord]:
    """List the requests of the tenant, or of all tenants if `tenant_id` is None, newest first."""
    query = select(*requests.c).where(*build_conditions(criteria, requests.c))
    if tenant_id is not None:
        query = query.where(requests.c.tenant_id == tenant_id)
    if before is not None:
        query = query.where(requests.c.id < before)
    return fetch_all(connection.execute(query.order_by(requests.c.id.desc()).limit(limit)), IssuerRequestRecord)


class _TimeOfEntry(FunctionElement[datetime]):
    """SQL function: the time in a log entry, comparable with the times of rows."""

    inherit_cache = True
    type = UTCDateTime()


@compiles(_TimeOfEntry, "sqlite")
def _compile_for_sqlite(element: _TimeOfEntry, compiler: SQLCompiler, **more: object) -> str:
    """Compile to text: SQLite stores times as text, and an entry has three decimals, a row six."""
    entry = compiler.process(element.clauses, **more)
    return f"replace(substr(json_extract(CAST({entry} AS TEXT), '$.at'), 1, 23), 'T', ' ') || '000'"


@compiles(_TimeOfEntry, "postgresql")
def _compile_for_postgresql(element: _TimeOfEntry, compiler: SQLCompiler, **more: object) -> str:
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


def _count_valid(now: datetime) -> Label[int]:
    """Count the valid attestations of a group: neither ended nor expired, nor logged after their key's loss."""
    columns = attestations.c
    in_time = or_(columns.expiry_at.is_(None), columns.expiry_at > now)
    holds = and_(columns.status == Status.VALID.value, in_time, not_(_is_logged_after_key_loss()))
    return func.coalesce(func.sum(case((holds, 1), else_=0)), 0).label("valid")


def _is_logged_after_key_loss() -> ColumnElement[bool]:
    """Build the condition that an attestation was logged after its key was revoked or compromised.

    It agrees with the key step of a verification.
    """
    its_key = (keys.c.tenant_id == attestations.c.tenant_id, keys.c.kid == attestations.c.kid)
    lost = keys.c.status.in_((KeyStatus.REVOKED.value, KeyStatus.COMPROMISED.value))
    by_time = and_(keys.c.compromised_at.is_not(None), keys.c.compromised_at <= _LOGGED_AT)
    by_order = and_(keys.c.compromised_at.is_(None), attestations.c.log_index >= keys.c.changed_index)
    return exists().where(*its_key, lost, or_(by_time, by_order))


def count_minted(execute: Execute, issuer_id: UUID, *, now: datetime) -> MintedCount:
    """Count the attestations of an issuer."""
    count, valid = execute(select(_ALL, _count_valid(now)).where(attestations.c.issuer_id == issuer_id)).one()
    return MintedCount(count, int(valid))  # PostgreSQL sums to a Decimal


def _build_filter(tenant_id: UUID, issuer_id: UUID, kid: str | None) -> list[ColumnElement[bool]]:
    mine = [attestations.c.tenant_id == tenant_id, attestations.c.issuer_id == issuer_id]
    return mine if kid is None else [*mine, attestations.c.kid == kid]


def count_by_schema(
    connection: Connection, tenant_id: UUID, issuer_id: UUID, kid: str | None, *, now: datetime
) -> Sequence[SchemaCount]:
    """Count the attestations of an issuer or key by schema, largest count first."""
    schema = attestations.c.schema_id.label("schema")
    query = select(schema, _ALL, _count_valid(now)).where(*_build_filter(tenant_id, issuer_id, kid)).group_by(schema)
    found = connection.execute(query.order_by(_ALL.desc(), schema))
    return [SchemaCount(name, count, int(valid)) for name, count, valid in found]


def count_by_month(
    connection: Connection, tenant_id: UUID, issuer_id: UUID, kid: str | None, *, now: datetime
) -> Sequence[MonthCount]:
    """Count attestations by month of their log entry (UTC), oldest first."""
    parts = (extract("year", _LOGGED_AT).label("year"), extract("month", _LOGGED_AT).label("month"))
    query = select(*parts, _ALL, _count_valid(now)).where(*_build_filter(tenant_id, issuer_id, kid)).group_by(*parts)
    found = connection.execute(query.order_by(*parts))
    return [MonthCount(int(year), int(month), count, int(valid)) for year, month, count, valid in found]


def count_by_recipient(
    connection: Connection, tenant_id: UUID, issuer_id: UUID, kid: str | None, *, now: datetime, limit: int
) -> Sequence[RecipientCount]:
    """Count attestations by their recipients, as the issuer named them, largest count first."""
    recipient = func.coalesce(inbox_items.c.recipient_email, inbox_items.c.username).label("recipient")
    query = select(recipient, _ALL, _count_valid(now)).join(
        inbox_items, inbox_items.c.attestation_id == attestations.c.id
    )
    query = query.where(*_build_filter(tenant_id, issuer_id, kid))
    found = connection.execute(query.group_by(recipient).order_by(_ALL.desc(), recipient).limit(limit))
    return [RecipientCount(name, count, int(valid)) for name, count, valid in found]
