"""The state of the page about agents: its events, and what an address may say."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.agents.events import EVENTS
from attestlab_dashboards.agents.state import AgentsState

AGENT: Final = "0193b5a0-7f3c-7abc-8def-0123456789ab"


def test_a_filter_shows_the_first_pages() -> None:
    state = AgentsState(page=3, sessions_page=2, acts_page=4)

    assert EVENTS["status"](state, "suspended") == AgentsState(status="suspended")
    assert EVENTS["finding"](EVENTS["finding"](state, "idle"), "idle") == AgentsState()
    assert EVENTS["clear"](AgentsState(status="active", kind="bot"), "kind") == AgentsState(status="active")
    assert EVENTS["clear"](AgentsState(status="active", kind="bot"), "all") == AgentsState()


def test_a_dialog_closes_before_the_drawer() -> None:
    opened = EVENTS["ask"](AgentsState(agent=AGENT), f"kill:{AGENT}")

    assert (opened.ask, opened.about) == ("kill", AGENT)
    assert EVENTS["close"](opened, "") == AgentsState(agent=AGENT)
    assert EVENTS["close"](AgentsState(agent=AGENT), "") == AgentsState()
    assert EVENTS["ask"](AgentsState(), "kill:") == AgentsState()


def test_an_address_that_asks_about_nothing_is_ignored() -> None:
    state, ignored = AgentsState.from_query({"ask": "kill", "agent": "x", "status": "asleep"})

    assert state == AgentsState()
    assert sorted(ignored) == ["agent", "ask", "status"]
    assert AgentsState.from_query(AgentsState(ask="kill", about=AGENT).to_query())[0].about == AGENT
