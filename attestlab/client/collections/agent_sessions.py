"""`lab.agent_sessions`: the sessions in which agents act, and what a server asks about a token."""

from __future__ import annotations

from typing import Unpack

from attestlab.agents.sessions.shapes import AgentSessionsQuery
from attestlab.client import arguments
from attestlab.client.analysis.listing import Listing
from attestlab.client.collections.base import DatasetCollection
from attestlab.client.collections.filters import AgentSessionFilterArgs
from attestlab.client.handles.agent_sessions import (
    AGENT_SESSIONS,
    AgentIntrospectionHandle,
    AgentSessionHandle,
    AgentSessionLike,
    AgentTokensHandle,
    refresh_session,
    terminate_session,
)
from attestlab.client.own_examples import name_in_examples
from attestlab.client.service_client import ServiceClient


@name_in_examples("agent_sessions")
class AgentSessionCollection(DatasetCollection[AgentSessionHandle]):
    """The sessions of the tenant's agents, newest first; `agent.session` opens one."""

    noun = "a session"
    path = AGENT_SESSIONS
    query = AgentSessionsQuery
    dataset = "agent_sessions"

    def __init__(self, client: ServiceClient) -> None:
        super().__init__(client, AgentSessionHandle)

    def list(
        self, *, limit: int | None = None, **filters: Unpack[AgentSessionFilterArgs]
    ) -> Listing[AgentSessionHandle]:
        """List the sessions that match all filters, newest first.

        Args:
            limit: how many at most; all by default.
            filters: `agent_id` is the UUID of an agent; `status` is `active`, `expired` or `terminated`.

        Returns:
            The sessions, which are read page by page when they are wanted.

        Raises:
            ValidationFailed: there is no such filter, or it does not take this value.

        >>> agent = lab.agents.register("Guide", scopes=["docs:read"])
        >>> opened = agent.session()
        >>> [each.scopes for each in lab.agent_sessions.list(agent_id=agent.id, status="active")]
        [['docs:read']]
        """
        return self._list(limit, filters)

    def terminate(self, session: AgentSessionLike, reason: str | None = None) -> AgentSessionHandle:
        """End a session: its tokens are invalid from the next request on.

        Args:
            session: what `agent.session` returned, a session, or its id.
            reason: for people and the audit trail, at most 1,000 characters.

        Returns:
            The session as it is then; one that has ended stays as it is.

        Raises:
            NotFound: the tenant has no such session.

        >>> opened = lab.agents.register("Usher", scopes=["docs:read"]).session()
        >>> lab.agent_sessions.terminate(opened, "the play is over").status
        'terminated'
        """
        return terminate_session(self._client, arguments.read_id(session, self.noun), reason)

    def refresh(self, session: AgentSessionLike, refresh_token: str) -> AgentTokensHandle:
        """Exchange a refresh token for the next tokens, until a day after the session began.

        Args:
            session: what `agent.session` returned, a session, or its id.
            refresh_token: the newest one; a token that is used twice ends the session.

        Returns:
            The session with its next tokens.

        Raises:
            AuthInvalid: the token is not valid, or was used before.
            Conflict: the agent is not active.

        >>> opened = lab.agents.register("Ferry", scopes=["docs:read"]).session()
        >>> lab.agent_sessions.refresh(opened.id, opened.refresh_token).token != opened.token
        True
        """
        token = arguments.read_text(refresh_token, name="refresh_token")
        return refresh_session(self._client, arguments.read_id(session, self.noun), token)

    def introspect(self, token: str) -> AgentIntrospectionHandle:
        """Ask what an agent's token may do now; for servers that agents call (RFC 7662).

        Args:
            token: what the agent sent as its bearer token.

        Returns:
            `active`, and of an active one the agent, scopes, audience and end.

        Raises:
            ValidationFailed: the token is no text.

        >>> opened = lab.agents.register("Caller", scopes=["docs:read"]).session()
        >>> lab.agent_sessions.introspect(opened.token).scopes
        ['docs:read']
        >>> ended = opened.terminate()
        >>> lab.agent_sessions.introspect(opened.token).active
        False
        """
        body = {"token": arguments.read_text(token, name="token")}
        answer = self._client.post(f"{self.path}/introspect", body, is_read=True)
        return AgentIntrospectionHandle.parse(self._client, answer)
