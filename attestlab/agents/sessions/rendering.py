"""Rendering of agents' sessions as wire models; this module makes no decisions."""

from __future__ import annotations

import json

from attestlab.agents.sessions.service import AgentTokens, Introspection, SessionDetails, list_audience
from attestlab.agents.sessions.shapes import AgentIntrospectionOut, AgentSessionOut, AgentTokensOut
from attestlab.agents.sessions.tables import AgentSessionRecord
from attestlab.core.row_rendering import RowRenderer

render_session = RowRenderer(
    AgentSessionOut,
    SessionDetails,
    parts={"row": AgentSessionRecord},
    scopes=lambda found: found.row.scopes.split(),
    audience=lambda found: list_audience(found.row),
    metadata=lambda found: json.loads(found.row.extra),
)
render_tokens = RowRenderer(
    AgentTokensOut,
    AgentTokens,
    session=lambda made: render_session(made.session),
    token_type=lambda _: "Bearer",
)
render_introspection = RowRenderer(
    AgentIntrospectionOut,
    Introspection,
    parts={"credential.found.session": AgentSessionRecord},
    active=lambda _: True,
    scopes=lambda found: sorted(found.credential.scopes.allows),
    denied_scopes=lambda found: sorted(found.credential.scopes.denies),
    audience=lambda found: list_audience(found.credential.found.session),
)
