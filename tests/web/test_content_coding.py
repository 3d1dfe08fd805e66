"""Compression: large JSON goes out as gzip where the client accepts it, and no response with a secret does."""

from __future__ import annotations

import gzip
import threading

import httpx
import pytest

from attestlab.server.app import all_routes
from attestlab.web import content_coding
from attestlab.web.etags import strong_etag
from attestlab.web.response import JSON, Response
from support.sample_application import KNOWN_ID

LARGE = "/openapi.json"  # of the sample application: some 30 kB
VARY = "X-Forwarded-Prefix, Accept-Encoding"
GZIP = {"Accept-Encoding": "gzip"}
PLAIN = {"Accept-Encoding": "identity"}


def get_raw(
    client: httpx.Client, path: str, headers: dict[str, str], method: str = "GET"
) -> tuple[httpx.Response, bytes]:
    """The response, and its body as it was sent."""
    with client.stream(method, path, headers=headers) as response:
        return response, b"".join(response.iter_raw())


def test_a_large_response_is_compressed_for_a_client_that_accepts_it(client: httpx.Client) -> None:
    plain, body = get_raw(client, LARGE, PLAIN)
    coded, packed = get_raw(client, LARGE, GZIP)

    assert "content-encoding" not in plain.headers
    assert coded.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed) == body
    assert len(packed) < len(body) / 3
    assert int(coded.headers["content-length"]) == len(packed)
    assert {plain.headers["vary"], coded.headers["vary"]} == {VARY}


def test_each_form_has_its_own_tag(client: httpx.Client) -> None:
    plain, body = get_raw(client, LARGE, PLAIN)
    coded, _ = get_raw(client, LARGE, GZIP)

    assert plain.headers["etag"] == strong_etag(body)
    assert coded.headers["etag"] == plain.headers["etag"][:-1] + '-gzip"'


@pytest.mark.parametrize("accepted", [GZIP, PLAIN])
def test_a_form_is_revalidated_by_its_own_tag(client: httpx.Client, accepted: dict[str, str]) -> None:
    tag = get_raw(client, LARGE, accepted)[0].headers["etag"]
    other = get_raw(client, LARGE, PLAIN if accepted is GZIP else GZIP)[0].headers["etag"]

    same, body = get_raw(client, LARGE, {**accepted, "If-None-Match": tag})
    different, _ = get_raw(client, LARGE, {**accepted, "If-None-Match": other})

    assert (same.status_code, body, same.headers["etag"]) == (304, b"", tag)
    assert same.headers["vary"] == VARY
    assert "content-encoding" not in same.headers
    assert different.status_code == 200


def test_head_states_what_get_would(client: httpx.Client) -> None:
    got, packed = get_raw(client, LARGE, GZIP)
    headed, body = get_raw(client, LARGE, GZIP, "HEAD")

    assert body == b""
    for name in ("content-length", "content-encoding", "etag", "vary"):
        assert headed.headers[name] == got.headers[name]
    assert int(headed.headers["content-length"]) == len(packed)


def test_a_small_response_is_sent_as_it_is(client: httpx.Client) -> None:
    response, _ = get_raw(client, f"/v1/notes/{KNOWN_ID}", GZIP)

    assert "content-encoding" not in response.headers
    assert "vary" not in response.headers


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that compress from now on; nothing is kept from before."""
    names: list[str] = []
    compress = gzip.compress

    def compress_and_note(body: bytes, level: int, *, mtime: float) -> bytes:
        names.append(threading.current_thread().name)
        return compress(body, level, mtime=mtime)

    monkeypatch.setattr(content_coding, "_kept", {})
    monkeypatch.setattr(content_coding.gzip, "compress", compress_and_note)
    return names


def test_a_fixed_body_is_compressed_once_and_in_a_thread(client: httpx.Client, threads: list[str]) -> None:
    """Half a megabyte takes 20 ms, during which other requests would wait."""
    sent = [get_raw(client, LARGE, GZIP)[1] for _ in range(3)]

    assert [name.startswith("attestlab-bodies") for name in threads] == [True]
    assert len(set(sent)) == 1


@pytest.mark.parametrize("media_type", ["text/javascript; charset=utf-8", "text/css; charset=utf-8", "image/svg+xml"])
def test_the_files_of_pages_are_compressed(media_type: str) -> None:
    """They are public, and no part of them is chosen by a visitor; an error about one is a page like others."""
    (route,) = (route for route in all_routes() if route.path == "/assets/{name}")
    found = Response(200, {"Content-Type": media_type}, b"x" * 2_000)

    assert content_coding.is_compressible(route, found)
    assert not content_coding.is_compressible(route, found._replace(status=404))
    assert not content_coding.is_compressible(route, found._replace(headers={"Content-Type": "image/x-icon"}))


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        *[("gzip", True), ("GZIP", True), ("br, gzip;q=0.1", True), ("*", True), ("x-gzip", True)],
        *[("gzip;q=0", False), ("gzip;q=0.000, *", False), ("identity", False), ("br", False), ("", False)],
        *[("gzip;q=", False), ("gzip q=1", False), (None, False)],
    ],
)
def test_a_client_accepts_gzip_where_its_header_says_so(header: str | None, accepted: bool) -> None:
    assert content_coding.accepts_gzip(header) is accepted


def test_routes_with_secrets_are_never_compressed() -> None:
    """An attacker who makes a client repeat requests could else read a secret from lengths (BREACH)."""
    large = Response(200, {"Content-Type": JSON}, b"[" + b"1," * 1000 + b"1]")
    routes = [route for route in all_routes() if content_coding.is_compressible(route, large)]
    compressed = {f"{route.method} {route.path}" for route in routes}

    assert "GET /v1/attestations" in compressed
    assert "POST /v1/policies/simulate" in compressed
    assert compressed.isdisjoint(
        {
            *("POST /v1/auth/login", "POST /v1/auth/refresh", "POST /v1/api-keys", "POST /v1/consumer/api-keys"),
            *("POST /v1/attestations/mint", "POST /v1/attestations/batch", "POST /v1/attestations/{id}/supersede"),
            *("GET /a/{id}", "GET /a/{id}/bundle.json", "GET /", "GET /find"),
        }
    )
