"""Text that a stranger chose is text on every page, in a browser without our content policy: only escaping protects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from attestlab_dashboards.policy.notation import encode_draft
from support.browser import needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.demo_server import serve_demo
from support.dashboards.hostile import (
    HOSTILE_PERSON,
    PAYLOADS,
    TRACES,
    HostileObjects,
    add_hostile_person,
    write_payloads,
)
from support.dashboards.page_scripts import FIND_ALL
from support.dashboards.windows import READY, Windows, list_failed_panes

pytestmark = needs_chromium

HOVER_ALL = f"""
() => {{
  {FIND_ALL}
  const hover = () => new PointerEvent("pointerover", {{ bubbles: true, composed: true }});
  for (const one of findAll("[data-tip]")) one.dispatchEvent(hover());
  for (const one of findAll("details")) one.open = true;
}}"""


@pytest.fixture(scope="module")
def hostile(
    browser: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Windows, list[HostileObjects]]]:
    """Windows of a demo whose texts are code, and its objects."""
    folder = tmp_path_factory.mktemp("hostile")
    with serve_demo(folder, prepare=add_hostile_person) as server:
        objects = write_payloads(server)
        windows = Windows(browser, server)
        yield windows, objects
        windows.close()


def address_risk(made: HostileObjects) -> str:
    user = f"user:{made.users[0]}"
    more = {"cases": "all", "rule_source": made.payload, "colour": made.payload, made.payload: "1"}
    return "/dash/risk?" + urlencode({"about": user, "entity": user, "graph": user, **more})


def address_issuer(made: HostileObjects) -> str:
    more = {"actor": made.payload, "endpoint": made.payload, "key": f"{made.issuer}/{made.payload}"}
    return "/dash/issuers?" + urlencode({"issuer": made.issuer, **more})


def address_question(made: HostileObjects) -> str:
    return "/dash/issuers?" + urlencode({"ask": "suspend", "about": made.issuer, "jurisdiction": made.payload})


def address_policy(made: HostileObjects) -> str:
    more = {"by": made.payload, "sweep": f"{made.payload.replace('|', '')}|key.age_days|lt", "decision": made.payload}
    context = urlencode({"jurisdiction": made.payload, made.payload: made.payload})
    return "/dash/policy?" + urlencode({"policy": made.policy, "context": context, **more})


def address_draft(made: HostileObjects) -> str:
    return "/dash/policy?" + urlencode({"draft": encode_draft(f'name = "{made.payload}"\n{made.payload}')})


def address_log(made: HostileObjects) -> str:
    more = {"type": made.payload, "issuer": made.payload, "kept": made.payload, "trust": made.payload}
    return "/dash/log?" + urlencode({"q": made.attestation, "entry": str(made.entry), **more})


def address_search(made: HostileObjects) -> str:
    return "/dash/log?" + urlencode({"q": made.payload})


ADDRESSES = (
    address_risk,
    address_issuer,
    address_question,
    address_policy,
    address_draft,
    address_log,
    address_search,
)
Address = Callable[[HostileObjects], str]


def require_text_alone(page: Page) -> None:
    """Nothing ran, and no element came from a text, also not where the mouse goes or what is folded."""
    page.evaluate(HOVER_ALL)
    assert page.evaluate("window.hit") is None
    assert page.locator(TRACES).evaluate_all("all => all.map((one) => one.outerHTML.slice(0, 200))") == []


@pytest.mark.parametrize(
    "addresses",
    [
        ("risk?kind=session", "risk?kind=session&page=2"),  # more payloads than a page has entities
        ("issuers?sort=-last",),
        ("policy?policy=new",),
        ("log",),
    ],
    ids=["risk", "issuers", "policy", "log"],
)
def test_lists_of_hostile_texts_are_text(
    hostile: tuple[Windows, list[HostileObjects]], addresses: tuple[str, ...]
) -> None:
    windows, _ = hostile
    shown = "".join(_read_texts(windows, address) for address in addresses)

    assert [payload for payload in PAYLOADS if payload not in shown] == []


def _read_texts(windows: Windows, address: str) -> str:
    """Return what a page and its tooltips say, and require that it is text alone."""
    with windows.visit(f"/dash/{address}", person=HOSTILE_PERSON, bypass_csp=True) as page:
        parts = page.locator("#al-main, #al-main option, #al-main [title]")
        shown = "".join(parts.evaluate_all("all => all.map((one) => one.innerText + one.title)"))
        require_text_alone(page)
        assert f"Pat {PAYLOADS[1]}" in page.locator(".al-me").inner_text()
    return str(shown)


@pytest.mark.parametrize("address", ADDRESSES, ids=lambda each: each.__name__.removeprefix("address_"))
def test_an_opened_hostile_object_is_text(hostile: tuple[Windows, list[HostileObjects]], address: Address) -> None:
    """One payload for each address; the soak has all of them."""
    windows, objects = hostile
    made = objects[ADDRESSES.index(address)]
    with windows.visit(address(made), person=HOSTILE_PERSON, bypass_csp=True) as page:
        require_text_alone(page)
        assert made.payload in page.locator("#al-main").inner_text()


@pytest.mark.soak
@pytest.mark.parametrize("address", ADDRESSES, ids=lambda each: each.__name__.removeprefix("address_"))
def test_every_payload_of_an_opened_object_is_text(
    hostile: tuple[Windows, list[HostileObjects]], address: Address
) -> None:
    windows, objects = hostile
    with windows.visit("/dash/log", person=HOSTILE_PERSON, bypass_csp=True) as page:
        for made in objects:
            page.goto(f"{windows.url}{address(made)}")
            page.wait_for_selector(READY)
            require_text_alone(page)


def test_hostile_texts_that_are_typed_are_text(hostile: tuple[Windows, list[HostileObjects]]) -> None:
    windows, objects = hostile
    made = objects[1]
    with windows.visit(address_risk(made), person=HOSTILE_PERSON, bypass_csp=True) as page:
        form = page.locator("form[data-act=challenge]")
        form.locator("[name=reason]").fill(made.payload * 3)
        Mouse(page).click(form.locator("button"))
        assert made.payload[:12] in page.locator("#al-notices").inner_text()  # an id is shortened in its middle
        require_text_alone(page)
        page.fill("#al-search", made.payload)
        page.keyboard.press("Enter")
        page.wait_for_url("**/dash/log?q=*")
        page.wait_for_selector(READY)
        page.fill("#lg-bundle", made.bundle)
        Mouse(page).press("Check the bundle")
        require_text_alone(page)
        assert list_failed_panes(page) == []
