"""The blog over HTTP: who may write, what a post is, its states, its addresses, and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import b64url_encode
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from support.blog import MEDIA, POSTS, PUBLIC, draw_png, publish_post, write_post
from support.in_process_server import make_client
from support.orgs import TenantClients


@pytest.fixture
def anyone(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.anonymous() as client:
        yield client


def upload(editor: httpx.Client, content: bytes) -> httpx.Response:
    return editor.post(MEDIA, json={"content_b64url": b64url_encode(content)})


@pytest.mark.both_engines
def test_a_post_is_written_published_changed_and_archived(editor: httpx.Client, anyone: httpx.Client) -> None:
    draft = write_post(editor, "Über Logs, and why", tags=["log", "log", "why"], excerpt="In short")
    place = f"{POSTS}/{draft['id']}"
    assert (draft["slug"], draft["status"], draft["tags"]) == ("uber-logs-and-why", "draft", ["log", "why"])
    assert draft["published_at"] is None
    assert draft["url"].endswith("/blog/uber-logs-and-why")
    assert anyone.get(f"{PUBLIC}/uber-logs-and-why").status_code == 404

    published = editor.post(f"{place}/publish").json()
    shown = anyone.get(f"{PUBLIC}/uber-logs-and-why").json()
    listed = anyone.get(PUBLIC).json()["items"]
    assert shown == published
    assert listed == [{name: value for name, value in published.items() if name != "content"}]

    changed = editor.put(place, json={"title": "Logs", "tags": []}).json()
    after = editor.get(place).json()
    assert changed == {name: after[name] for name in ("id", "status", "updated_at", "slug")}
    kept = {"slug", "excerpt", "content", "category", "published_at", "created_at", "author"}
    assert {name: after[name] for name in kept} == {name: published[name] for name in kept}
    assert (after["title"], after["tags"]) == ("Logs", [])

    assert editor.post(f"{place}/archive").json()["status"] == "archived"
    assert (anyone.get(PUBLIC).json()["items"], anyone.get(f"{PUBLIC}/uber-logs-and-why").status_code) == ([], 404)
    again = editor.post(f"{place}/publish").json()
    assert (again["status"], again["published_at"]) == ("published", published["published_at"])


def test_only_editors_of_the_platform_write(clients: TenantClients, editor: httpx.Client, lab: Installation) -> None:
    draft = write_post(editor)
    stranger = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
    _, root = clients.person("super_admin", email="root@people.example")
    _, owner = clients.person("owner", email="owner@people.example")
    with (
        root,
        owner,
        clients.with_key(*Scope) as key,
        make_client(clients.url, key=stranger.api_key) as foreign,
        clients.anonymous() as anyone,
    ):
        statuses = {
            name: [
                client.get(POSTS).status_code,
                client.put(f"{POSTS}/{draft['id']}", json={"excerpt": name}).status_code,
                client.post(f"{POSTS}/{draft['id']}/archive").status_code,
                upload(client, draw_png()).status_code,
            ]
            for name, client in {
                "root": root,
                "owner": owner,
                "key": key,
                "foreign": foreign,
                "anyone": anyone,
            }.items()
        }

    assert statuses == {
        "root": [200, 200, 409, 201],
        **{name: [403, 403, 403, 403] for name in ("owner", "key", "foreign")},
        "anyone": [401, 401, 401, 401],
    }
    assert editor.get(f"{POSTS}/{draft['id']}").json()["excerpt"] == "root"


def test_an_editor_reaches_nothing_of_a_tenant(editor: httpx.Client) -> None:
    assert editor.get("/v1/me").status_code == 200
    assert {editor.get(f"/v1/{path}").status_code for path in ("issuers", "attestations", "users", "api-keys")} == {403}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("title", value) for value in ("", " ", "x" * 201, "a\nb", 7, None)),
        *(("slug", value) for value in ("", "A", "a b", "ü", "x" * 97, "a/b")),
        *(("category", value) for value in ("sports", "ENGINEERING", None)),
        *(("content", value) for value in (None, 7, "é" * (256 * 1024 + 1))),
        ("excerpt", "x" * 501),
        *(("tags", value) for value in (["x"] * 11, ["x" * 33], [""], "x", [None])),
        *(("cover_image_url", value) for value in ("http://a.example/p.png", "javascript:x", "/p.png", "https://", "")),
        *(("cover_image_url", value) for value in ("https://u@a.example/p", "https://a.example/" + "p" * 2048)),
        ("cover_image_url", "/blog/media/" + "a" * 64),
        *((name, "published") for name in ("status", "author", "published_at", "url")),
    ],
)
def test_a_wrong_field_is_named_and_changes_nothing(editor: httpx.Client, field: str, value: object) -> None:
    draft = write_post(editor)
    place = f"{POSTS}/{draft['id']}"
    body = {"title": "Another", "category": "product", "content": "text", field: value}

    refused = [editor.post(POSTS, json=body), editor.put(place, json={field: value})]

    assert [answer.status_code for answer in refused] == [400, 400], [answer.text for answer in refused]
    for answer in refused:
        assert answer.json()["details"]["fields"][0]["field"].startswith(f"/{field}"), answer.text
    assert editor.get(POSTS).json()["items"] == [{name: draft[name] for name in draft if name != "content"}]


def test_a_longest_text_is_taken_whatever_its_characters(editor: httpx.Client) -> None:
    content = '"\\\x01\n' * (512 * 1024 // 4)
    assert editor.get(f"{POSTS}/{write_post(editor, content=content)['id']}").json()["content"] == content


def test_a_title_without_a_letter_needs_a_slug(editor: httpx.Client) -> None:
    body = {"title": "日誌", "category": "company", "content": ""}
    refused = editor.post(POSTS, json=body)
    assert refused.json()["details"]["fields"][0]["field"] == "/slug"
    assert write_post(editor, "日誌", slug="log")["slug"] == "log"


@pytest.mark.both_engines
def test_a_slug_that_was_public_keeps_its_meaning(editor: httpx.Client, anyone: httpx.Client) -> None:
    post = publish_post(editor, slug="first")
    other = write_post(editor, "Another", slug="other")
    editor.put(f"{POSTS}/{post['id']}", json={"slug": "second"})

    taken = [
        editor.post(POSTS, json={"title": "A", "category": "product", "content": "", "slug": slug}).status_code
        for slug in ("first", "second", "other")
    ]
    stolen = editor.put(f"{POSTS}/{other['id']}", json={"slug": "first"})
    assert (taken, stolen.status_code) == ([409, 409, 409], 409)
    assert [anyone.get(f"{PUBLIC}/{slug}").json()["slug"] for slug in ("first", "second")] == ["second", "second"]
    assert editor.put(f"{POSTS}/{post['id']}", json={"slug": "first"}).json()["slug"] == "first"


def test_a_draft_can_be_deleted_and_leaves_its_slug(editor: httpx.Client) -> None:
    draft, public = write_post(editor, slug="mine"), publish_post(editor, "Public")
    place = f"{POSTS}/{draft['id']}"

    assert editor.delete(place).status_code == 204
    assert editor.delete(f"{POSTS}/{public['id']}").status_code == 409
    statuses = [editor.get(place), editor.delete(place), editor.put(place, json={}), editor.post(f"{place}/publish")]
    assert [answer.status_code for answer in statuses] == [404] * 4
    assert [post["id"] for post in editor.get(POSTS).json()["items"]] == [public["id"]]
    assert write_post(editor, slug="mine")["slug"] == "mine"


@pytest.mark.parametrize(
    ("states", "verb", "status"),
    [
        ([], "archive", 409),
        (["publish"], "publish", 409),
        (["publish", "archive"], "archive", 409),
        (["publish", "archive"], "publish", 200),
    ],
)
def test_a_state_changes_as_it_may(editor: httpx.Client, states: list[str], verb: str, status: int) -> None:
    place = f"{POSTS}/{write_post(editor)['id']}"
    for state in states:
        assert editor.post(f"{place}/{state}").status_code == 200
    assert editor.post(f"{place}/{verb}").status_code == status


def test_if_match_keeps_editors_from_overwriting_each_other(editor: httpx.Client) -> None:
    place = f"{POSTS}/{write_post(editor)['id']}"
    read = editor.get(place).headers["ETag"]

    first = editor.put(place, json={"excerpt": "mine"}, headers={"If-Match": read})
    second = editor.put(place, json={"excerpt": "yours"}, headers={"If-Match": read})
    third = editor.put(place, json={"excerpt": "ours"}, headers={"If-Match": first.headers["ETag"]})
    without = editor.put(place, json={"title": "Any"})

    assert [answer.status_code for answer in (first, second, third, without)] == [200, 409, 200, 200]
    assert second.json()["details"]["reason"] == "stale"
    assert editor.get(place).json()["excerpt"] == "ours"


@pytest.mark.parametrize(
    ("shape", "status"),
    [
        *(("*", 200), ('"{tag}"', 200), ('"{tag}-gzip"', 200), ('"x,y" , "{tag}"', 200)),
        *(('W/"{tag}"', 409), ('"x{tag}"', 409), ('"{tag}', 400), ("{tag}", 400), ('"a" "{tag}"', 400), ("", 400)),
        *(('*, "{tag}"', 400), ('"{tag}",', 400), ("\xff", 400)),
    ],
)
def test_if_match_is_read_as_the_standard_has_it(editor: httpx.Client, shape: str, status: int) -> None:
    place = f"{POSTS}/{write_post(editor)['id']}"
    tag = editor.get(place, headers={"Accept-Encoding": "identity"}).headers["ETag"].strip('"')

    header = shape.format(tag=tag).encode("latin-1")
    answer = editor.put(place, json={"excerpt": "mine"}, headers=[(b"If-Match", header)])

    assert answer.status_code == status, answer.text
    assert editor.get(place).json()["excerpt"] == ("mine" if status == 200 else "")


@pytest.mark.both_engines
def test_one_of_fifty_requests_at_once_gets_a_slug(editor: httpx.Client) -> None:
    body = {"title": "Why a log?", "category": "engineering", "content": ""}
    drafts = [write_post(editor, f"Draft {number}")["id"] for number in range(25)]
    with ThreadPoolExecutor(50) as pool:
        created = [pool.submit(editor.post, POSTS, json=body) for _ in range(25)]
        renamed = [pool.submit(editor.put, f"{POSTS}/{draft}", json={"slug": "why-a-log"}) for draft in drafts]
        answers = [future.result() for future in (*created, *renamed)]

    won = [answer for answer in answers if answer.status_code in (200, 201)]
    assert len(won) == 1
    assert {answer.status_code for answer in answers if answer not in won} == {409}
    assert all(answer.json()["details"]["slug"] == "why-a-log" for answer in answers if answer not in won)
    with_slug = [
        post for post in editor.get(POSTS, params={"limit": 100}).json()["items"] if post["slug"] == "why-a-log"
    ]
    assert len(with_slug) == 1


@pytest.mark.parametrize(
    "address",
    [
        *(
            "",
            " ",
            "x",
            "/",
            "//evil.example/a.png",
            "/a.png",
            "http://a.example/a.png",
            "HTTPS://",
            "https://",
            "https:",
        ),
        *("https:///a.png", "https:/a.example", "https:a.example", "https://a b.example/", "https://a.example/a b"),
        *("https://u:p@a.example/", "https://u@a.example/", "https://a.example:99999/", "https://a.example:x/"),
        *("https://[::1", "https://[x]/", "javascript:alert(1)", "data:image/png;base64,AA", "file:///etc/passwd"),
        *("ftp://a.example/", "blob:https://a.example/1", "https://a.example/\n", "https://a.example/\t"),
        *("https://a.example/\u202e", "https://\u0430.example/", "https://a.example/\u00e9", " https://a.example/"),
        *("/blog/media/", "/blog/media/" + "a" * 63, "/blog/media/" + "A" * 64, "/blog/media/" + "0" * 64),
        *("/blog/media/" + "a" * 64 + "?", "/blog/media/../" + "a" * 64, "https://a.example/" + "a" * 2048),
        *(1, True, [], {}),
    ],
)
def test_an_odd_cover_is_refused(editor: httpx.Client, address: object) -> None:
    body = {"title": "Why a log?", "category": "engineering", "content": "", "cover_image_url": address}
    answer = editor.post(POSTS, json=body)

    assert answer.status_code == 400, answer.text
    assert answer.json()["details"]["fields"][0]["field"] == "/cover_image_url"
    assert editor.get(POSTS).json()["items"] == []


@pytest.mark.parametrize("slug", ["media", "feed", "feed-xml", "posts", "-"])
def test_a_slug_like_a_route_shadows_none(editor: httpx.Client, anyone: httpx.Client, slug: str) -> None:
    picture = upload(editor, draw_png()).json()["url"]
    publish_post(editor, "A title", slug=slug)

    assert "A title" in anyone.get(f"/blog/{slug}").text
    assert anyone.get(f"{PUBLIC}/{slug}").json()["title"] == "A title"
    assert anyone.get(picture).headers["Content-Type"] == "image/png"
    assert anyone.get("/blog/feed.xml").headers["Content-Type"].startswith("application/atom+xml")


@pytest.mark.both_engines
def test_lists_are_filtered_and_paged(editor: httpx.Client, anyone: httpx.Client, clock: FixedClock) -> None:
    written = []
    for number in range(5):
        clock.advance(timedelta(seconds=1))
        tags = ["a b", "100%"] if number % 2 else ["A B", 'quo"te']
        written.append(publish_post(editor, f"Post {number}", tags=tags, category="security"))
    clock.advance(timedelta(seconds=1))
    write_post(editor, "A draft of 100%", content="Nothing_here")

    def list_ids(client: httpx.Client, path: str, **query: Any) -> list[str]:
        found, cursor = [], None
        while True:
            page = client.get(path, params={"limit": 2, **query, **({"cursor": cursor} if cursor else {})}).json()
            found += [post["title"] for post in page["items"]]
            if (cursor := page["next_cursor"]) is None:
                return found

    newest_first = [post["title"] for post in reversed(written)]
    assert list_ids(anyone, PUBLIC) == newest_first
    assert list_ids(anyone, PUBLIC, tag="a b") == newest_first[1::2]
    assert list_ids(anyone, PUBLIC, tag='quo"te') == newest_first[::2]
    assert list_ids(anyone, PUBLIC, category="product") == list_ids(anyone, PUBLIC, tag="a") == []
    assert list_ids(editor, POSTS) == ["A draft of 100%", *newest_first]
    assert list_ids(editor, POSTS, status="draft") == list_ids(editor, POSTS, q="NOTHING_") == ["A draft of 100%"]
    assert list_ids(editor, POSTS, q="%") == ["A draft of 100%"]
    assert list_ids(editor, POSTS, q="nothing%here") == []


@pytest.mark.parametrize("query", ["limit=0", "status=gone", "category=x", "tag=", "cursor=W10", "colour=red"])
def test_a_wrong_query_is_refused(editor: httpx.Client, query: str) -> None:
    assert editor.get(f"{POSTS}?{query}").status_code == 400


def test_a_picture_is_stored_once_and_served_by_its_hash(editor: httpx.Client, anyone: httpx.Client) -> None:
    first, second = upload(editor, draw_png()), upload(editor, draw_png())
    address = first.json()["url"]
    shown = anyone.get(address)

    assert (first.status_code, second.json()) == (201, first.json())
    assert (shown.content, shown.headers["Content-Type"]) == (draw_png(), "image/png")
    assert "immutable" in shown.headers["Cache-Control"]
    assert "sandbox" in shown.headers["Content-Security-Policy"]
    assert write_post(editor, cover_image_url=address)["cover_image_url"] == address
    assert anyone.get("/blog/media/" + "0" * 64).status_code == 404


@pytest.mark.parametrize(
    ("content", "status"), [(b"<svg xmlns='http://www.w3.org/2000/svg'/>", 415), (b"GIF89a", 415), (b"", 400)]
)
def test_other_pictures_are_refused(editor: httpx.Client, content: bytes, status: int) -> None:
    assert upload(editor, content).status_code == status
    assert upload(editor, draw_png() + bytes(512 * 1024)).status_code == 413


def test_an_unknown_post_is_unknown(editor: httpx.Client) -> None:
    place = f"{POSTS}/{uuid4()}"
    answers = [editor.get(place), editor.put(place, json={}), editor.delete(place), editor.post(f"{place}/archive")]
    assert [answer.status_code for answer in answers] == [404] * 4
