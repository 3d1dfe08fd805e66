"""Table of the events that agents, or others about them, report."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Double, Index
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr
from attestlab.core.records.hash_chain import SEQUENCE_TYPE


@short_repr
class AgentEventRecord(NamedTuple):
    """What an agent did, as it was reported; it never changes.

    `seq` numbers the events of all tenants without gaps, in the order of their commits, and `hash` chains them.
    `attributes` is a JSON object. `session_id` is the session that the event is about, as the reporter states it.
    `reporting_session_id` is the agent's own session through which the event came; None if another reported it.
    """

    seq: Annotated[int, Field(primary_key=True, sa_type=SEQUENCE_TYPE, sa_column_kwargs={"autoincrement": False})]
    id: UUID
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    event_type: Annotated[str, Field(max_length=128)]
    status: Annotated[str, Field(max_length=5)]
    latency_ms: Annotated[float | None, Field(sa_type=Double)]
    attributes: Annotated[str, Field(max_length=8192)]
    session_id: UUID | None
    reporting_session_id: UUID | None
    occurred_at: datetime
    created_at: datetime
    hash: bytes = b""


AgentEvent = model_of(
    AgentEventRecord,
    "agent_events",
    Index("ix_agent_events_id", "id", unique=True),
    Index("ix_agent_events_of_agent", "agent_id", "occurred_at", "status"),
)
