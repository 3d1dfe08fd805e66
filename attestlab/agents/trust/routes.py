"""HTTP routes of trust (CONTRACT 11.11)."""

from attestlab.agents.rules import parse_agent_id
from attestlab.agents.trust.rendering import render_change, render_trust
from attestlab.agents.trust.service import AgentTrust
from attestlab.agents.trust.shapes import TrustChangeOut, TrustHistoryQuery, TrustOut
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.paging import Page, decode_number, split_page
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
_LIST = "agent_trust_changes"


@routes.get("/v1/agents/{id}/trust", scope=Scope.AGENTS_READ)
def get_agent_trust(id: str, caller: Caller, trust: AgentTrust) -> TrustOut:
    """Get the trust score of an agent as it is now, with each part of the formula and each penalty.

    What the agent reported about itself through its own session counts nowhere. The record's `trust_score` follows
    evidence at once, and the passing of time within a day.
    """
    return render_trust(trust.explain(parse_agent_id(id, tenant_id=caller.tenant_id), caller=caller))


@routes.get("/v1/agents/{id}/trust/history", scope=Scope.AGENTS_READ)
def list_agent_trust_changes(
    id: str, query: TrustHistoryQuery, caller: Caller, trust: AgentTrust
) -> Page[TrustChangeOut]:
    """List the changes of an agent's trust score with their causes, newest first.

    The oldest is its first evidence; before that, the score is 0.5.
    """
    agent_id, before = parse_agent_id(id, tenant_id=caller.tenant_id), decode_number(_LIST, query.cursor)
    found = trust.history(agent_id, query, caller=caller, before=before, limit=query.limit + 1)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda row: [row.seq])
    return Page[TrustChangeOut](items=[render_change(row) for row in shown], next_cursor=cursor)
