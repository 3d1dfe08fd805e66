"""Reading of reported events, one of a body or many of lines: whose they are, and what may be stated."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

from attestlab.agents import rules as agent_rules
from attestlab.agents import store as agent_store
from attestlab.agents.observability.rules import MAX_ATTRIBUTES_BYTES
from attestlab.agents.observability.shapes import AgentEventIn
from attestlab.agents.observability.tables import AgentEventRecord
from attestlab.agents.sessions import store as session_store
from attestlab.core.db.storage import Storage
from attestlab.core.db.tables import Execute
from attestlab.core.errors import NotFound
from attestlab.core.ids import new_ids
from attestlab.orgs.rules import Caller
from attestlab.risk.numbering import UNNUMBERED
from attestlab.risk.rules import resolve_occurrence


class NewAgentEvent(NamedTuple):
    """An event to record; `attributes` is JSON as stored."""

    agent_id: UUID
    event_type: str
    status: str
    latency_ms: float | None
    attributes: str
    session_id: UUID | None
    reporting_session_id: UUID | None
    occurred_at: datetime


class Lookup(Protocol):
    """Requires that an agent is one of the caller's tenant, and the session one of the agent."""

    def __call__(self, agent_id: UUID, session_id: UUID | None, /) -> None: ...


class RememberedAgents:
    """Looks up each agent, and each session of one, once a request."""

    def __init__(self, storage: Storage, tenant_id: UUID) -> None:
        self._storage, self._tenant_id = storage, tenant_id
        self._known: set[tuple[UUID, UUID | None]] = set()

    def __call__(self, agent_id: UUID, session_id: UUID | None, /) -> None:
        """Require a known agent and session.

        Raises:
            NotFound: the tenant has no such agent, or the agent no such session.
        """
        if (agent_id, session_id) not in self._known:
            with self._storage.read() as connection:
                require_known(connection.execute, self._tenant_id, agent_id, session_id)
            self._known.add((agent_id, session_id))


def read_event(body: AgentEventIn, *, caller: Caller, look_up: Lookup, now: datetime) -> NewAgentEvent:
    """Read an event: an agent reports its own alone; people and keys those of any agent of their tenant.

    Raises:
        NotFound: the caller's tenant has no such agent, or the agent no such session.
        PermissionDenied: the caller is another agent.
        ValidationFailed: the time is in the future, or the attributes are too large.
    """
    agent_id = agent_rules.parse_agent_id(body.agent_id, tenant_id=caller.tenant_id)
    agent_rules.require_own(caller, agent_id, verb="report events of")
    own_session_id = UUID(caller.credential_id) if caller.actor_type == "AGENT" else None
    session_id = body.session_id or own_session_id
    attributes = agent_rules.encode_object("attributes", body.attributes or {}, MAX_ATTRIBUTES_BYTES)
    occurred_at = resolve_occurrence(body.occurred_at, now)
    look_up(agent_id, session_id)
    return NewAgentEvent(
        agent_id,
        body.event_type,
        body.status.value,
        body.latency_ms,
        attributes,
        session_id,
        own_session_id,
        occurred_at,
    )


def build_records(new: Sequence[NewAgentEvent], *, tenant_id: UUID, at: datetime) -> list[AgentEventRecord]:
    """Build the rows of events; they get their numbers at the end of the transaction."""
    ids = new_ids(at, len(new))
    return [
        AgentEventRecord(UNNUMBERED, event_id, tenant_id, *event, at) for event_id, event in zip(ids, new, strict=True)
    ]


def require_known(execute: Execute, tenant_id: UUID, agent_id: UUID, session_id: UUID | None) -> None:
    """Require an agent of the tenant and, if one is named, a session of the agent.

    Raises:
        NotFound: the tenant has no such agent, or the agent no such session.
    """
    agent_store.get(execute, agent_id, tenant_id=tenant_id)
    if session_id is None:
        return
    if session_store.get(execute, session_id, tenant_id=tenant_id).agent_id != agent_id:
        raise NotFound("session", session_id)
