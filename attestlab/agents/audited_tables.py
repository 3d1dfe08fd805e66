"""The tables of agents whose row digests are in the audit trail, by the resource type that names their rows there."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Table

from attestlab.agents import store
from attestlab.agents.compliance.store import checks
from attestlab.agents.delegation.store import delegations
from attestlab.agents.oversight.store import settings
from attestlab.agents.runs.store import runs, steps
from attestlab.agents.sessions.store import refresh_tokens, sessions
from attestlab.agents.witnessing.store import requests, votes

AUDITED_TABLES: Final[dict[str, Table]] = {
    "agent": store.agents,
    "agent_key": store.keys,
    "agent_settings": settings,
    "delegation": delegations,
    "agent_session": sessions,
    "agent_refresh_token": refresh_tokens,
    "witness_request": requests,
    "witness_vote": votes,
    "compliance_check": checks,
    "run": runs,
    "run_step": steps,
}
