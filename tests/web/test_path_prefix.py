"""Below a path of a proxy: what the service says about its own addresses, and who may name the path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from ipaddress import ip_network

import httpx
import pytest
from pydantic import ValidationError

import attestlab
from attestlab.core.errors import ValidationFailed
from attestlab.core.path_prefix import MAX_PREFIX_CHARS, parse_path_prefix
from attestlab.installation import Installation
from attestlab.log.follower.http_log import HttpLog
from attestlab.orgs.rules import Caller, Scope
from attestlab.server.app import list_described_routes
from attestlab.settings import Settings
from attestlab.web.path_prefix import PathPrefixResolver
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.rate_limit.limiter import is_probe
from support import patient_http
from support.in_process_server import make_client, serve_in_thread
from support.path_proxy import serve_below
from support.portal import ParsedPage, mint_document

pytestmark = pytest.mark.one_world

PROXIES = (ip_network("127.0.0.0/8"),)
BROWSER = {"Accept": "text/html"}
ANYTHING = {"Accept": "text/html, */*;q=0.5"}
BELOW = {"X-Forwarded-Prefix": "/lab/attest"}
NOT_CLEAN = (
    *("attest", "//evil.example", "/attest//x", "/a/../b", "/.", "/a.b", "/%61", "/a%2fb", "/a b", "/a;Path=/"),
    *("/a, /b", "/a\tb", "/a\x00", "/a\\b", "https://evil.example/a", "/é", "/a?b", "/a#b"),
    "/" + "a" * MAX_PREFIX_CHARS,
)


@pytest.fixture
def served(lab: Installation) -> Iterator[str]:
    """The address of a server that trusts the proxies of this machine, and whose portal has another name."""
    before = lab.settings
    own: dict[str, object] = {
        "trusted_proxies": PROXIES,
        "portal_url": "https://lab.example/set",
        "address_requests_per_minute": 10_000,
    }
    lab.settings = before.model_copy(update=own)
    try:
        with serve_in_thread(lab) as url:
            yield url
    finally:
        lab.settings = before


@pytest.fixture
def client(served: str) -> Iterator[httpx.Client]:
    with make_client(served) as opened:
        yield opened


def read_server(answer: httpx.Response) -> str:
    (server,) = answer.json()["servers"]
    return str(server["url"])


@pytest.mark.parametrize("text", NOT_CLEAN)
def test_a_prefix_is_a_clean_path(text: str) -> None:
    with pytest.raises(ValueError, match="such as '/attest'"):
        parse_path_prefix(text)
    with pytest.raises(ValidationError, match="such as '/attest'"):
        Settings(path_prefix=text)


@pytest.mark.parametrize(
    ("peer", "forwarded", "prefix"),
    [
        ("10.0.0.1", None, "/set"),
        ("10.0.0.1", "/lab/attest", "/lab/attest"),
        ("10.0.0.1", "/lab/", "/lab"),
        ("10.0.0.1", "/", ""),
        *(("10.0.0.1", text, "/set") for text in NOT_CLEAN),
        ("192.0.2.1", "/lab", "/set"),
        ("", "/lab", "/lab"),  # a process of this service
    ],
)
def test_a_trusted_proxy_alone_names_the_prefix(peer: str, forwarded: str | None, prefix: str) -> None:
    resolver = PathPrefixResolver(ClientAddressResolver([ip_network("10.0.0.0/8")]), "/set")

    assert resolver.resolve(peer, forwarded) == prefix


def test_a_header_that_is_no_prefix_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    resolver = PathPrefixResolver(ClientAddressResolver([ip_network("10.0.0.0/8")]))

    assert [resolver.resolve("10.0.0.1", "attest") for _ in range(2)] == ["", ""]

    (line,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert (line["event"], line["peer"]) == ("X-Forwarded-Prefix is ignored", "10.0.0.1")
    assert "'attest' is no path prefix" in line["remedy"]


@pytest.mark.parametrize(
    ("settings", "prefix"),
    [
        ({}, ""),
        ({"portal_url": "https://lab.example"}, ""),
        ({"portal_url": "https://lab.example/attest/"}, "/attest"),
        ({"portal_url": "https://lab.example/attest", "path_prefix": "/other/"}, "/other"),
        ({"portal_url": "https://lab.example/attest", "path_prefix": "/"}, ""),
        ({"portal_url": "https://lab.example/a.b", "path_prefix": "/other"}, "/other"),
    ],
)
def test_the_prefix_is_a_setting_or_the_path_of_the_portal(settings: dict[str, str], prefix: str) -> None:
    assert Settings(**settings).served_below == prefix  # type: ignore[arg-type]  # of the environment, texts


def test_a_portal_with_another_path_wants_the_setting() -> None:
    with pytest.raises(ValidationFailed, match="Set ATTESTLAB_PATH_PREFIX"):
        Settings(portal_url="https://lab.example/a.b")


def test_openapi_names_the_prefix_and_caches_keep_both_apart(client: httpx.Client) -> None:
    answers = [client.get("/openapi.json", headers=headers) for headers in ({}, BELOW, {"X-Forwarded-Prefix": "/"})]

    assert [read_server(answer) for answer in answers] == ["/set", "/lab/attest", "/"]
    assert {answer.headers["Vary"] for answer in answers} == {"X-Forwarded-Prefix, Accept-Encoding"}
    assert len({answer.headers["ETag"] for answer in answers}) == 3
    paths = [answer.json()["paths"].keys() for answer in answers]
    assert paths[0] == paths[1] == paths[2]


def stored(answer: httpx.Response) -> tuple[object, ...]:
    """What a cache stores of an answer, without the id of its request."""
    headers = [answer.headers.get(name) for name in ("Location", "Set-Cookie")]
    return answer.status_code, *headers, answer.text.replace(answer.headers["X-Request-Id"], "")


def test_every_answer_that_depends_on_the_header_names_it(lab: Installation, served: str, caller: Caller) -> None:
    attestation = str(mint_document(lab, caller))
    key = lab.api_keys.create("Reader", scopes=frozenset(Scope), caller=caller).secret
    gets = [route.path for route in list_described_routes() if route.method == "GET" and not is_probe(route)]
    deep, search = "/nowhere" * 30, f"/find?q={attestation}"
    with make_client(served, key=key) as client:

        def get(path: str, **headers: str) -> httpx.Response:
            return client.get(re.sub(r"\{[^}]*\}", attestation, path), headers={**ANYTHING, **headers})

        pairs = {path: (get(path), get(path, **BELOW)) for path in (*gets, deep, search)}
        unlike = {path: stored(pair[0]) for path, pair in pairs.items() if stored(pair[0]) != stored(pair[1])}
        dependent = {path for path, before in unlike.items() if stored(get(path)) == before}

    assert 429 not in {answer.status_code for pair in pairs.values() for answer in pair}
    assert dependent >= {"/openapi.json", deep}
    unnamed = [path for path in dependent for each in pairs[path] if "X-Forwarded-Prefix" not in each.headers["Vary"]]
    assert unnamed == []


def test_a_created_object_is_at_a_location_below_the_prefix(lab: Installation, served: str, caller: Caller) -> None:
    signal = {"source": "gateway", "signal_type": "behavior", "score": 1, "entity_type": "user", "entity_id": "ada"}
    key = lab.api_keys.create("Program", scopes=frozenset({Scope.RISK_WRITE}), caller=caller).secret
    with make_client(served, key=key) as client:
        keyed = {"Idempotency-Key": "once"}
        first, again = (client.post("/v1/risk/signals", json=signal, headers={**keyed, **BELOW}) for _ in range(2))
        elsewhere = client.post("/v1/risk/signals", json=signal, headers=keyed)

    path = f"/v1/risk/signals/{first.json()['id']}"
    assert [answer.headers["Location"] for answer in (first, again, elsewhere)] == [
        *[f"/lab/attest{path}"] * 2,
        f"/set{path}",
    ]
    assert all("X-Forwarded-Prefix" in answer.headers["Vary"] for answer in (first, again, elsewhere))


def test_an_error_far_below_leads_back_to_the_first_page(client: httpx.Client) -> None:
    page = client.get("/nowhere" * 30, headers={**BROWSER, **BELOW})

    links = [each["href"] for each in ParsedPage(page.text).all("a")]
    assert "/lab/attest/" in links
    assert {link for link in links if link and link.startswith("/")} <= {
        "/lab/attest/",
        "/lab/attest/docs",
        "/lab/attest/blog",
        "/lab/attest/inbox",
    }


def test_every_link_of_a_public_page_is_relative(lab: Installation, served: str, caller: Caller) -> None:
    attestation = mint_document(lab, caller)
    paths = ["/", "/find", "/find?q=1", "/docs", f"/a/{attestation}", "/a/none", "/invitations/accept?token=x", "/none"]
    paths += ["/signin"]
    with make_client(served) as client:
        pages = [ParsedPage(client.get(path, headers=BROWSER).text) for path in paths]

    links = {
        link
        for page in pages
        for tag, name in (("a", "href"), ("link", "href"), ("script", "src"), ("img", "src"), ("form", "action"))
        for element in page.all(tag)
        if (link := element.get(name))
    }
    assert links
    assert {link for link in links if link.startswith("/") or "//" in link} == set()


def test_a_search_leads_to_the_page_below_the_prefix(lab: Installation, served: str, caller: Caller) -> None:
    attestation = mint_document(lab, caller)
    with serve_below(served, "/lab/attest") as url, make_client(url) as client:
        asked = client.get(f"{url}/find", params={"q": str(attestation)})
        page = client.get(asked.url.join(asked.headers["Location"]), headers=BROWSER)

    assert asked.status_code == 303
    assert (page.status_code, page.url.path) == (200, f"/lab/attest/a/{attestation}")


def test_clients_and_followers_of_the_log_take_an_address_with_a_path(
    lab: Installation, served: str, caller: Caller
) -> None:
    mint_document(lab, caller)
    key = lab.api_keys.create("Program", scopes=frozenset(Scope), caller=caller).secret
    with serve_below(served, "/lab/attest") as url, attestlab.connect(url, key) as remote:
        listed = [each.verify().verdict for each in remote.attestations]
        log = HttpLog(url)
        heads = {log.checkpoint(), patient_http.get(f"{served}/log/checkpoint").text}
        log.close()

    assert (listed, len(heads)) == (["VALID"], 1)


def test_a_client_that_is_no_proxy_changes_nothing(lab: Installation) -> None:
    with serve_in_thread(lab) as url, make_client(url) as client:
        assert read_server(client.get("/openapi.json", headers=BELOW)) == "/"
        page = client.get("/nowhere" * 30, headers={**BROWSER, **BELOW})

    assert "/lab" not in page.text
