"""Requests below a path are forwarded to another process, websockets too; what a client claims is not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import httpx
import pytest
import tornado.websocket
from tornado.iostream import IOStream

from attestlab.core.errors import Unavailable
from support import patient_http
from support.forwarded_site import LARGE, connect_to, serve_site, serve_upstream
from support.raw_http import get_request, post_request
from support.sample_application import SampleServer
from support.timeouts import WAIT_TIMEOUT_S


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleServer]:
    path = tmp_path_factory.mktemp("upstream") / "own.sock"
    with serve_upstream(path), serve_site(connect_to(path)) as server:
        yield server


def test_the_prefix_alone_is_forwarded(site: SampleServer) -> None:
    with patient_http.open_client(base_url=site.url) as client:
        own = [client.get(path).json()["code"] for path in ("/dashboards", "/other", "/")]
        theirs = [client.get(path).status_code for path in ("/dash", "/dash/", "/dash/nowhere", "/dash/echo")]

    assert (own, theirs) == (["NOT_FOUND"] * 3, [404, 404, 404, 200])


def test_what_a_client_claims_about_itself_is_replaced(site: SampleServer) -> None:
    claims = {
        "X-Forwarded-For": "203.0.113.9",
        "X-Real-Ip": "203.0.113.9",
        "Forwarded": "for=203.0.113.9",
        "X-Forwarded-Proto": "https",
        "X-Scheme": "https",
        "X-Forwarded-Prefix": "/elsewhere",
        "X-Forwarded-Server": "elsewhere.example",
        "Cookie": "a=b",
    }
    with patient_http.open_client(base_url=site.url) as client:
        shown = client.get("/dash/echo", headers=claims).json()

    assert shown["address"] == "127.0.0.1"
    assert shown["headers"]["Cookie"] == "a=b"
    left = {name for name in shown["headers"] if name.startswith("X-Forwarded-")} - {"X-Forwarded-For"}
    assert left | ({"X-Real-Ip", "Forwarded", "X-Scheme"} & shown["headers"].keys()) == set()


def test_bodies_pass_in_both_directions_on_one_connection(site: SampleServer) -> None:
    with patient_http.open_client(base_url=site.url) as client:
        echoed = [client.post("/dash/echo", content=body).content for body in (b"", b"hello", b"y" * 60_000)]
        streamed = client.get("/dash/slowly").content
        healthy = client.get("/healthz").json()

    assert echoed == [b"", b"hello", b"y" * 60_000]
    assert (streamed, healthy) == (LARGE * 3, {"status": "ok"})


def test_pipelined_requests_keep_their_order(site: SampleServer) -> None:
    with site.connect() as connection:
        connection.send((get_request("/healthz") + post_request("/dash/echo", b"one")) * 3)
        bodies = [connection.response().body for _ in range(6)]

    assert bodies == [b'{"status":"ok"}', b"one"] * 3


def test_a_response_that_breaks_off_is_noticed(site: SampleServer) -> None:
    with patient_http.open_client(base_url=site.url) as client, pytest.raises(httpx.TransportError):
        client.get("/dash/slowly?breaks=1")


def test_a_response_without_a_length_that_breaks_off_is_reset(site: SampleServer) -> None:
    """The end of the connection is the end of the body for HTTP/1.0."""
    with site.connect() as wire:
        wire.send(b"GET /dash/slowly?breaks=1 HTTP/1.0\r\nHost: test\r\n\r\n").response()
        with pytest.raises(ConnectionResetError):
            while wire.socket.recv(65536):
                pass


def test_a_websocket_is_relayed_until_one_side_closes_it(site: SampleServer) -> None:
    async def talk() -> tuple[list[str | bytes | None], int | None]:
        socket = await tornado.websocket.websocket_connect(f"ws://127.0.0.1:{site.port}/dash/talk")
        heard: list[str | bytes | None] = []
        for message in ("hello", "z" * 200_000, "bye"):
            await socket.write_message(message)
            heard.append(await socket.read_message())
        assert await socket.read_message() is None
        socket.close()
        return heard, socket.close_code

    assert asyncio.run(talk()) == (["hello", "z" * 200_000, "closing"], 4001)


def test_an_open_websocket_counts_as_a_connection(site: SampleServer) -> None:
    async def talk() -> int:
        socket = await tornado.websocket.websocket_connect(f"ws://127.0.0.1:{site.port}/dash/talk")
        await socket.write_message("hello")
        assert await socket.read_message() == "hello"
        count = site.server.open_connections
        socket.close()
        await socket.read_message()
        return count

    before = site.server.open_connections
    assert asyncio.run(talk()) == before + 1
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while site.server.open_connections > before:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_without_the_other_process_the_client_learns_why() -> None:
    async def connect() -> IOStream:
        raise Unavailable("The dashboards are not installed.")

    with serve_site(connect) as server, patient_http.open_client(base_url=server.url) as client:
        answers = [client.get("/dash/echo"), client.post("/dash/echo", content=LARGE[:1000])]
        healthy = client.get("/healthz").json()

    assert [(answer.status_code, answer.text) for answer in answers] == [(503, "The dashboards are not installed.")] * 2
    assert answers[0].headers["retry-after"] == "2"
    assert healthy == {"status": "ok"}
