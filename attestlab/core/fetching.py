"""HTTP/1.1 requests to untrusted hosts (RFC 9110), bounded in bytes and in time.

Only this module and the transport of webhooks use an HTTP client; `tests/house` enforces that. The host may be
hostile, so a fetch

- sends `Accept-Encoding: identity` and rejects a successful response in any other content coding, because 13 KB of
  gzip in gzip expand to gigabytes;
- reads raw bytes and stops at a limit; h11 rejects headers of more than 100 KiB;
- follows no redirect, stores no cookie, and uses no proxy or password from the environment;
- ends at a deadline, even if the host keeps sending a few bytes.

The synchronous and the asynchronous form run the fetch on the same event loop, in a separate thread. So an
unresolvable host name occupies no thread of the caller's event loop.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from threading import Thread
from typing import TYPE_CHECKING, Any, cast

from attestlab.core.errors import Unavailable
from attestlab.core.name_lookup import getaddrinfo_in_thread

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    import httpx

CONNECT_TIMEOUT_S = 5.0
SILENCE_TIMEOUT_S = 10.0  # between two bytes
MAX_ERROR_BYTES = 4096  # read of a response with a status other than 200


class HostUnreachable(Unavailable):
    """The host did not respond in time, or not with valid HTTP."""


class UnacceptableAnswer(Unavailable):
    """The response has too many bytes, or a content coding."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a fetch: bytes of the body, and seconds including the look-up of the host name."""

    max_body_bytes: int
    deadline_s: float


@dataclass(frozen=True, slots=True)
class Fetched:
    """A response. With a status other than 200, the body is truncated to `MAX_ERROR_BYTES`, or empty if encoded."""

    status: int
    content_type: str
    body: bytes


class Fetcher:
    """Fetches from untrusted hosts; keeps connections open until `close`."""

    def __init__(self) -> None:
        self._client = _client()
        self._loop = _FetchingLoop()
        self._thread = Thread(target=self._loop.run_forever, name="attestlab-fetching", daemon=True)
        self._thread.start()

    def fetch(self, url: str, limits: FetchLimits) -> Fetched:
        """GET `url` and wait for the response.

        Raises:
            HostUnreachable: the host did not respond before the deadline, or not with valid HTTP.
            UnacceptableAnswer: the response is too long, or has a content coding.
        """
        return asyncio.run_coroutine_threadsafe(self._fetch("GET", url, None, limits), self._loop).result()

    async def post(self, url: str, content: bytes, limits: FetchLimits) -> Fetched:
        """POST `content` to `url`; raises as `fetch` does."""
        fetching = asyncio.run_coroutine_threadsafe(self._fetch("POST", url, content, limits), self._loop)
        return await asyncio.wrap_future(fetching)

    def close(self) -> None:
        """Cancel all fetches and close the connections."""
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

    async def _fetch(self, method: str, url: str, content: bytes | None, limits: FetchLimits) -> Fetched:
        import httpx  # already loaded by `_client`

        try:
            async with (
                asyncio.timeout(limits.deadline_s),
                self._client.stream(method, url, content=content) as response,
            ):
                body = await _read_body(response, limits.max_body_bytes)
                return Fetched(response.status_code, response.headers.get("content-type", ""), body)
        except TimeoutError as error:
            raise HostUnreachable(f"{url} did not answer within {limits.deadline_s:g} seconds.") from error
        except (httpx.HTTPError, httpx.InvalidURL, OSError, UnicodeError) as error:
            raise HostUnreachable(f"{url} cannot be read: {str(error) or type(error).__name__}.") from error


class _FetchingLoop(asyncio.SelectorEventLoop):
    """An event loop that resolves host names in daemon threads, so that a process never waits for a name server."""

    async def getaddrinfo(
        self,
        host: bytes | str | None,
        port: bytes | str | int | None,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> Any:  # a list of tuples that differs between versions of the type stubs
        return await getaddrinfo_in_thread(host, port, family=family, type=type, proto=proto, flags=flags)


def _client() -> httpx.AsyncClient:
    import httpx  # imported late: it is slow to load, and most processes fetch nothing

    return httpx.AsyncClient(
        headers={"Accept-Encoding": "identity"},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        timeout=httpx.Timeout(SILENCE_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        follow_redirects=False,
        trust_env=False,
    )


async def _read_body(response: httpx.Response, max_bytes: int) -> bytes:
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if response.status_code != 200:
        return b"" if coding != "identity" else await _read_at_most(response, MAX_ERROR_BYTES)
    if coding != "identity":
        raise UnacceptableAnswer(
            f"{response.url} answers in the content coding {coding[:40]!r}; only identity is accepted."
        )
    body = await _read_at_most(response, max_bytes + 1)
    if len(body) > max_bytes:
        raise UnacceptableAnswer(f"{response.url} is longer than the limit of {max_bytes:,} bytes.")
    return body


async def _read_at_most(response: httpx.Response, max_bytes: int) -> bytes:
    """Read the first `max_bytes` of a body, as received."""
    body = bytearray()
    raw = cast("AsyncGenerator[bytes, None]", response.aiter_raw())
    async with aclosing(raw) as pieces:  # the rest stays unread, so nothing else would close the generator
        async for piece in pieces:
            body += piece
            if len(body) >= max_bytes:
                break
    return bytes(body[:max_bytes])
