"""HTTP/1.1 requests to hosts that other people run (RFC 9110), bounded in bytes and in time.

This is the only module that uses an HTTP client; `tests/house` holds that. The host may be hostile, so a fetch

- asks for `Accept-Encoding: identity` and refuses a successful answer in any other content coding, because 13 KB of
  gzip in gzip unfold to gigabytes;
- reads raw bytes and stops at a limit; h11 refuses a header of more than 100 KiB;
- follows no redirect, keeps no cookie, uses no proxy and no password of the environment;
- ends at a deadline, even if the host sends a byte now and then.

The synchronous and the asynchronous form hand the fetch to the same event loop, in a thread of its own. So a host name
that no name server resolves occupies no thread of the caller's event loop.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future
from contextlib import aclosing
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from attestlab.core.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx

CONNECT_TIMEOUT_S = 5.0
SILENCE_TIMEOUT_S = 10.0  # between two bytes
MAX_ERROR_BYTES = 4096  # that are read of an answer other than 200


class HostUnreachable(Unavailable):
    """The host did not answer in time, or not in HTTP."""


class UnacceptableAnswer(Unavailable):
    """The host answered with too many bytes, or in a content coding."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """How many bytes of a body are accepted, and how long a fetch may take from the look-up of the host's name on."""

    max_body_bytes: int
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Fetched:
    """An answer. The body of a status other than 200 is cut at `MAX_ERROR_BYTES`, and empty in a content coding."""

    status: int
    content_type: str
    body: bytes


class Fetcher:
    """Fetches from hosts of other people; keeps connections open until `close`."""

    def __init__(self) -> None:
        self._client = _client()
        self._loop = _FetchingLoop()
        self._thread = Thread(target=self._loop.run_forever, name="attestlab-fetching", daemon=True)
        self._thread.start()

    def fetch(self, url: str, limits: FetchLimits) -> Fetched:
        """GET `url` and wait for the answer.

        Raises:
            Unreachable: the host did not answer before the deadline, or not in HTTP.
            UnacceptableAnswer: the answer is too long, or in a content coding.
        """
        return asyncio.run_coroutine_threadsafe(self._fetched("GET", url, None, limits), self._loop).result()

    async def post(self, url: str, content: bytes, limits: FetchLimits) -> Fetched:
        """POST `content` to `url`; raises as `fetch` does."""
        fetching = asyncio.run_coroutine_threadsafe(self._fetched("POST", url, content, limits), self._loop)
        return await asyncio.wrap_future(fetching)

    def close(self) -> None:
        """Cancel what is in flight and close the connections."""
        asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _finish(self) -> None:
        in_flight = asyncio.all_tasks() - {asyncio.current_task()}
        for task in in_flight:
            task.cancel()
        await asyncio.gather(*in_flight, return_exceptions=True)
        await self._client.aclose()
        await self._loop.shutdown_asyncgens()

    async def _fetched(self, method: str, url: str, content: bytes | None, limits: FetchLimits) -> Fetched:
        import httpx  # by now it is loaded

        try:
            async with (
                asyncio.timeout(limits.deadline_s),
                self._client.stream(method, url, content=content) as response,
            ):
                body = await _body(response, limits.max_body_bytes)
                return Fetched(response.status_code, response.headers.get("content-type", ""), body)
        except TimeoutError as error:
            raise HostUnreachable(f"{url} did not answer within {limits.deadline_s:g} seconds.") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise HostUnreachable(f"{url} cannot be read: {str(error) or type(error).__name__}.") from error


class _FetchingLoop(asyncio.SelectorEventLoop):
    """Resolves each host name in a daemon thread, so that a process ends without waiting for a name server."""

    async def getaddrinfo(
        self, host: Any, port: Any, *, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0
    ) -> Any:
        found: Future[Any] = Future()
        found.set_running_or_notify_cancel()  # a fetch that is given up does not cancel the look-up under its thread

        def look_up() -> None:
            try:
                found.set_result(socket.getaddrinfo(host, port, family, type, proto, flags))
            except Exception as error:
                found.set_exception(error)

        Thread(target=look_up, name="attestlab-look-up", daemon=True).start()
        return await asyncio.wrap_future(found)


def _client() -> httpx.AsyncClient:
    import httpx  # slow to import, and most processes fetch nothing

    return httpx.AsyncClient(
        headers={"Accept-Encoding": "identity"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        follow_redirects=False,
        trust_env=False,
    )


async def _body(response: httpx.Response, max_bytes: int) -> bytes:
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if response.status_code != 200:
        return b"" if coding != "identity" else await _beginning(response, MAX_ERROR_BYTES)
    if coding != "identity":
        raise UnacceptableAnswer(
            f"{response.url} answers in the content coding {coding[:40]!r}; only identity is read."
        )
    body = await _beginning(response, max_bytes + 1)
    if len(body) > max_bytes:
        raise UnacceptableAnswer(f"{response.url} is longer than the {max_bytes:,} bytes it can have.")
    return body


async def _beginning(response: httpx.Response, max_bytes: int) -> bytes:
    """The first `max_bytes` of a body as they came over the wire."""
    body = bytearray()
    raw = cast("AsyncGenerator[bytes, None]", response.aiter_raw())
    async with aclosing(raw) as pieces:  # the rest is left unread, so nothing else would close it
        async for piece in pieces:
            body += piece
            if len(body) >= max_bytes:
                break
    return bytes(body[:max_bytes])
