"""Rendering of agents and their keys as wire models; this module makes no decisions."""

from __future__ import annotations

import json

from attestlab.agents.keys import ALG, get_raw_public_key
from attestlab.agents.lifecycle import KilledAgents
from attestlab.agents.rules import format_agent_id
from attestlab.agents.service import AgentDetails
from attestlab.agents.shapes import AgentChallengeOut, AgentKeyOut, AgentKillOut, AgentOut, AgentStatementOut
from attestlab.agents.statements import AgentStatement
from attestlab.agents.tables import AgentChallengeRecord, AgentKeyRecord, AgentRecord
from attestlab.core.encoding import b64url_encode
from attestlab.core.row_rendering import RowRenderer

SHOWN_KEYS = 5

render_challenge = RowRenderer(AgentChallengeOut, AgentChallengeRecord)
render_statement = RowRenderer(AgentStatementOut, AgentStatement)
render_key = RowRenderer(
    AgentKeyOut,
    AgentKeyRecord,
    algorithm=lambda _: ALG.value,
    public_key=lambda row: b64url_encode(get_raw_public_key(row)),
    status_log_index="changed_index",
)
_render_row = RowRenderer(
    AgentOut,
    AgentRecord,
    computed=["status", "effective_scopes", "public_key", "keys", "trust_level", "session_count", "last_active_at"],
    agent_id=lambda row: format_agent_id(row.id, row.tenant_id),
    scopes=lambda row: row.scopes.split(),
    metadata=lambda row: json.loads(row.extra),
    card=lambda row: None if row.card is None else json.loads(row.card),
)
_render_kill = RowRenderer(AgentKillOut, KilledAgents, computed=["agent"])


def render_agent(found: AgentDetails) -> AgentOut:
    """Render an agent."""
    current = next(key for key in found.keys if key.kid == found.row.key_id)
    return _render_row(
        found.row,
        status=found.status,
        effective_scopes=found.effective_scopes.as_list(),
        public_key=b64url_encode(get_raw_public_key(current)),
        keys=[render_key(key) for key in found.keys[:SHOWN_KEYS]],
        trust_level=found.trust_level,
        session_count=found.session_count,
        last_active_at=found.last_active_at,
    )


def render_kill(killed: KilledAgents, agent: AgentDetails) -> AgentKillOut:
    """Render what a kill ended."""
    return _render_kill(killed, agent=render_agent(agent))
