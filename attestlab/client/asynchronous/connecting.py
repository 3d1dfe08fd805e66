"""`attestlab.connect_async`: the async twin of `attestlab.connect`."""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Self, cast

import httpx

from attestlab.client import lab_cards
from attestlab.client.asynchronous.calls import VerbThreads, sleep_on_loop
from attestlab.client.asynchronous.loop_transport import LoopTransport
from attestlab.client.asynchronous.twins import AsyncTwin, Found
from attestlab.client.connecting import DEFAULT_TIMEOUT_S, Destination, open_http_lab
from attestlab.client.lab import Lab

if TYPE_CHECKING:
    from attestlab.client.asynchronous import typed_lab  # a stub: the verbs with their types, which are found by name


class AsyncLab(AsyncTwin):
    """A lab whose verbs are awaited: `await lab.mint(...)`, `async for issuer in lab.issuers`.

    Up to 32 verbs run at the same time. Cancelling one breaks off its request; a write that the service has received
    by then is completed there. Use the lab in an `async with` block, or await `close`.
    """

    def __init__(self, lab: Lab, threads: VerbThreads, url: str, http: httpx.AsyncClient | None = None) -> None:
        super().__init__(lab, threads)
        self._url = url
        self._http = http

    async def close(self) -> None:
        """Close the connections; may be called again. Verbs that are at work fail."""
        if self._http is not None:
            cast("Lab", self._held).close()
            await self._http.aclose()
            self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _repr_html_(self) -> str:
        return lab_cards.draw_place(self._url)  # more would be requests

    def _twin_of(self, found: object) -> Found:
        if isinstance(found, Lab):
            return AsyncLab(found, self._threads, self._url)
        return super()._twin_of(found)


class LabConnection:
    """A connection that is about to be made: `async with` it, or await it for a lab to close yourself."""

    def __init__(self, destination: Destination) -> None:
        self._destination = destination
        self._lab: AsyncLab | None = None

    def __repr__(self) -> str:
        return f"LabConnection({self._destination.url})"

    def __await__(self) -> Generator[object, None, typed_lab.AsyncLab]:
        return self._connect_typed().__await__()

    async def __aenter__(self) -> typed_lab.AsyncLab:
        self._lab = await self._connect()
        return _with_types(self._lab)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lab is not None:
            await self._lab.close()

    async def _connect_typed(self) -> typed_lab.AsyncLab:
        return _with_types(await self._connect())

    async def _connect(self) -> AsyncLab:
        threads, options = VerbThreads(), self._destination.client_options
        http = httpx.AsyncClient(**options)
        waiting = httpx.Client(transport=LoopTransport(http, threads.loop), **options)
        try:
            lab = await threads.run(lambda: open_http_lab(self._destination, waiting, sleep_on_loop))
        except BaseException:
            await http.aclose()
            threads.close()
            raise
        return AsyncLab(lab, threads, self._destination.url, http)


def _with_types(lab: AsyncLab) -> typed_lab.AsyncLab:
    """Return the lab as editors and type checkers see it."""
    return cast("typed_lab.AsyncLab", lab)


def connect_async(url: str, api_key: str | None = None, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> LabConnection:
    """Connect to a service for an event loop; an async context manager, or awaitable.

    The lab has the nouns, verbs and fields of `attestlab.connect`. Each verb is awaited, a list is read by `async for`,
    and `len` is `await noun.count()`.

    Args:
        url: such as `https://attest.example.org`; plain http is for this machine only.
        api_key: of the tenant to act for. Without it, only public verbs work: `verify` and those of `log`.
        timeout_s: seconds that the service may take for an answer.

    Returns:
        The connection: `async with` it, or await it for a lab that `close` ends.

    Raises:
        ValidationFailed: it is no such address, or the API key is not one; at once.
        Unavailable: no service answers there; when it is awaited, as all further errors.
        ServiceFailed: it is not an AttestLab service.
        AuthInvalid: the API key is not valid.

    >>> import asyncio, attestlab
    >>> async def count_entries():
    ...     async with attestlab.connect_async(url) as lab:
    ...         return await lab.log.count()
    >>> asyncio.run(count_entries())
    0
    """
    return LabConnection(Destination(url, api_key, timeout_s))
