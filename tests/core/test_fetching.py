"""Fetches from untrusted hosts: a hostile host costs neither memory nor time beyond the limits."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from attestlab.core.fetching import MAX_ERROR_BYTES, Fetched, Fetcher, FetchLimits, HostUnreachable, UnacceptableAnswer
from support.hostile_server import (
    BOMB_BYTES,
    ENCODERS,
    Answer,
    compression_bomb,
    drip_answer,
    endless_chunks,
    endless_header,
    endless_length,
    make_answer,
    serve_hostile_answers,
)
from support.memory import call_in_little_memory
from support.timeouts import WAIT_TIMEOUT_S

LIMITS = FetchLimits(max_body_bytes=100_000, deadline_s=WAIT_TIMEOUT_S)
MAX_EXTRA_BYTES = BOMB_BYTES // 2  # 3 MB of it for modules that are imported late
MAX_TAKEN_BYTES = 64 << 20  # more than the buffers of a connection hold
Fetch = Callable[[Fetcher, str, FetchLimits], Fetched]


def post_with_limits(fetcher: Fetcher, url: str, limits: FetchLimits) -> Fetched:
    return asyncio.run(fetcher.post(url, b"content", limits))


@dataclass(frozen=True)
class Fetching:
    """Either form of a fetch, by one fetcher."""

    form: Fetch
    fetcher: Fetcher

    def __call__(self, url: str, limits: FetchLimits = LIMITS) -> Fetched:
        return self.form(self.fetcher, url, limits)


@pytest.fixture(params=[Fetcher.fetch, post_with_limits], ids=["sync", "async"])
def fetch(request: pytest.FixtureRequest) -> Iterator[Fetching]:
    """Either form of a fetch."""
    with closing(Fetcher()) as fetcher:
        yield Fetching(request.param, fetcher)


def fetch_once(form: Fetch, url: str) -> Fetched:
    """Fetch with a new fetcher."""
    with closing(Fetcher()) as fetcher:
        return form(fetcher, url, LIMITS)


def fetch_in_little_memory(fetch: Fetching, url: str) -> Fetched:
    """Fetch while Python allocates at most `MAX_EXTRA_BYTES`."""
    return call_in_little_memory(fetch_once, fetch.form, url, max_bytes=MAX_EXTRA_BYTES)


def test_response_is_returned_unchanged(fetch: Fetching) -> None:
    with serve_hostile_answers(
        make_answer(b"body", "Content-Type: text/plain", "Content-Encoding: identity")
    ) as server:
        assert fetch(server.url) == Fetched(200, "text/plain", b"body")
    assert b"accept-encoding: identity\r\n" in server.requests[0].lower()


@pytest.mark.parametrize("coding", ENCODERS)
def test_encoded_response_is_rejected_unread(fetch: Fetching, coding: str) -> None:
    """
    26 KB of gzip in gzip unfold to gigabytes.
    """
    with (
        serve_hostile_answers(compression_bomb(coding)) as server,
        pytest.raises(UnacceptableAnswer, match="content coding"),
    ):
        fetch_in_little_memory(fetch, server.url)


def test_encoded_error_response_has_an_empty_body(fetch: Fetching) -> None:
    with serve_hostile_answers(compression_bomb("gzip, gzip", status="404 Not Found")) as server:
        assert fetch_in_little_memory(fetch, server.url) == Fetched(404, "", b"")


def test_error_body_is_truncated(fetch: Fetching) -> None:
    with serve_hostile_answers(make_answer(b"x" * 1_000_000, status="500 Oops")) as server:
        assert fetch(server.url).body == b"x" * MAX_ERROR_BYTES


@pytest.mark.parametrize("endless", [endless_chunks, endless_length])
def test_a_body_is_read_up_to_its_limit(fetch: Fetching, endless: Answer) -> None:
    with (
        serve_hostile_answers(endless) as server,
        pytest.raises(UnacceptableAnswer, match=r"limit of 100,000 bytes"),
    ):
        fetch_in_little_memory(fetch, server.url)
    assert server.sent_bytes < MAX_TAKEN_BYTES, "the connection was closed at the limit"


def test_a_body_may_be_exactly_as_long_as_its_limit(fetch: Fetching) -> None:
    with serve_hostile_answers(make_answer(bytes(LIMITS.max_body_bytes))) as server:
        assert len(fetch(server.url).body) == LIMITS.max_body_bytes


def test_endless_header_is_rejected(fetch: Fetching) -> None:
    with serve_hostile_answers(endless_header) as server, pytest.raises(HostUnreachable):
        fetch_in_little_memory(fetch, server.url)


@pytest.mark.parametrize(
    "drips",
    [
        drip_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\n", b"x"),
        drip_answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", b"X: x\r\n"),
        drip_answer(b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ],
    ids=["body", "header", "informational answers"],
)
def test_slow_host_fails_at_the_deadline(fetch: Fetching, drips: Answer) -> None:
    with serve_hostile_answers(drips) as server, pytest.raises(HostUnreachable, match=r"within 0\.2 seconds"):
        fetch(server.url, FetchLimits(100_000, deadline_s=0.2))


def test_redirect_is_returned_and_not_followed(fetch: Fetching) -> None:
    with (
        serve_hostile_answers(make_answer(b"elsewhere")) as elsewhere,
        serve_hostile_answers(
            make_answer(b"", f"Location: {elsewhere.url}/secret", status="307 Temporary Redirect")
        ) as server,
    ):
        assert fetch(server.url).status == 307
    assert elsewhere.requests == []


def test_cookies_are_not_stored(fetch: Fetching) -> None:
    with serve_hostile_answers(make_answer(b"", "Set-Cookie: a=b")) as server:
        fetch(server.url)
        fetch(server.url)
    assert [b"cookie" in request.lower() for request in server.requests] == [False, False]


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/", "http://[::1", "http://" + "x" * 64 + ".invalid/", "ftp://127.0.0.1/", "http://é..x/", ""],
)
def test_unreachable_address_raises_host_unreachable(fetch: Fetching, url: str) -> None:
    with pytest.raises(HostUnreachable, match="cannot be read"):
        fetch(url)


def test_close_cancels_running_fetches() -> None:
    async def close_in_flight(url: str) -> None:
        fetcher = Fetcher()
        fetching = asyncio.create_task(fetcher.post(url, b"", LIMITS))
        while not server.requests:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(fetcher.close)
        with pytest.raises(asyncio.CancelledError):
            await fetching

    with serve_hostile_answers(drip_answer(b"", b"HTTP/1.1 102 Processing\r\n\r\n")) as server:
        asyncio.run(close_in_flight(server.url))


SILENT_DNS = """
import socket, threading
socket.getaddrinfo = lambda *_, **__: threading.Event().wait()  # as the C library where no name server answers

from attestlab.core.fetching import Fetcher, FetchLimits, HostUnreachable

fetcher = Fetcher()
try:
    fetcher.fetch("http://log.example/", FetchLimits(1, deadline_s=0.1))
except HostUnreachable as error:
    print(error.message)
fetcher.close()
"""


def test_a_process_ends_while_no_name_server_answers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SILENT_DNS], capture_output=True, text=True, timeout=WAIT_TIMEOUT_S, check=True
    )
    assert (done.stdout, done.stderr) == ("http://log.example/ did not answer within 0.1 seconds.\n", "")
