"""Queries of rows that change, as they are now: columns are named, values are parameters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Table, and_, select

from attestlab.consumer.inbox.store import items as inbox_items
from attestlab.core.db.tables import Record, iterate
from attestlab.issuers.store import issuers
from attestlab.issuers.tables import IssuerRecord
from attestlab.policy.store import policies, versions
from attestlab.risk.enforcement.store import RiskCaseRecord, RiskChallengeRecord, cases, challenges

ROWS_PER_FETCH = 2_000
_DOCUMENTS_PER_FETCH = 20  # each up to a megabyte


class CurrentPolicy(NamedTuple):
    """A policy with its newest version."""

    id: UUID
    tenant_id: UUID
    name: str
    category: str
    target_type: str
    target_id: UUID | None
    status: str
    version: int
    active_version: int | None
    shadow_version: int | None
    created_at: datetime
    updated_at: datetime
    digest: str
    document: str


class DeliveredItem(NamedTuple):
    """The delivery of an attestation to one recipient, without what names them."""

    id: UUID
    tenant_id: UUID
    attestation_id: UUID
    issuer_id: UUID
    delivery_state: str
    created_at: datetime
    delivered_at: datetime | None
    declined_at: datetime | None


def select_issuers(connection: Connection, tenant_id: UUID) -> Iterator[IssuerRecord]:
    """Return the issuers of a tenant as they are now."""
    return _select_current(connection, issuers, IssuerRecord, tenant_id)


def select_cases(connection: Connection, tenant_id: UUID) -> Iterator[RiskCaseRecord]:
    """Return the cases of a tenant as they are now."""
    return _select_current(connection, cases, RiskCaseRecord, tenant_id)


def select_challenges(connection: Connection, tenant_id: UUID) -> Iterator[RiskChallengeRecord]:
    """Return the challenge decisions of a tenant."""
    return _select_current(connection, challenges, RiskChallengeRecord, tenant_id)


def select_inbox_items(connection: Connection, tenant_id: UUID) -> Iterator[DeliveredItem]:
    """Return the deliveries to recipients by a tenant's issuers as they are now."""
    names = {"delivery_state": "state"}
    columns = [inbox_items.c[names.get(name, name)] for name in DeliveredItem._fields]
    query = select(*columns).where(inbox_items.c.tenant_id == tenant_id)
    return iterate(connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)), DeliveredItem)


def select_policies(connection: Connection, tenant_id: UUID) -> Iterator[CurrentPolicy]:
    """Return the policies of a tenant as they are now, each with its newest version."""
    newest = and_(versions.c.policy_id == policies.c.id, versions.c.version == policies.c.version)
    columns = [*(policies.c[name] for name in CurrentPolicy._fields[:-2]), versions.c.digest, versions.c.document]
    query = select(*columns).join_from(policies, versions, newest).where(policies.c.tenant_id == tenant_id)
    return iterate(connection.execute(query.execution_options(yield_per=_DOCUMENTS_PER_FETCH)), CurrentPolicy)


def _select_current(connection: Connection, table: Table, kind: type[Record], tenant_id: UUID) -> Iterator[Record]:
    query = select(*(table.c[name] for name in kind._fields)).where(table.c.tenant_id == tenant_id)
    return iterate(connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)), kind)
