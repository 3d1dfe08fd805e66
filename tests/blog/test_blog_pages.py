"""The blog's pages and feed: what is public, where old addresses lead, and that nothing in a post runs or is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID
from xml.etree import ElementTree

import httpx
import pytest
from playwright.sync_api import Browser

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import b64url_encode
from attestlab.core.execution.long_work import TakesLong, forbid_long_work
from attestlab.installation import Installation
from attestlab.portal.blog_page import post_page
from support.blog import MEDIA, POSTS, draw_png, publish_post, write_post
from support.browser import find_right_edge, list_violations, needs_chromium, open_browser, open_profile
from support.dashboards.hostile import PAYLOADS, TRACES
from support.orgs import TenantClients
from support.portal import ParsedPage

ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def visitor(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.anonymous() as client:
        client.headers["Accept"] = "text/html,*/*;q=0.8"
        yield client


def test_only_published_posts_have_pages(editor: httpx.Client, visitor: httpx.Client) -> None:
    post = publish_post(editor, "Why a log?", content="# First\n\nBecause *anyone* can check it.", tags=["log & more"])
    write_post(editor, "A secret draft")
    page, listed = visitor.get("/blog/why-a-log"), visitor.get("/blog")

    assert (page.status_code, visitor.get("/blog/a-secret-draft").status_code) == (200, 404)
    assert "<h2>First</h2><p>Because <em>anyone</em> can check it.</p>" in page.text
    assert '<a href="../blog?tag=log%20%26%20more">log &amp; more</a>' in page.text
    assert "Why a log?" in ParsedPage(listed.text).text
    assert "secret" not in listed.text
    assert "Nothing is published" in visitor.get("/blog?category=company").text

    editor.put(f"{POSTS}/{post['id']}", json={"slug": "log", "title": "A log"})
    moved = visitor.get("/blog/why-a-log")
    assert (moved.status_code, moved.headers["Location"]) == (301, "log")
    assert "A log" in visitor.get("/blog/log").text

    editor.post(f"{POSTS}/{post['id']}/archive")
    gone = [visitor.get(f"/blog/{slug}") for slug in ("log", "why-a-log")]
    assert [answer.status_code for answer in gone] == [410, 410]
    assert "was removed" in gone[0].text
    assert "A log" not in visitor.get("/blog").text + visitor.get("/blog/feed.xml").text


def test_the_list_has_twenty_posts_a_page(editor: httpx.Client, visitor: httpx.Client, clock: FixedClock) -> None:
    for number in range(21):
        clock.advance(timedelta(seconds=1))
        publish_post(editor, f"Post {number:02}", category="product")
    first = ParsedPage(visitor.get("/blog?category=product&utm_source=mail").text)
    [older] = [part["href"] for tag, part in first.elements if tag == "a" and "cursor=" in (part.get("href") or "")]
    second = ParsedPage(visitor.get(f"/{str(older).removeprefix('./')}").text)

    shown = [[f"Post {number:02}" in page.text for number in range(21)] for page in (first, second)]
    assert shown == [[False, *[True] * 20], [True, *[False] * 20]]
    assert "cursor=" not in second.html


def test_the_feed_is_atom(editor: httpx.Client, visitor: httpx.Client) -> None:
    assert ElementTree.fromstring(visitor.get("/blog/feed.xml").content).findall(f"{ATOM}entry") == []
    cover = "https://pictures.example/p.png?a=1&b=2"
    post = publish_post(editor, "A <b> & log", content="a < b\x01 & **c**", cover_image_url=cover, tags=["<t>"])
    answer = visitor.get("/blog/feed.xml")
    feed = ElementTree.fromstring(answer.content)
    [entry] = feed.findall(f"{ATOM}entry")

    assert answer.headers["Content-Type"].startswith("application/atom+xml")
    assert feed.findtext(f"{ATOM}updated") == entry.findtext(f"{ATOM}updated") == post["updated_at"]
    assert entry.findtext(f"{ATOM}id") == f"urn:uuid:{post['id']}"
    assert entry.findtext(f"{ATOM}content") == "<p>a &lt; b &amp; <strong>c</strong></p>\n"
    links = {link.get("rel"): link.get("href") for link in entry.findall(f"{ATOM}link")}
    assert links == {"alternate": post["url"], "enclosure": cover}
    assert [part.get("term") for part in entry.findall(f"{ATOM}category")] == ["engineering", "<t>"]


def test_the_feed_has_as_much_text_as_one_post_may_have(
    editor: httpx.Client, visitor: httpx.Client, clock: FixedClock
) -> None:
    for number in range(3):
        publish_post(editor, f"Post {number}", content="word " * 50_000, excerpt="In short")
        clock.advance(timedelta(seconds=1))
    entries = ElementTree.fromstring(visitor.get("/blog/feed.xml").content).findall(f"{ATOM}entry")

    assert [entry.findtext(f"{ATOM}content") is None for entry in entries] == [False, False, True]
    assert entries[-1].findtext(f"{ATOM}summary") == "In short"


def test_a_long_text_is_not_rendered_where_other_requests_wait(editor: httpx.Client, lab: Installation) -> None:
    post = publish_post(editor, content="*a* " * 100)
    row = lab.blog.get(UUID(post["id"]))

    with forbid_long_work(), pytest.raises(TakesLong) as refused:
        post_page(row, portal_url="")
    refused.value.work()
    with forbid_long_work():
        assert b"<em>a</em>" in post_page(row, portal_url="").body


def test_a_page_is_known_by_its_tag(editor: httpx.Client, visitor: httpx.Client) -> None:
    post = publish_post(editor)
    first = visitor.get("/blog/why-a-log")
    known = {"If-None-Match": first.headers["ETag"]}
    assert visitor.get("/blog/why-a-log", headers=known).status_code == 304
    editor.put(f"{POSTS}/{post['id']}", json={"content": "Changed"})
    assert "Changed" in visitor.get("/blog/why-a-log", headers=known).text


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@needs_chromium
def test_nothing_in_a_post_runs_or_is_loaded_from_elsewhere(
    browser: Browser, editor: httpx.Client, clients: TenantClients
) -> None:
    own = editor.post(MEDIA, json={"content_b64url": b64url_encode(draw_png(64))}).json()["url"]
    words = "\n\n".join(
        [*PAYLOADS, f"![ours]({own})", "![theirs](https://evil.example/p.png)", "W" * 200, "`" + "w" * 300 + "`"]
    )
    cover = "https://evil.example/cover.png"
    for number, payload in enumerate(PAYLOADS):
        one = {"excerpt": payload[:500], "tags": [payload[:32].strip()], "slug": f"p{number}", "cover_image_url": cover}
        publish_post(editor, payload, content=words, **one)
    asked: list[str] = []
    with open_profile(browser, bypass_csp=True) as context:
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for path in ("/blog", *(f"/blog/p{number}" for number in range(len(PAYLOADS)))):
            page.goto(f"{clients.url}{path}")
            assert page.evaluate("window.hit") is None
            assert page.locator(TRACES).count() == 0
        assert page.locator("img").evaluate("(shown) => shown.complete && shown.naturalWidth") == 64
        assert list_violations(page) == []
        page.set_viewport_size({"width": 320, "height": 640})
        assert find_right_edge(page) <= 320
    assert [address for address in asked if not address.startswith(f"{clients.url}/")] == []
