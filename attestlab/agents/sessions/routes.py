"""HTTP routes of agents' sessions (CONTRACT 11.9)."""

from functools import partial
from uuid import UUID

from attestlab.agents.access import OWN_WRITERS, READERS
from attestlab.agents.sessions.rendering import render_introspection, render_session, render_tokens
from attestlab.agents.sessions.service import ROUTE, AgentSessions
from attestlab.agents.sessions.shapes import (
    AgentIntrospectionOut,
    AgentSessionEndIn,
    AgentSessionIn,
    AgentSessionOut,
    AgentSessionRefreshIn,
    AgentSessionsQuery,
    AgentTokenIn,
    AgentTokensOut,
)
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AuthInvalid, AuthRequired, Conflict, NotFound, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.request import Request
from attestlab.web.response import JSON, CommittedError, RawResponse
from attestlab.web.routing.authorization import PUBLIC, Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
OPENERS = Requirement(scope=Scope.AGENTS_WRITE, no_agents=True, or_else="an agent's own assertion")
INTROSPECTORS = Requirement(scope=Scope.AGENTS_READ, no_agents=True)
_LIST = "agent_sessions"
_INACTIVE = b'{"active":false}'  # RFC 7662, section 2.2: nothing else about a token that is not valid


@routes.post(
    ROUTE,
    scope=OPENERS,
    status=201,
    secret=True,
    headers=("Location",),
    raises=(AuthInvalid, NotFound, PermissionDenied, Conflict),
)
def open_agent_session(
    request: Request, body: AgentSessionIn, tx: Transaction, caller: Caller | None, agent_sessions: AgentSessions
) -> AgentTokensOut:
    """Open a session of an agent: with a key, as a signed-in person, or by an assertion of the agent's own key.

    Its scopes are within those of the agent and of who opens it. With `on_behalf_of` the agent acts for the person who
    is signed in, within their rights, until their session ends. The tokens are shown once.
    """
    if body.assertion is None:
        if caller is None:
            raise AuthRequired
        opened = agent_sessions.open(body, caller=caller, tx=tx)
    elif caller is not None:
        message = "An assertion stands in place of a credential. Send one of them."
        raise ValidationFailed.of("/assertion", "with_credential", message)
    else:
        opened = agent_sessions.open_by_assertion(body, tx=tx)
    request.respond_headers["Location"] = f"{ROUTE}/{opened.session.row.id}"
    return render_tokens(opened)


@routes.get("/v1/agent-sessions", scope=READERS)
async def list_agent_sessions(
    query: AgentSessionsQuery, caller: Caller, agent_sessions: AgentSessions, executor: Executor
) -> Page[AgentSessionOut]:
    """List the sessions of the tenant's agents, newest first; a filter by state may skip many, so it runs in a thread.

    An agent sees its own.
    """
    read = executor.run_in_thread if query.given_filters else executor.read
    before = decode_id(_LIST, query.cursor)
    found = await read(partial(agent_sessions.page, query, caller=caller, before=before, limit=query.limit + 1))
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda each: [str(each.row.id)])
    return Page[AgentSessionOut](items=[render_session(each) for each in shown], next_cursor=cursor)


@routes.post("/v1/agent-sessions/introspect", scope=INTROSPECTORS, idempotency="none", secret=True)
async def introspect_agent_token(
    body: AgentTokenIn, caller: Caller, agent_sessions: AgentSessions, executor: Executor
) -> AgentIntrospectionOut | RawResponse:
    """Ask what an agent's token may do now (RFC 7662); for servers that agents call.

    Of a token that is not valid, or of another tenant, the answer is only that it is not active. Who asks compares
    `audience` with its own address.
    """
    found = await executor.read(partial(agent_sessions.introspect, body.token, caller=caller))
    return RawResponse(_INACTIVE, JSON) if found is None else render_introspection(found)


@routes.get("/v1/agent-sessions/{id}", scope=READERS)
def get_agent_session(id: UUID, caller: Caller, agent_sessions: AgentSessions) -> AgentSessionOut:
    """Get a session of an agent.

    Its scopes are those that it was opened with; narrower ones of the agent hold as well.
    """
    return render_session(agent_sessions.get(id, caller=caller))


@routes.post("/v1/agent-sessions/{id}/refresh", scope=PUBLIC, secret=True, raises=(AuthInvalid, Conflict))
def refresh_agent_session(
    id: UUID, body: AgentSessionRefreshIn, tx: Transaction, agent_sessions: AgentSessions
) -> AgentTokensOut | CommittedError:
    """Exchange a refresh token for the next tokens, until a day after the session began; needs nothing else.

    A token that is used twice was probably stolen, so the session ends, and a risk signal is recorded.
    """
    issued = agent_sessions.refresh(id, body.refresh_token, tx=tx)
    return CommittedError(issued) if isinstance(issued, AuthInvalid) else render_tokens(issued)


@routes.post("/v1/agent-sessions/{id}/terminate", scope=OWN_WRITERS)
def terminate_agent_session(
    id: UUID, body: AgentSessionEndIn | None, tx: Transaction, caller: Caller, agent_sessions: AgentSessions
) -> AgentSessionOut:
    """End a session: its tokens are invalid from the next request on.

    A session that has ended stays as it is. An agent can end its own.
    """
    reason = None if body is None else body.reason
    return render_session(agent_sessions.terminate(id, reason=reason, caller=caller, tx=tx))
