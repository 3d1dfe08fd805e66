"""Naughty strings run nothing on the pages of people, also where nothing forbids scripts, and break no feed."""

from __future__ import annotations

from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest

from attestlab.attestations.inbox.shapes import DeliverIn, InboxFilter
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import ConsumerCreated
from attestlab.protections.rules import Visibility
from attestlab.protections.shapes import ProtectionIn
from support.access import PartyClients
from support.blog import publish_post
from support.browser import needs_chromium, open_browser, open_profile
from support.consumer_pages import ADA, BrowserVisitor, consumer_caller
from support.dashboards.hostile import TRACES
from support.naughty_strings import NAUGHTY, join_within
from support.portal import mint_document
from support.protections import hash_of

ATOM = "{http://www.w3.org/2005/Atom}"
NAME = "O'Brien\"><img src=x onerror=window.hit=1>"
TITLE = "</title><script>window.hit=1</script>{{7*7}}"
SHOWN = "Penistone Community Church"  # a string that every page has that shows them all


def fill_account(lab: Installation, caller: Caller, consumer: BrowserVisitor, ada: ConsumerCreated) -> list[str]:
    """Write all strings into a profile, into protections and into an item of the inbox; return the pages."""
    lab.orgs.set_plan(ada.tenant_id, Plan.ENTERPRISE, {})
    lab.platform_issuer.ensure()
    own = consumer_caller(lab, ada)
    consumer.send_signed("/settings", action="choose_username", username="ada")
    profile = {"name": NAME, "bio": SHOWN + NAME + TITLE, "portfolio_visibility": "public"}
    assert consumer.send_signed("/settings", action="save_profile", **profile).status_code == 303
    for text in join_within(NAUGHTY, 2_000):
        shown = ProtectionIn(
            content_hash=hash_of(text), title=TITLE, description=text, visibility=Visibility.PUBLIC, file_name=TITLE
        )
        prepared = lab.protections.prepare(shown, caller=own)
        assert prepared is not None
        lab.protections.create(prepared)
    parts = {f"part {number} {TITLE}": text for number, text in enumerate(join_within(NAUGHTY, 1_500))}
    claims = {"student_name": NAME, **parts}
    attestation_id = mint_document(lab, caller, claims=claims, profile={"name": NAME, "display_name": NAME})
    noted = {"title": SHOWN + TITLE, "note": join_within(NAUGHTY, 1_500)[-1]}
    delivery = DeliverIn(attestation_id=attestation_id, recipient_email=ADA, safe_metadata=noted)
    lab.inbox.deliver(delivery, caller=caller)
    [entry] = lab.inbox.page(InboxFilter.ALL, caller=own).entries
    key = lab.links.share_key(attestation_id)
    return ["u/ada", "protect", "settings", "inbox", f"inbox/{entry.id}", f"a/{attestation_id}?k={key}"]


@pytest.fixture
def posts(lab: Installation, url: str) -> list[str]:
    """The pages of posts that have all strings, as text, as Markdown of one piece and in their tags."""
    account = PartyClients(lab, url, lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE))
    texts = {"excerpt": SHOWN + TITLE, "tags": [text for text in NAUGHTY if 0 < len(text.strip()) < 32][:10]}
    for slug, separator in (("paragraphs", "\n\n"), ("one", " ")):
        publish_post(account.editor, TITLE, content=separator.join(NAUGHTY), slug=slug, **texts)
    account.close()
    return ["blog", "blog/paragraphs", "blog/one"]


@needs_chromium
def test_naughty_strings_run_nothing_on_any_page(
    lab: Installation, caller: Caller, url: str, consumer: BrowserVisitor, ada: ConsumerCreated, posts: list[str]
) -> None:
    pages = [*fill_account(lab, caller, consumer, ada), *posts]
    shown = {path: SHOWN in consumer.get(f"/{path}").text for path in pages}
    asked: list[str] = []
    with open_browser() as browser, open_profile(browser, bypass_csp=True) as profile:
        profile.add_cookies(consumer.browser_cookies())
        page = profile.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: asked.append(f"dialog://{dialog.message}"))
        for path in pages:
            answer = page.goto(f"{url}/{path}")
            assert answer is not None
            assert answer.status == 200, path
            assert page.evaluate("window.hit") is None, path
            assert page.locator(TRACES).count() == 0, path
            assert "49" not in page.title(), path
    assert {urlsplit(address).netloc for address in asked} == {urlsplit(url).netloc}
    assert [path for path, has_it in shown.items() if not has_it] == []


def test_the_feed_with_naughty_strings_is_xml(posts: list[str], visitor: BrowserVisitor) -> None:
    feed = ElementTree.fromstring(visitor.get("/blog/feed.xml").content)
    entries = feed.findall(f"{ATOM}entry")

    assert [entry.findtext(f"{ATOM}title") for entry in entries] == [TITLE] * 2
    assert all(SHOWN in (entry.findtext(f"{ATOM}content") or "") for entry in entries)
    assert {part.tag for entry in entries for part in entry.iter()} <= {
        f"{ATOM}{name}"
        for name in ("entry", "id", "title", "link", "published", "updated", "author", "name", "category", "summary")
    } | {f"{ATOM}content"}
