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


def _show_key(row: AgentKeyRecord) -> str:
    return b64url_encode(get_raw_public_key(row))


render_challenge = RowRenderer(AgentChallengeOut, AgentChallengeRecord)
render_statement = RowRenderer(AgentStatementOut, AgentStatement)
render_key = RowRenderer(
    AgentKeyOut,
    AgentKeyRecord,
    algorithm=lambda _: ALG.value,
    public_key=_show_key,
    status_log_index="changed_index",
)
render_agent = RowRenderer(
    AgentOut,
    AgentDetails,
    parts={"row": AgentRecord},
    agent_id=lambda found: format_agent_id(found.row.id, found.row.tenant_id),
    scopes=lambda found: found.row.scopes.split(),
    effective_scopes=lambda found: found.effective_scopes.as_list(),
    metadata=lambda found: json.loads(found.row.extra),
    card=lambda found: None if found.row.card is None else json.loads(found.row.card),
    public_key=lambda found: next(_show_key(key) for key in found.keys if key.kid == found.row.key_id),
    keys=lambda found: list(map(render_key, found.keys[:SHOWN_KEYS])),
)
render_kill = RowRenderer(AgentKillOut, KilledAgents, computed=["agent"])
