"""The page about agents in a real browser: choose an agent, see its tree and its trust's reasons, and kill it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest
from playwright.sync_api import Page

from attestlab import Lab
from attestlab.client.handles.agents import AgentHandle
from attestlab.core.errors import AuthInvalid
from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import DemoServer
from support.dashboards.windows import HAND, PHONE, Windows, has_sideways_scrolling, list_failed_panes

pytestmark = needs_chromium

DRAWER: Final = "[data-pane=agent]"


class Patrol(NamedTuple):
    """A captain, which the demo's key registered, and the scout that it delegated to."""

    lab: Lab
    captain: AgentHandle
    scout: AgentHandle


@pytest.fixture
def patrol(demo: DemoServer) -> Iterator[Patrol]:
    """A new tree of two agents, of which the scout has worked last, with trust that has a reason."""
    with demo.connect() as lab:
        captain = lab.agents.register("Captain", agent_type="orchestrator", scopes=["docs:*", "!docs:delete"])
        scout = lab.agents[str(captain.delegate({"display_name": "Scout"}, ["docs:read"]).child.id)]
        lab.compliance.check(scout)
        run = lab.runs.start(scout, ["look"], name="Look around")
        run.step("look", inputs=b"a hill", outputs=b"a valley")
        run.complete()
        yield Patrol(lab, captain, scout)
        for agent in (captain, scout):
            if agent.reload().status != "revoked":
                agent.revoke("the test is over")


def test_a_person_sees_why_an_agent_is_trusted_and_kills_its_tree(windows: Windows, patrol: Patrol) -> None:
    session = patrol.scout.session()
    with windows.visit("/dash/agents") as page:
        mouse = Mouse(page)
        mouse.press("Scout", "[data-pane=fleet]")
        assert "Captain" in mouse.read(f"{DRAWER} .ag-hops")
        mouse.press("Show its tree", DRAWER)
        assert "Captain orchestrator" in mouse.read_pane("tree")
        assert "Scout worker docs:read" in mouse.read_pane("tree")
        mouse.press("Trust", DRAWER)
        assert "The last compliance check passed" in mouse.read_pane("agent")
        assert "because of a compliance check" in mouse.read_pane("agent")
        mouse.press("Runs", DRAWER)
        assert f"signed by Scout with {patrol.scout.key_id}" in mouse.read_pane("agent")
        mouse.press("About", DRAWER)
        mouse.press("Captain", f"{DRAWER} .ag-hops")
        mouse.press("Kill its tree", DRAWER)
        asked = mouse.read_pane("confirm")
        assert "1 agent below it is revoked with it 1 open session ends 1 delegation is void" in asked
        assert patrol.scout.reload().status == "active"
        page.fill("[data-pane=confirm] textarea", "it probes")
        mouse.press("Kill 2 agents", "[data-pane=confirm]")
        page.locator("[data-pane=tree] .pill.bad").nth(1).wait_for()  # both agents of the tree are revoked
        page.go_back()
        assert list_failed_panes(page) == []
    assert patrol.scout.reload().status == "revoked"
    with pytest.raises(AuthInvalid):
        patrol.lab.as_(session).me()


@pytest.mark.parametrize("opened", ["part=runs", "ask=kill&about={id}"])
def test_a_phone_shows_the_drawer_in_its_own_width(windows: Windows, patrol: Patrol, opened: str) -> None:
    address = f"/dash/agents?agent={patrol.scout.id}&{opened.format(id=patrol.captain.id)}"
    with windows.visit(address, **HAND, reduced_motion="reduce") as page:
        assert page.evaluate("window.innerWidth") == PHONE["width"]
        assert not has_sideways_scrolling(page)
        assert not overflows(page)
        assert list_violations(page, *SERIOUS) == []


def overflows(page: Page) -> bool:
    """Whether the drawer is wider inside than outside."""
    return bool(page.locator(".al-drawer").evaluate("drawer => drawer.scrollWidth > drawer.clientWidth"))
