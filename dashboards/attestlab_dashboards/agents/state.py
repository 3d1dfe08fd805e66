"""`AgentsState`: what the page about agents shows, all of it in its address."""

from __future__ import annotations

from typing import Final

from attestlab.agents.rules import AgentStatus, AgentType
from attestlab_dashboards.state import PageState, Value, choice, page_number, read_uuid

SORTS: Final = ("name", "type", "status", "owner", "depth", "key", "open", "last")
FINDINGS: Final = ("ownerless", "wildcard", "no_expiry", "old_key", "idle", "expiring")
FILTERS: Final = ("status", "kind", "finding", "tree")
PARTS: Final = ("trust", "runs")
ASKS: Final = ("suspend", "resume", "kill")


class AgentsState(PageState):
    """What the page about agents shows."""

    status = choice("", *map(str, AgentStatus), doc="The state of the agents that are listed; empty for all.")
    kind = choice("", *map(str, AgentType), doc="What these agents are for.")
    finding = choice("", *FINDINGS, doc="What is to be said of these agents, such as that no person answers for them.")
    tree = Value("", read=read_uuid, doc="The root of the tree that these agents belong to.")
    sort = choice("-last", *SORTS, *(f"-{name}" for name in SORTS), doc="The column that sorts them; - is descending.")
    page = page_number(doc="The page of the agents.")
    review_page = page_number(doc="The page of the review.")
    sessions_page = page_number(doc="The page of the sessions.")
    acts_page = page_number(doc="The page of what agents did.")
    agent = Value("", read=read_uuid, doc="The agent of the open drawer.")
    part = choice("", *PARTS, doc="The part of that drawer; empty for what the agent may do and who let it.")
    run = Value("", read=read_uuid, doc="The run whose steps that drawer shows; empty for the newest.")
    ask = choice("", *ASKS, doc="The question of the open dialog.")
    about = Value("", read=read_uuid, doc="The agent that the open dialog is about.")

    def find_conflicts(self) -> list[str]:
        """Find a question that is about no agent, an agent without a question, and a part or run of no drawer."""
        questions = () if bool(self.ask) == bool(self.about) else self.list_changed(("ask", "about"))
        parts = () if self.agent else self.list_changed(("part", "run"))
        runs = ("run",) if self.agent and self.run and self.part != "runs" else ()
        return [*questions, *parts, *runs]

    @property
    def active_filters(self) -> tuple[str, ...]:
        """The names of the filters that are set."""
        return self.list_changed(FILTERS)
