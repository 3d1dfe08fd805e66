"""`AgentsState`: what the page about agents shows, all of it in its address."""

from __future__ import annotations

from typing import Final

from attestlab.agents.rules import AgentStatus, AgentType
from attestlab_dashboards.parameters import Value, choice, object_id, page_number, sort_order
from attestlab_dashboards.ranges import read_range
from attestlab_dashboards.state import PageState

SORTS: Final = ("name", "type", "status", "owner", "depth", "key", "open", "last")
FINDINGS: Final = ("ownerless", "wildcard", "no_expiry", "old_key", "idle", "expiring")
FILTERS: Final = ("status", "kind", "finding", "tree")
PARTS: Final = ("trust", "runs")
ASKS: Final = ("suspend", "resume", "kill")


class AgentsState(PageState):
    """What the page about agents shows."""

    filters = FILTERS
    together = ("ask", "about")

    status = choice("", *map(str, AgentStatus), doc="The state of the agents that are listed; empty for all.")
    kind = choice("", *map(str, AgentType), doc="What these agents are for.")
    finding = choice("", *FINDINGS, doc="What is to be said of these agents, such as that no person answers for them.")
    tree = object_id(doc="The root of the tree that these agents belong to.")
    sort = sort_order("-last", SORTS, doc="The column that sorts them")
    page = page_number(doc="The page of the agents.")
    review_page = page_number(doc="The page of the review.")
    sessions_page = page_number(doc="The page of the sessions.")
    range = Value("", read=read_range, doc="The days of what agents did, from/to; empty for all.")
    acts_page = page_number(doc="The page of what agents did.")
    agent = object_id(doc="The agent of the open drawer.")
    part = choice("", *PARTS, doc="The part of that drawer; empty for what the agent may do and who let it.")
    run = object_id(doc="The run whose steps that drawer shows; empty for the newest.")
    ask = choice("", *ASKS, doc="The question of the open dialog.")
    about = object_id(doc="The agent that the open dialog is about.")

    def find_conflicts(self) -> list[str]:
        """Find a question without its agent, or an agent without a question, and a part or run of no drawer."""
        parts = () if self.agent else self.list_changed(("part", "run"))
        runs = ("run",) if self.agent and self.run and self.part != "runs" else ()
        return [*super().find_conflicts(), *parts, *runs]
