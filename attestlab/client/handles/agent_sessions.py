"""Sessions of agents: opened with a credential or the agent's own key, refreshed, ended and asked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import ClassVar, TypedDict
from uuid import UUID

from attestlab.agents.sessions.shapes import AgentIntrospectionOut, AgentSessionOut, AgentTokensOut
from attestlab.client import agent_cards, arguments
from attestlab.client.handles.base import Handle
from attestlab.client.own_keys import OwnKey, require_key
from attestlab.client.service_client import ServiceClient, path_of

AGENT_SESSIONS = "/v1/agent-sessions"


class AgentSessionOptions(TypedDict, total=False):
    """The optional parts of a session (docs/agents.md)."""

    audience: Iterable[str]
    on_behalf_of: bool
    metadata: Mapping[str, object]


class AgentIntrospectionHandle(AgentIntrospectionOut, Handle):
    """What a token may do now; of one that is not valid only that."""

    shown_fields: ClassVar = ("active", "agent_id", "scopes", "expires_at")


class AgentSessionHandle(AgentSessionOut, Handle):
    """A session of an agent, without its tokens."""

    shown_fields: ClassVar = ("id", "agent_id", "status", "scopes", "expires_at")

    def _repr_html_(self) -> str:
        return agent_cards.draw_session(self)

    def terminate(self, reason: str | None = None) -> AgentSessionHandle:
        """End the session; `lab.agent_sessions.terminate` explains the arguments and errors.

        >>> opened = lab.agents.register("Teller", scopes=["docs:read"]).session()
        >>> lab.agent_sessions[opened.id].terminate().status
        'terminated'
        """
        return terminate_session(self._client, self.id, reason)


class AgentTokensHandle(AgentTokensOut, Handle):
    """A session with its tokens, which are shown once; neither `repr` nor the card has them.

    `lab.as_(opened)` acts as the agent, and `token` is the bearer token of its requests.
    """

    shown_fields: ClassVar = ("id", "agent_id", "scopes", "expires_at")

    @property
    def id(self) -> UUID:
        """The id of the session."""
        return self.session.id

    @property
    def agent_id(self) -> UUID:
        """The agent."""
        return self.session.agent_id

    @property
    def scopes(self) -> list[str]:
        """What the session may do, within what the agent may."""
        return self.session.scopes

    @property
    def expires_at(self) -> datetime:
        """Until when the token is valid."""
        return self.session.expires_at

    def _repr_html_(self) -> str:
        return agent_cards.draw_session(self.session)

    def refresh(self) -> AgentTokensHandle:
        """Exchange the refresh token for the next tokens; `lab.agent_sessions.refresh` explains the errors.

        Returns:
            The session with its next tokens; these here are invalid then.

        >>> opened = lab.agents.register("Courier", scopes=["docs:read"]).session()
        >>> opened.refresh().id == opened.id
        True
        """
        return refresh_session(self._client, self.id, self.refresh_token)

    def terminate(self, reason: str | None = None) -> AgentSessionHandle:
        """End the session; `lab.agent_sessions.terminate` explains the arguments and errors.

        >>> lab.agents.register("Greeter", scopes=["docs:read"]).session().terminate("done").status
        'terminated'
        """
        return terminate_session(self._client, self.id, reason)


AgentSessionLike = UUID | str | AgentSessionHandle | AgentTokensHandle


def open_session(
    client: ServiceClient,
    agent_id: UUID,
    scopes: Iterable[str] | None,
    minutes: int,
    key: OwnKey | None,
    options: Mapping[str, object],
) -> AgentTokensHandle:
    """Open a session with the credential of the lab, or with an assertion by the agent's own key."""
    body = {name: value for name, value in options.items() if value is not None}
    body["ttl_minutes"] = arguments.read_count(minutes, name="minutes")
    if scopes is not None:
        body["scopes"] = arguments.read_texts(scopes, name="scopes")
    if body.get("audience") is not None:
        body["audience"] = arguments.read_texts(body["audience"], name="audience")
    if key is None:
        return AgentTokensHandle.parse(client, client.post(AGENT_SESSIONS, {**body, "agent_id": agent_id}))
    address = f"{client.public_url.rstrip('/')}{AGENT_SESSIONS}"
    body["assertion"] = require_key(key).assertion(agent_id, audience=address, now=client.now())
    answer = client.with_headers({}).post(AGENT_SESSIONS, body)
    return AgentTokensHandle.parse(client, answer)


def refresh_session(client: ServiceClient, session_id: UUID, refresh_token: str) -> AgentTokensHandle:
    """Exchange a refresh token for the next tokens; it needs no other credential."""
    path = f"{AGENT_SESSIONS}{path_of(session_id, 'refresh')}"
    answer = client.with_headers({}).post(path, {"refresh_token": refresh_token})
    return AgentTokensHandle.parse(client, answer)


def terminate_session(client: ServiceClient, session_id: UUID, reason: str | None) -> AgentSessionHandle:
    """End a session."""
    body = {} if reason is None else {"reason": arguments.read_text(reason, name="reason")}
    path = f"{AGENT_SESSIONS}{path_of(session_id, 'terminate')}"
    return AgentSessionHandle.parse(client, client.post(path, body))
