"""All pages of consumers in a real browser: axe, a small phone and a desk, no sideways scrolling, no other host."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from attestlab.attestations.inbox.shapes import InboxFilter
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.orgs.service import ConsumerCreated
from support.browser import find_right_edge, list_violations, needs_chromium, open_browser, open_profile
from support.consumer_pages import ADA, BrowserVisitor, consumer_caller
from support.portal import mint_document

LONG = "Antidisestablishmentarianism" * 7
STRANGERS = ("signup", "signin", "verify-email", "verify-email?token=x", "reset-password", "reset-password?token=x")
OPEN_FOLDS = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def fill_account(consumer: BrowserVisitor, lab: Installation, caller: Caller, ada: ConsumerCreated) -> str:
    """Give Ada long names, a long address, two received credentials and a shown one; return an item of her inbox."""
    for count in range(2):
        mint_document(lab, caller, profile={"name": LONG[:200], "domain": f"{count}.example.edu"}, recipient_email=ADA)
    [item, declined] = lab.inbox.page(InboxFilter.ALL, caller=consumer_caller(lab, ada)).entries
    settings = {"choose_username": {"username": "ada"}, "add_email": {"email": f"{'a' * 60}@{'b' * 60}.example"}}
    profile = {"name": LONG[:200], "bio": LONG * 2, "portfolio_visibility": "public"}
    sent = [
        *(consumer.send_signed("/settings", action=action, **fields) for action, fields in settings.items()),
        consumer.send_signed("/settings", action="save_profile", **profile),
        consumer.send_signed(f"/inbox/{item.id}", action="show", title=LONG[:200], visibility="public"),
        consumer.send_signed(f"/inbox/{declined.id}", action="decline"),
    ]
    photo = {"content_hash": hashlib.sha256(b"a photo").hexdigest(), "title": LONG[:200], "description": LONG}
    kind = {"content_type": "image", "category": "a" * 64, "visibility": "public"}
    sent.append(consumer.send_signed("/protect", action="create", **photo, **kind))
    assert {answer.status_code for answer in sent} == {303}
    return str(item.id)


@pytest.mark.parametrize(("width", "scheme"), [(360, "dark"), (1280, "light")])
def test_no_page_has_a_barrier_scrolls_sideways_or_asks_another_host(
    browser: Browser,
    url: str,
    consumer: BrowserVisitor,
    lab: Installation,
    caller: Caller,
    ada: ConsumerCreated,
    width: int,
    scheme: str,
) -> None:
    item = fill_account(consumer, lab, caller, ada)
    own = ("inbox?read_state=ALL", f"inbox/{item}", "protect", "settings", "u/ada")
    asked: list[str] = []
    options = {"bypass_csp": True, "color_scheme": scheme, "viewport": {"width": width, "height": 740}}
    with open_profile(browser, **options) as profile:
        page = profile.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for paths, cookies in ((STRANGERS, []), (own, consumer.browser_cookies())):
            profile.add_cookies(cookies)
            for path in paths:
                page.goto(f"{url}/{path}")
                page.evaluate(OPEN_FOLDS)
                assert list_violations(page) == [], path
                assert find_right_edge(page) <= width, path

    assert {address.split("/")[2] for address in asked} == {url.split("/")[2]}
