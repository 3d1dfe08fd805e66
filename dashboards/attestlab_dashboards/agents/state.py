"""`AgentsState`: what the page about agents shows, all of it in its address."""

from __future__ import annotations

from typing import Final

from attestlab.agents.rules import AgentStatus, AgentType
from attestlab_dashboards.state import PageState, Value, choice, page_number, read_uuid

SORTS: Final = ("name", "type", "status", "owner", "depth", "key", "open", "last")
FINDINGS: Final = ("ownerless", "wildcard", "no_expiry", "old_key", "idle", "expiring")
FILTERS: Final = ("status", "kind", "finding", "tree")
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
    ask = choice("", *ASKS, doc="The question of the open dialog.")
    about = Value("", read=read_uuid, doc="The agent that the open dialog is about.")

    def find_conflicts(self) -> list[str]:
        """Find a question that is about no agent, or an agent without a question."""
        return [] if bool(self.ask) == bool(self.about) else list(self.list_changed(("ask", "about")))

    @property
    def active_filters(self) -> tuple[str, ...]:
        """The names of the filters that are set."""
        return self.list_changed(FILTERS)
