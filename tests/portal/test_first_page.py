"""The first page, its search, the API reference and the files at fixed addresses, over HTTP and without scripts."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import quote, urljoin

import httpx
import pytest
from portal.test_hostile_strings import PAYLOADS, inventory, unseen

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.portal.navigation import NAVIGATION
from support.in_process_server import make_client, serve_in_thread
from support.portal import DOCUMENT, ParsedPage, mint_document

pytestmark = pytest.mark.one_world

OTHER_DOCUMENT = b"another diploma"
SHA256 = hashlib.sha256(OTHER_DOCUMENT).hexdigest()


@pytest.fixture
def visitor(lab: Installation) -> Iterator[httpx.Client]:
    with serve_in_thread(lab) as url, make_client(url) as client:
        yield client


def search(visitor: httpx.Client, text: str, **more: str) -> httpx.Response:
    return visitor.get("/find", params={"q": text, **more})


@pytest.mark.own_world
def test_the_first_page_shows_the_log_as_it_is(visitor: httpx.Client, lab: Installation, caller: Caller) -> None:
    mint_document(lab, caller)
    head = visitor.get("/v1/log/head").json()

    page = ParsedPage(visitor.get("/").text)

    assert f"Entries {head['tree_size']} New today {head['tree_size']}" in page.text
    assert page.text.count(head["root_hash"].removeprefix("sha256:")[:12]) == 1
    assert head["origin"] in page.text
    assert [part for part in page.all("rect") if "class" not in part] != []
    assert "witness" not in page.text


@pytest.mark.own_world
def test_bars_count_the_entries_of_each_day(
    visitor: httpx.Client, lab: Installation, caller: Caller, clock: FixedClock
) -> None:
    for days in (0, 1, 3):
        clock.advance(timedelta(days=days))
        mint_document(lab, caller)

    counts = lab.portal.overview(clock.now(), days=5).new_entries

    assert len(counts) == 5
    assert sum(counts) == lab.portal.overview(clock.now()).head.size
    assert [count > 0 for count in counts] == [True, True, False, False, True]


def test_the_description_has_the_redirect_of_a_search_with_its_headers(
    visitor: httpx.Client, lab: Installation, caller: Caller
) -> None:
    found = search(visitor, str(mint_document(lab, caller)))
    described = visitor.get("/openapi.json").json()["paths"]["/find"]["get"]["responses"]

    assert {"200", "303", "404"} <= set(described)
    assert "Location" not in described["200"]["headers"]
    own = {"location", "cache-control"}
    assert own <= {name.lower() for name in described["303"]["headers"]} & set(found.headers)


def test_the_viewer_of_the_reference_arrives_compressed_and_whole(visitor: httpx.Client) -> None:
    (path,) = re.findall(r'src="\./(assets/openapi-explorer[^"]+)"', visitor.get("/docs").text)
    viewer = visitor.get(f"/{path}", headers={"Accept-Encoding": "gzip"})
    plain = visitor.get(f"/{path}", headers={"Accept-Encoding": "identity"})

    assert (viewer.headers["content-encoding"], "content-encoding" in plain.headers) == ("gzip", False)
    assert viewer.content == plain.content
    assert 3 * int(viewer.headers["content-length"]) < int(plain.headers["content-length"])


def test_an_id_an_index_and_a_hash_lead_to_the_attestation(
    visitor: httpx.Client, lab: Installation, caller: Caller
) -> None:
    attestation_id = mint_document(lab, caller, document_hash=SHA256)
    index = lab.attestations.get(attestation_id, caller=caller).log_index
    share_url = lab.links.share_url(attestation_id)
    leaf = visitor.get("/v1/log/lookup", params={"attestation_id": str(attestation_id)}).json()["leaf_hash"]

    found = {text: search(visitor, text) for text in (str(attestation_id), str(index), SHA256, leaf, share_url)}

    assert {answer.status_code for answer in found.values()} == {303}
    shared = found.pop(share_url).headers["Location"]
    assert {urljoin("/find", answer.headers["Location"]) for answer in found.values()} == {f"/a/{attestation_id}"}
    assert shared == f"a/{attestation_id}?k={share_url.partition('k=')[2]}"


@pytest.mark.own_world
def test_several_attestations_of_a_document_are_listed(
    visitor: httpx.Client, lab: Installation, caller: Caller
) -> None:
    ids = [mint_document(lab, caller, document_hash=hashlib.sha256(DOCUMENT).hexdigest()) for _ in range(2)]
    lab.attestations.revoke(ids[1], reason="misspelt", caller=caller)

    page = ParsedPage(search(visitor, hashlib.sha256(DOCUMENT).hexdigest(), file="1").text)

    assert "2 attestations of this file" in page.text
    assert [link for link in ids if {"href": f"./a/{link}"} not in page.all("a")] == []
    assert page.text.count("REVOKED") == 1
    assert [text for text in ("Ada Lovelace", "misspelt") if text in page.html] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0" * 64, "No document with this SHA-256 is attested"),
        ("999999", "The log has no entry 999999"),
        ("diploma", "This names no attestation"),
    ],
)
def test_a_search_without_result_is_a_page_with_404(visitor: httpx.Client, text: str, sentence: str) -> None:
    answer = search(visitor, text)

    assert (answer.status_code, sentence in ParsedPage(answer.text).text) == (404, True)


def test_a_file_made_of_the_bytes_of_a_leaf_is_not_attested(
    visitor: httpx.Client, lab: Installation, caller: Caller
) -> None:
    mint_document(lab, caller)
    entry = visitor.get("/v1/log/entries", params={"limit": 100}).json()["items"][-1]
    digest = hashlib.sha256(b"\0" + base64.b64decode(entry["entry_b64"])).hexdigest()

    as_hash, as_file = search(visitor, digest), search(visitor, digest, file="1")

    assert digest == entry["leaf_hash"].removeprefix("sha256:")
    assert as_hash.status_code != 404
    assert (as_file.status_code, "NOT ATTESTED" in ParsedPage(as_file.text).text) == (404, True)


def test_an_entry_of_no_attestation_is_described(visitor: httpx.Client, lab: Installation, caller: Caller) -> None:
    mint_document(lab, caller)
    entries = visitor.get("/v1/log/entries", params={"limit": 100}).json()["items"]
    index = next(entry["log_index"] for entry in entries if entry["type"] == "key.status")

    answer = search(visitor, str(index))

    assert answer.status_code == 200
    assert f"Entry {index} is a change of an issuer's key" in ParsedPage(answer.text).text


def test_a_search_without_words_offers_the_box(visitor: httpx.Client) -> None:
    page = ParsedPage(visitor.get("/find").text)

    assert "What would you like to verify?" in page.text
    assert [part["name"] for part in page.all("input") if part.get("type") == "search"] == ["q"]


def test_what_is_searched_appears_as_text(visitor: httpx.Client) -> None:
    plain = inventory(ParsedPage(search(visitor, "plain").text))
    for payload in PAYLOADS:
        page = ParsedPage(search(visitor, payload).text)

        assert [(tag, {n: v for n, v in part if n != "value"}) for tag, part in inventory(page)] == [
            (tag, {n: v for n, v in part if n != "value"}) for tag, part in plain
        ], payload
        assert unseen(page.html) == [], payload


@pytest.mark.parametrize("path", ["/", "/find", "/docs", "/nowhere"])
def test_every_link_of_a_page_leads_somewhere(visitor: httpx.Client, path: str) -> None:
    page = ParsedPage(visitor.get(path, headers={"Accept": "text/html"}).text)

    links = {str(part["href"]) for tag in ("a", "link") for part in page.all(tag) if part["href"]}
    links |= {str(part["src"]) for part in page.all("script")}
    places = {link: urljoin(path, link) for link in links if not link.startswith("#")}
    statuses = {link: visitor.get(place, follow_redirects=True).status_code for link, place in places.items()}

    assert {link: status for link, status in statuses.items() if status != 200} == {}
    assert len(statuses) >= 4


@pytest.mark.parametrize("path", ["/", "/find", "/docs", "/nowhere"])
def test_pages_run_only_scripts_of_this_host(visitor: httpx.Client, path: str) -> None:
    answer = visitor.get(path, headers={"Accept": "text/html"})
    policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; "))

    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert answer.text.count("<script") == answer.text.count("></script>")
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//", answer.text) == []
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_the_reference_reads_our_description(visitor: httpx.Client) -> None:
    page = ParsedPage(visitor.get("/docs").text)

    (viewer,) = page.all("openapi-explorer")
    assert visitor.get(urljoin("/docs", str(viewer["spec-url"]))).json()["openapi"].startswith("3.1")


def test_the_files_that_browsers_look_for_exist(visitor: httpx.Client) -> None:
    icon, robots = visitor.get("/favicon.ico"), visitor.get("/robots.txt")

    assert (icon.status_code, icon.content[:4]) == (200, b"\x00\x00\x01\x00")
    assert (robots.status_code, "/a/" in robots.text) == (200, False)


def test_security_txt_names_the_contact_of_the_operator(lab: Installation) -> None:
    contact = {"security_contact": "mailto:security@example.com"}
    with serve_in_thread(lab) as url, make_client(url) as client:
        missing = client.get("/.well-known/security.txt")
        lab.settings, before = lab.settings.model_copy(update=contact), lab.settings
        try:
            with serve_in_thread(lab) as named, make_client(named) as other:
                found = other.get("/.well-known/security.txt")
        finally:
            lab.settings = before

    assert missing.status_code == 404
    assert found.text.startswith("Contact: mailto:security@example.com\nExpires: 20")
    assert f"Canonical: {lab.portal_url}/.well-known/security.txt\n" in found.text


@pytest.mark.parametrize("payload", ["<script>alert(1)</script>", "{{7919*7907}}"])
def test_an_unknown_path_appears_as_text(visitor: httpx.Client, payload: str) -> None:
    page = visitor.get(f"/{quote(payload)}", headers={"Accept": "text/html"})

    evaluated = str(7919 * 7907) in ParsedPage(page.text).text
    assert (page.status_code, payload in page.text, evaluated) == (404, False, False)


@pytest.mark.parametrize("has_dashboards", [True, False])
@pytest.mark.parametrize(("path", "links"), [("/", 2), ("/find", 1), ("/docs", 1), ("/nowhere", 1)])
def test_pages_lead_to_the_dashboards_where_there_are_some(
    visitor: httpx.Client, monkeypatch: pytest.MonkeyPatch, path: str, links: int, has_dashboards: bool
) -> None:
    monkeypatch.setattr(NAVIGATION, "has_dashboards", has_dashboards)
    page = ParsedPage(visitor.get(path, headers={"Accept": "text/html"}).text)

    found = [part["href"] for part in page.all("a") if str(part["href"]).endswith("dash/")]
    assert len(found) == (links if has_dashboards else 0)
