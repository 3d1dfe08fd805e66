"""Rendering of agents' sessions as wire models; this module makes no decisions."""

from __future__ import annotations

import json

from attestlab.agents.sessions.service import AgentTokens, Introspection, SessionDetails, list_audience
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


def render_introspection(found: Introspection) -> AgentIntrospectionOut:
    """Render what a valid token may do."""
    session, scopes = found.credential.found.session, found.credential.scopes
    return AgentIntrospectionOut(
        active=True,
        agent_id=session.agent_id,
        scopes=sorted(scopes.allows),
        denied_scopes=sorted(scopes.denies),
        audience=list(list_audience(session)),
        on_behalf_of=session.on_behalf_of,
        delegation_id=found.delegation_id,
        expires_at=session.expires_at,
    )
