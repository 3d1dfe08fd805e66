"""Rows of agents and all that belongs to them for analysis; without names of people and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import orjson
from sqlalchemy import Connection, Row, Table, select

from attestlab.agents import store
from attestlab.agents.compliance.store import checks
from attestlab.agents.compliance.tables import ComplianceCheckRecord
from attestlab.agents.delegation.store import delegations
from attestlab.agents.rules import format_agent_id
from attestlab.agents.sessions.store import sessions
from attestlab.agents.witnessing.store import requests, votes
from attestlab.core.db.tables import iterate

ROWS_PER_FETCH = 2_000


class AgentRow(NamedTuple):
    """An agent without its description and metadata; `agent_id` is its id in protocols."""

    id: UUID
    agent_id: str
    tenant_id: UUID
    agent_type: str
    display_name: str
    status: str
    scopes: list[str]
    delegated_scopes: list[str] | None
    delegated_until: datetime | None
    parent_agent_id: UUID | None
    delegation_depth: int
    custody: str
    key_id: str
    discoverable: bool
    trust_score: float
    created_by_user_id: UUID | None
    owner_user_id: UUID | None
    owner_left_at: datetime | None
    expires_at: datetime | None
    status_changed_at: datetime | None
    changed_index: int | None
    created_at: datetime
    updated_at: datetime


class AgentSessionRow(NamedTuple):
    """A session of an agent without its audience, metadata and token."""

    id: UUID
    tenant_id: UUID
    agent_id: UUID
    scopes: list[str]
    opened_by: str
    on_behalf_of: UUID | None
    expires_at: datetime
    refresh_until: datetime
    ended_at: datetime | None
    ended_because: str | None
    created_at: datetime


class DelegationRow(NamedTuple):
    """A delegation without its signed hop."""

    id: UUID
    tenant_id: UUID
    parent_agent_id: UUID
    child_agent_id: UUID
    previous_id: UUID | None
    depth: int
    scopes: list[str]
    kid: str
    log_index: int
    expires_at: datetime
    revoked_at: datetime | None
    revoked_because: str | None
    revoked_index: int | None
    created_at: datetime


class ComplianceFindingRow(NamedTuple):
    """The answer of one control, with the check that it belongs to."""

    id: UUID
    check_id: UUID
    tenant_id: UUID
    entity_type: str
    entity_id: UUID
    regulation: str
    check_status: str
    control: str
    severity: str
    passed: bool
    title: str
    evidence: str
    created_at: datetime


class VoteRow(NamedTuple):
    """A vote without its signed text and evidence, and the request that it is about."""

    id: UUID
    tenant_id: UUID
    request_id: UUID
    agent_id: UUID
    originator_agent_id: UUID
    subject: str
    claim_type: str
    claim_value: str
    verdict: str
    confidence: float | None
    kid: str
    request_status: str
    required_votes: int
    decided_at: datetime | None
    created_at: datetime


def select_agents(connection: Connection, tenant_id: UUID) -> Iterator[AgentRow]:
    """Return the agents of a tenant as they are now."""
    for row in _select(connection, store.agents, AgentRow._fields, tenant_id):
        values = row._asdict()
        delegated = values["delegated_scopes"]
        yield AgentRow(
            **values
            | {
                "agent_id": format_agent_id(row.id, row.tenant_id),
                "scopes": row.scopes.split(),
                "delegated_scopes": None if delegated is None else delegated.split(),
            }
        )


def select_sessions(connection: Connection, tenant_id: UUID) -> Iterator[AgentSessionRow]:
    """Return the sessions of a tenant's agents as they are now."""
    for row in _select(connection, sessions, AgentSessionRow._fields, tenant_id):
        yield AgentSessionRow(**row._asdict() | {"scopes": row.scopes.split()})


def select_delegations(connection: Connection, tenant_id: UUID) -> Iterator[DelegationRow]:
    """Return the delegations between a tenant's agents as they are now."""
    for row in _select(connection, delegations, DelegationRow._fields, tenant_id):
        yield DelegationRow(**row._asdict() | {"scopes": row.scopes.split()})


def select_findings(connection: Connection, tenant_id: UUID) -> Iterator[ComplianceFindingRow]:
    """Return the findings of a tenant's compliance checks."""
    query = select(*checks.c).where(checks.c.tenant_id == tenant_id).order_by(checks.c.id)
    for check in iterate(connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)), ComplianceCheckRecord):
        for finding in orjson.loads(check.findings):
            yield ComplianceFindingRow(
                id=UUID(finding.pop("finding_id")),
                check_id=check.id,
                tenant_id=check.tenant_id,
                entity_type=check.entity_type,
                entity_id=check.entity_id,
                regulation=check.regulation,
                check_status=check.status,
                **finding,
                created_at=check.created_at,
            )


def select_votes(connection: Connection, tenant_id: UUID) -> Iterator[VoteRow]:
    """Return the votes of a tenant's agents, each with its request as it is recorded now."""
    renamed = {"request_status": "status"}
    columns = [votes.c[name] if name in votes.c else requests.c[renamed.get(name, name)] for name in VoteRow._fields]
    query = select(*columns).join(requests, requests.c.id == votes.c.request_id).where(votes.c.tenant_id == tenant_id)
    for row in connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH)):
        yield VoteRow(*row)


def _select(
    connection: Connection, table: Table, fields: tuple[str, ...], tenant_id: UUID
) -> Iterator[Row[tuple[object, ...]]]:
    """Select the columns of a table that a kind of row has."""
    columns = [table.c[name] for name in fields if name in table.c]
    query = select(*columns).where(table.c.tenant_id == tenant_id)
    yield from connection.execute(query.execution_options(yield_per=ROWS_PER_FETCH))
