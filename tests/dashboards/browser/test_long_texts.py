"""Texts that fill their fields break no page: every dashboard and every public page, on a phone and on a desk."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser

from support.browser import find_right_edge, needs_chromium, open_profile
from support.dashboards.demo_server import serve_demo
from support.dashboards.layout import list_layout_faults, list_unreadable_texts
from support.dashboards.long_texts import LONG_PERSON, TEXTS, LongObjects, add_long_person, fit, write_long_texts
from support.dashboards.windows import Windows, list_failed_panes

pytestmark = needs_chromium

DEVICES: Final[dict[int, dict[str, Any]]] = {
    360: {"viewport": {"width": 360, "height": 844}, "is_mobile": True, "has_touch": True},
    1280: {"viewport": {"width": 1280, "height": 1_000}},
}
OPEN_FOLDS: Final = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"


@pytest.fixture(scope="module")
def long(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Windows, dict[str, LongObjects]]]:
    """Windows of a demo whose texts fill their fields, and its objects."""
    with serve_demo(tmp_path_factory.mktemp("long"), prepare=add_long_person) as server:
        objects = write_long_texts(server)
        windows = Windows(browser, server)
        yield windows, objects
        windows.close()


def address_risk(made: LongObjects) -> str:
    return "risk?kind=user"


def address_entity(made: LongObjects) -> str:
    user = f"user:{made.user}"
    return "risk?" + urlencode({"about": user, "entity": user, "graph": user, "cases": "all"})


def address_policy(made: LongObjects) -> str:
    return "policy?" + urlencode({"policy": made.policy, "by": "jurisdiction"})


def address_attestation(made: LongObjects) -> str:
    return "log?" + urlencode({"q": made.attestation})


def address_entry(made: LongObjects) -> str:
    return "log?" + urlencode({"entry": str(made.entry)})


def address_issuers(made: LongObjects) -> str:
    return "issuers?sort=-last"


def address_issuer(made: LongObjects) -> str:
    return "issuers?" + urlencode({"issuer": made.issuer, "key": f"{made.issuer}/{made.kid}"})


def address_suspension(made: LongObjects) -> str:
    return "issuers?" + urlencode({"ask": "suspend", "about": made.issuer})


def address_agents(made: LongObjects) -> str:
    return "agents?" + urlencode({"tree": made.agent})


def address_agent(made: LongObjects) -> str:
    return "agents?" + urlencode({"agent": made.agent, "part": "runs"})


def address_access(made: LongObjects) -> str:
    return "access?sort=name"


def address_person(made: LongObjects) -> str:
    return "access?" + urlencode({"who": f"person:{made.person}"})


def address_key(made: LongObjects) -> str:
    return "access?" + urlencode({"who": f"key:{made.key}", "whole": "1"})


def address_usage(made: LongObjects) -> str:
    return "usage"


Address = Callable[[LongObjects], str]
ADDRESSES: Final[tuple[Address, ...]] = (
    address_risk,
    address_entity,
    address_policy,
    address_attestation,
    address_entry,
    address_issuers,
    address_issuer,
    address_suspension,
    address_agents,
    address_agent,
    address_access,
    address_person,
    address_key,
    address_usage,
)


def require_unbroken(windows: Windows, path: str, width: int) -> None:
    """The page is no wider than its window, no part scrolls in it, and each text can be read whole."""
    options = {"reduced_motion": "reduce", **DEVICES[width]}
    with windows.visit(f"/dash/{path}", person=LONG_PERSON, **options) as page:
        assert list_failed_panes(page) == []
        assert list_layout_faults(page, width, is_touched=width == 360, may_be_half_empty=True) == []
        assert list_unreadable_texts(page) == []


@pytest.mark.parametrize("width", DEVICES)
@pytest.mark.parametrize("address", ADDRESSES, ids=lambda each: each.__name__.removeprefix("address_"))
def test_a_long_text_breaks_no_dashboard(
    long: tuple[Windows, dict[str, LongObjects]], address: Address, width: int
) -> None:
    """One text for each address; the soak has all of them."""
    windows, objects = long
    name = [*TEXTS][ADDRESSES.index(address) % len(TEXTS)]
    require_unbroken(windows, address(objects[name]), width)


@pytest.mark.soak
@pytest.mark.parametrize("width", DEVICES)
@pytest.mark.parametrize("text", TEXTS)
def test_no_long_text_breaks_any_dashboard(long: tuple[Windows, dict[str, LongObjects]], text: str, width: int) -> None:
    windows, objects = long
    for address in ADDRESSES:
        require_unbroken(windows, address(objects[text]), width)


@pytest.mark.parametrize("width", DEVICES)
def test_a_long_name_hides_no_action(long: tuple[Windows, dict[str, LongObjects]], width: int) -> None:
    """On a desk each issuer is suspended from its row, on a phone from its drawer."""
    windows, objects = long
    with windows.visit(f"/dash/{address_issuer(objects['letters'])}", person=LONG_PERSON, **DEVICES[width]) as page:
        rows = page.locator("[data-pane=issuers] tr[data-row]")
        drawer = page.locator("[data-pane=issuer]")
        buttons = rows if width == 1280 else drawer
        suspend = buttons.get_by_role("button", name=re.compile("^Suspend")).first
        box = suspend.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width


def test_a_cut_name_is_whole_in_its_tip_until_escape(long: tuple[Windows, dict[str, LongObjects]]) -> None:
    """On hover, on focus and at a tap."""
    windows, objects = long
    name = fit("letters", 200)
    path = f"/dash/{address_issuers(objects['letters'])}"
    with windows.visit(path, person=LONG_PERSON, **DEVICES[1280]) as page:
        cut = page.locator("[data-pane=issuers] b[data-cut]", has_text="WWW").first
        tip = page.get_by_role("tooltip")
        cut.scroll_into_view_if_needed()
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        cut.hover()  # after the scrolling, which would hide the tip
        assert tip.inner_text() == name
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        cut.locator("xpath=ancestor::button").focus()
        assert name in tip.inner_text().splitlines()  # with the domain
    with windows.visit(path, person=LONG_PERSON, **DEVICES[360]) as page:
        reason = page.locator("[data-pane=requests] .sub[data-cut]", has_text="WWW").first
        reason.tap()
        assert fit("letters", 1_000) in page.get_by_role("tooltip").inner_text()


@pytest.mark.parametrize("width", DEVICES)
def test_a_long_text_breaks_no_public_page(long: tuple[Windows, dict[str, LongObjects]], width: int) -> None:
    windows, objects = long
    of_one = [path for made in objects.values() for path in (made.page, made.page.partition("?")[0], made.post)]
    found = "/find?" + urlencode({"q": fit("letters", 500)})
    with open_profile(windows.browser, **DEVICES[width]) as profile:
        page = profile.new_page()
        for path in ("/", "/blog", "/u/ada", found, *of_one):
            answer = page.goto(f"{windows.url}{path}")
            assert answer is not None
            assert answer.status in (200, 404), path
            page.evaluate(OPEN_FOLDS)
            assert find_right_edge(page) <= width, path
            assert list_layout_faults(page, width, is_touched=width == 360) == [], path
