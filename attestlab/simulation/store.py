"""The table of simulation reports, and all queries of simulations to the records; every row is audited."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Index, Text, and_, or_, select
from sqlmodel import Field

from attestlab.core.db.tables import fetch_all, fetch_one, model_of, short_repr, table_of
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import NotFound
from attestlab.orgs.store import tenants
from attestlab.policy.language.document import TargetType
from attestlab.policy.store import policies, versions


@short_repr
class SimulationReportRecord(NamedTuple):
    """The results of a simulation, never changed: `report` is canonical JSON and `digest` its SHA-256 (hex).

    The other columns repeat the fields that an activation checks. `policy_id` is null for a document without a policy.
    """

    digest: Annotated[str, Field(primary_key=True, max_length=64)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    policy_id: Annotated[UUID | None, Field(foreign_key="policies.id")]
    document_digest: Annotated[str, Field(max_length=64)]
    baseline_digest: Annotated[str, Field(max_length=64)]
    unexpected_flips: int
    report: Annotated[str, Field(sa_type=Text)]
    made_by: Annotated[str, Field(max_length=64)]
    made_at: datetime


SimulationReport = model_of(
    SimulationReportRecord, "simulation_reports", Index("ix_simulation_reports_of_tenant", "tenant_id", "made_at")
)


reports = table_of(SimulationReport)


class OwnTarget(NamedTuple):
    """A target with specific active policies."""

    target_type: str
    target_id: UUID


class ActiveDigest(NamedTuple):
    """The digest of a policy's active version."""

    policy_id: UUID
    digest: str


def list_own_targets(connection: Connection, action: str, tenant_id: UUID) -> list[OwnTarget]:
    """Return every target with specific active policies for an action."""
    columns = (policies.c.target_type, policies.c.target_id)
    query = select(*columns).where(policies.c.tenant_id == tenant_id, policies.c.category == action)
    is_own = policies.c.target_type != TargetType.TENANT_DEFAULT.value
    query = query.where(is_own, policies.c.active_version.is_not(None)).distinct().order_by(*columns)
    return fetch_all(connection.execute(query), OwnTarget)


def list_active_digests(connection: Connection, action: str, tenant_id: UUID) -> list[ActiveDigest]:
    """Return the digest of every active version for an action: the tenant's, and the platform's."""
    is_active = and_(versions.c.policy_id == policies.c.id, versions.c.version == policies.c.active_version)
    is_platform = and_(tenants.c.is_operator, policies.c.target_type == TargetType.TENANT_DEFAULT.value)
    found = connection.execute(
        select(versions.c.policy_id, versions.c.digest)
        .join(policies, is_active)
        .join(tenants, tenants.c.id == policies.c.tenant_id)
        .where(policies.c.category == action, or_(policies.c.tenant_id == tenant_id, is_platform))
        .order_by(versions.c.policy_id)
    )
    return fetch_all(found, ActiveDigest)


def get_report(connection: Connection, digest: str, *, tenant_id: UUID) -> SimulationReportRecord:
    """Return a report of the tenant.

    Raises:
        NotFound: the tenant has no such report.
    """
    query = select(*reports.c).where(reports.c.digest == digest, reports.c.tenant_id == tenant_id)
    row = fetch_one(connection.execute(query), SimulationReportRecord)
    if row is None:
        raise NotFound("simulation report", "of this digest")
    return row


def find_report(tx: Transaction, digest: str, policy_id: UUID) -> SimulationReportRecord | None:
    """Return a report on a version of this policy, made by its own tenant, or None."""
    own = and_(policies.c.id == reports.c.policy_id, policies.c.tenant_id == reports.c.tenant_id)
    query = select(*reports.c).join(policies, own).where(reports.c.digest == digest, policies.c.id == policy_id)
    return fetch_one(tx.exec(query), SimulationReportRecord)
