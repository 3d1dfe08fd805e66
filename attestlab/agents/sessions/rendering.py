"""Rendering of agents' sessions as wire models; this module makes no decisions."""

from __future__ import annotations

import json

from attestlab.agents.sessions.authentication import AgentCredential
from attestlab.agents.sessions.service import AgentTokens, SessionDetails, list_audience
from attestlab.agents.sessions.shapes import AgentIntrospectionOut, AgentSessionOut, AgentTokensOut
from attestlab.agents.sessions.tables import AgentSessionRecord
from attestlab.core.row_rendering import RowRenderer

_render_row = RowRenderer(
    AgentSessionOut,
    AgentSessionRecord,
    computed=["status", "last_used_at"],
    scopes=lambda row: row.scopes.split(),
    audience=list_audience,
    metadata=lambda row: json.loads(row.extra),
)
_render_tokens = RowRenderer(AgentTokensOut, AgentTokens, computed=["session"], token_type=lambda _: "Bearer")


def render_session(found: SessionDetails) -> AgentSessionOut:
    """Render a session."""
    return _render_row(found.row, status=found.status, last_used_at=found.last_used_at)


def render_tokens(made: AgentTokens) -> AgentTokensOut:
    """Render a session with its tokens."""
    return _render_tokens(made, session=render_session(made.session))


def render_introspection(found: AgentCredential | None) -> AgentIntrospectionOut:
    """Render what a token may do; of one that is not valid, only that."""
    if found is None:
        return AgentIntrospectionOut(active=False)
    session = found.found.session
    return AgentIntrospectionOut(
        active=True,
        agent_id=session.agent_id,
        scopes=sorted(found.scopes.allows),
        denied_scopes=sorted(found.scopes.denies),
        audience=list(list_audience(session)),
        on_behalf_of=session.on_behalf_of,
        delegation_id=None,
        expires_at=session.expires_at,
    )
