"""Table of a tenant's settings of its agents."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class AgentSettingsRecord(NamedTuple):
    """What a tenant set for its agents; a tenant without a row has the defaults.

    `ownerless_grace_days` after the person who answered for an agent was removed, the agent is suspended.
    """

    tenant_id: Annotated[UUID, Field(primary_key=True, foreign_key="tenants.id")]
    ownerless_grace_days: int
    updated_at: datetime


AgentSettings = model_of(AgentSettingsRecord, "agent_settings")
