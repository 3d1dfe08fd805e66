"""`LoopTransport`: an httpx transport for threads that sends every request on one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import httpx

from attestlab.client.asynchronous.calls import is_waiting_possible, wait_on_loop


class LoopTransport(httpx.BaseTransport):
    """Sends the requests of worker threads by an async client; proxies, TLS and connections are that client's."""

    def __init__(self, http: httpx.AsyncClient, loop: asyncio.AbstractEventLoop) -> None:
        self._http = http
        self._loop = loop

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return its response with a body that is still to be read."""
        response = wait_on_loop(self._http.send(request, stream=True))
        return httpx.Response(response.status_code, headers=response.headers, stream=LoopStream(response, self._loop))


class LoopStream(httpx.SyncByteStream):
    """The body of a response, read piece by piece on the loop."""

    def __init__(self, response: httpx.Response, loop: asyncio.AbstractEventLoop) -> None:
        self._response = response
        self._pieces = response.aiter_raw()
        self._loop = loop

    def __iter__(self) -> Iterator[bytes]:
        while (piece := wait_on_loop(_next(self._pieces))) is not None:
            yield piece

    def close(self) -> None:
        """Give the connection back, or break it off if the body is unfinished."""
        if is_waiting_possible():
            wait_on_loop(self._response.aclose())
        elif not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._response.aclose(), self._loop)


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)
