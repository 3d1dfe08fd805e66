"""HTTP routes of oversight: the tree of an agent, and the review of a fleet (CONTRACT 11.8)."""

from functools import partial

from attestlab.agents.oversight.preferences import AgentPreferences
from attestlab.agents.oversight.rendering import render_reviewed, render_tree
from attestlab.agents.oversight.service import AgentOversight
from attestlab.agents.oversight.shapes import (
    AgentReviewOut,
    AgentReviewQuery,
    AgentSettingsIn,
    AgentSettingsOut,
    AgentTreeOut,
)
from attestlab.agents.rules import parse_agent_id
from attestlab.core.db.transaction import Transaction
from attestlab.orgs.rules import Caller, Scope
from attestlab.web.executor import Executor
from attestlab.web.paging import Page, decode_id, split_page
from attestlab.web.routing.authorization import Requirement
from attestlab.web.routing.routes import Routes

routes = Routes("agents")
READERS = Requirement(scope=Scope.AGENTS_READ)
PEOPLE_AND_KEYS = Requirement(scope=Scope.AGENTS_WRITE, no_agents=True)
_LIST = "agent_review"


@routes.get("/v1/agents/review", scope=READERS)
async def review_agents(
    query: AgentReviewQuery, caller: Caller, agent_oversight: AgentOversight, executor: Executor
) -> Page[AgentReviewOut]:
    """List the agents that want a look, newest first, each with its findings.

    An agent is `ownerless` from the moment that the person who answers for it is removed. Revoked agents are left out.
    """
    before = decode_id(_LIST, query.cursor)
    read = partial(agent_oversight.page_review, query, caller=caller, before=before, limit=query.limit + 1)
    found = await executor.run_in_thread(read)
    shown, cursor = split_page(found, limit=query.limit, kind=_LIST, position=lambda each: [str(each.row.id)])
    return Page[AgentReviewOut](items=[render_reviewed(each) for each in shown], next_cursor=cursor)


@routes.get("/v1/agents/settings", scope=READERS)
def get_agent_settings(caller: Caller, agent_preferences: AgentPreferences) -> AgentSettingsOut:
    """Get the tenant's settings of agents.

    An agent whose owner was removed may act for `ownerless_grace_days`; then it is suspended.
    """
    return AgentSettingsOut(ownerless_grace_days=agent_preferences.get_grace_days(caller=caller))


@routes.put("/v1/agents/settings", scope=PEOPLE_AND_KEYS)
def set_agent_settings(
    body: AgentSettingsIn, tx: Transaction, caller: Caller, agent_preferences: AgentPreferences
) -> AgentSettingsOut:
    """Set the tenant's settings of agents; they count for owners who left already, too.

    With 0 days, an agent is suspended as soon as its owner is removed.
    """
    days = agent_preferences.set_grace_days(body.ownerless_grace_days, caller=caller, tx=tx)
    return AgentSettingsOut(ownerless_grace_days=days)


@routes.get("/v1/agents/{id}/tree", scope=READERS)
async def get_agent_tree(id: str, caller: Caller, agent_oversight: AgentOversight, executor: Executor) -> AgentTreeOut:
    """Get the agents above and below one, with what each may do now and who let whom.

    Each agent comes after its parent, the root first. At most 10,000 are listed; those nearest to the root come first.
    """
    agent_id = parse_agent_id(id, tenant_id=caller.tenant_id)
    return render_tree(await executor.run_in_thread(partial(agent_oversight.get_tree, agent_id, caller=caller)))
