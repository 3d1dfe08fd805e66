"""Wire models of agents' sessions (CONTRACT 11.9)."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from attestlab.agents.sessions.rules import (
    DEFAULT_TTL_MINUTES,
    MAX_ASSERTION_CHARS,
    MAX_AUDIENCES,
    MAX_TTL_MINUTES,
    AgentSessionStatus,
)
from attestlab.agents.shapes import AgentObject, AgentReason, AgentScopes, HttpUrl
from attestlab.core.filters import NO_CONDITION, Filters, Where
from attestlab.core.shapes import In, Moment, Out, SecretText, Uuid, one_of
from attestlab.web.paging import PageQuery

SessionToken = Annotated[str, StringConstraints(min_length=1, max_length=256)]


class AgentSessionIn(In, wire_name="agent_session_input", source="CONTRACT 11.9"):
    """A session to open: by a credential with `agent_id`, or by the agent itself with `assertion`."""

    agent_id: Uuid | None = None
    """The agent; left out with an assertion, which names it. Format: UUID, 36 characters."""
    assertion: Annotated[str, StringConstraints(min_length=1, max_length=MAX_ASSERTION_CHARS)] | None = None
    """In place of a credential: a JWT by the agent's own key, of the type agent-assertion+jwt, with iss and sub the
    agent's id, aud the URL of this route, exp within five minutes, and jti. Format: compact JWS, RFC 7515.
    """
    scopes: AgentScopes | None = None
    """What the session may do; by default all that the agent may. Format: at most 64 scopes."""
    ttl_minutes: Annotated[int, Field(ge=1, le=MAX_TTL_MINUTES)] = DEFAULT_TTL_MINUTES
    """How long a token lives. Format: 1-1440 minutes, by default 60."""
    audience: Annotated[list[HttpUrl], Field(max_length=MAX_AUDIENCES)] = Field(default_factory=list)
    """The servers that the tokens are for. Format: at most 5 URLs."""
    metadata: AgentObject = Field(default_factory=dict)
    """The tenant's own data. Format: JSON object, at most 16 KB."""
    on_behalf_of: bool = False
    """Whether the agent acts for the signed-in person, within their rights and as long as their session lasts.
    Format: true or false.
    """


class AgentSessionRefreshIn(In, source="CONTRACT 11.9"):
    """The refresh token of a session, which is used once."""

    refresh_token: SessionToken
    """The token. Format: alr_ and 32 characters."""


class AgentSessionEndIn(In, source="CONTRACT 11.9"):
    """Why a session ends."""

    reason: AgentReason | None = None
    """The reason, for the audit trail. Format: text, 1-1000 characters."""


class AgentTokenIn(In, wire_name="agent_introspection_input", source="CONTRACT 11.9"):
    """A token that a server of the tenant was sent."""

    token: SessionToken
    """The token. Format: als_ and 32 characters."""


class AgentSessionOut(Out, wire_name="agent_session", source="CONTRACT 11.9"):
    """A session of an agent."""

    id: Uuid
    """The session. Format: UUID, 36 characters."""
    agent_id: Uuid
    """The agent. Format: UUID, 36 characters."""
    status: Annotated[str, one_of(AgentSessionStatus)]
    """Whether its token is valid. Format: active, expired or terminated."""
    scopes: list[str]
    """What it may do, within what the agent may. Format: allows, then denies after !."""
    audience: list[str]
    """The servers that its tokens are for. Format: at most 5 URLs."""
    on_behalf_of: Uuid | None
    """The person for whom the agent acts. Format: UUID, 36 characters."""
    metadata: AgentObject
    """The tenant's own data. Format: JSON object, at most 16 KB."""
    expires_at: Moment
    """Until when its token is valid. Format: RFC 3339 date-time, UTC, milliseconds."""
    created_at: Moment
    """When it was opened. Format: RFC 3339 date-time, UTC, milliseconds."""
    last_used_at: Moment | None
    """When it was last used, within some seconds. Format: RFC 3339 date-time, UTC, milliseconds."""


class AgentTokensOut(Out, wire_name="agent_session_tokens", source="CONTRACT 11.9"):
    """A session with its tokens, which are shown once."""

    session: AgentSessionOut
    """The session."""
    token: SecretText
    """The token for the agent's requests. Format: als_ and 32 characters."""
    refresh_token: SecretText
    """The token for the next refresh, which is used once. Format: alr_ and 32 characters."""
    token_type: Literal["Bearer"]
    """The scheme of the Authorization header. Format: Bearer."""
    expires_in: int
    """The lifetime of the token. Format: seconds."""


class AgentIntrospectionOut(Out, wire_name="agent_introspection", source="CONTRACT 11.9"):
    """What a token may do now (RFC 7662); of one that is not valid only that."""

    active: bool
    """Whether the token is valid now. Format: true or false."""
    agent_id: Uuid | None = None
    """The agent. Format: UUID, 36 characters."""
    scopes: list[str] | None = None
    """What it may do. Format: resource:action or resource:*."""
    denied_scopes: list[str] | None = None
    """What it may never do. Format: resource:action or resource:*."""
    audience: list[str] | None = None
    """The servers that it is for. Format: at most 5 URLs."""
    on_behalf_of: Uuid | None = None
    """The person for whom the agent acts. Format: UUID, 36 characters."""
    delegation_id: Uuid | None = None
    """The delegation that limits the agent; null while it has none. Format: UUID, 36 characters."""
    expires_at: Moment | None = None
    """Until when it is valid. Format: RFC 3339 date-time, UTC, milliseconds."""


class AgentSessionsQuery(PageQuery, Filters, wire_name="agent_sessions_query", source="CONTRACT 11.9"):
    """Filters of the list of sessions."""

    agent_id: Annotated[Uuid | None, Where("agent_id")] = None
    """Only sessions of this agent. Format: UUID, 36 characters."""
    status: Annotated[AgentSessionStatus | None, NO_CONDITION] = None
    """Only sessions in this state. Format: active, expired or terminated."""
