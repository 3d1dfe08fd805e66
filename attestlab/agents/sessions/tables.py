"""Tables of the sessions of agents, their refresh tokens, their last uses, and the assertions that opened them."""

from datetime import datetime
from typing import Annotated, NamedTuple
from uuid import UUID

from sqlalchemy import Index, text
from sqlmodel import Field

from attestlab.core.db.tables import model_of, short_repr


@short_repr
class AgentSessionRecord(NamedTuple):
    """A session of an agent. Only the SHA-256 of its token is stored.

    `scopes` are separated by spaces, `audience` is a JSON array of URLs, `extra` a JSON object. `user_session_id` is
    the session of the person on whose behalf the agent acts; the agent's session is valid as long as that one.
    `expires_at` is the end of the current token; a refresh moves it, up to `refresh_until`.
    """

    id: Annotated[UUID, Field(primary_key=True)]
    tenant_id: Annotated[UUID, Field(foreign_key="tenants.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    scopes: str
    audience: str
    extra: str
    on_behalf_of: Annotated[UUID | None, Field(foreign_key="users.id")]
    user_session_id: Annotated[UUID | None, Field(foreign_key="sessions.id")]
    opened_by: Annotated[str, Field(max_length=16)]
    ttl_minutes: int
    token_sha256: Annotated[bytes, Field(unique=True, repr=False)]
    expires_at: datetime
    refresh_until: datetime
    created_at: datetime
    ended_at: datetime | None = None
    ended_because: Annotated[str | None, Field(max_length=16)] = None


_OPEN = "ended_at IS NULL"
AgentSession = model_of(
    AgentSessionRecord,
    "agent_sessions",
    Index("ix_agent_sessions_of_tenant", "tenant_id", "id"),
    Index("ix_agent_sessions_of_agent", "agent_id", "id"),
    Index("ix_agent_sessions_open", "agent_id", "expires_at", sqlite_where=text(_OPEN)),
)


@short_repr
class AgentRefreshTokenRecord(NamedTuple):
    """A refresh token of an agent's session, used once; only the SHA-256 of its secret is stored."""

    id: Annotated[UUID, Field(primary_key=True)]
    session_id: Annotated[UUID, Field(foreign_key="agent_sessions.id", index=True)]
    secret_sha256: Annotated[bytes, Field(unique=True, repr=False)]
    created_at: datetime
    used_at: datetime | None = None


AgentRefreshToken = model_of(AgentRefreshTokenRecord, "agent_refresh_tokens")


@short_repr
class AgentSessionUseRecord(NamedTuple):
    """When a session was last used, within some seconds; a lost row loses only this."""

    session_id: Annotated[UUID, Field(primary_key=True, foreign_key="agent_sessions.id")]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    last_used_at: datetime


AgentSessionUse = model_of(
    AgentSessionUseRecord, "agent_session_uses", Index("ix_agent_session_uses_of_agent", "agent_id", "last_used_at")
)


@short_repr
class AgentAssertionRecord(NamedTuple):
    """An assertion that opened a session, so that it opens no second one; kept until it expires."""

    digest: Annotated[bytes, Field(primary_key=True)]
    agent_id: Annotated[UUID, Field(foreign_key="agents.id")]
    expires_at: Annotated[datetime, Field(index=True)]


AgentAssertion = model_of(AgentAssertionRecord, "agent_assertions")
