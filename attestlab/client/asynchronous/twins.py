"""Twins of the facade's objects: the same fields, and the same verbs to be awaited.

A twin writes no verb again: it finds the verb of the object that it holds, and runs it in a worker thread. What a verb
returns is a twin too, and a verb takes twins as arguments. What reads nothing yet, as `list` does, needs no `await`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sized
from functools import partial, wraps
from itertools import islice
from typing import Any, SupportsIndex, cast

from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.rows import Rows
from attestlab.client.asynchronous.calls import VerbThreads
from attestlab.client.collections.base import Collection
from attestlab.client.collections.log import LogCollection
from attestlab.client.handles.attestations import MintResults
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import PAGE_ROWS
from attestlab.core.errors import Conflict
from attestlab.core.strict_json import MAX_DEPTH

# A twin, or what a verb returned: verbs are found by name, so their types are lost.
Found = Any
NOT_AWAITED = frozenset({"explore"})  # a view answers in a thread of the process, not on the caller's loop
_READING_PROPERTIES = frozenset({"columns"})  # the others have what they return


class AsyncTwin:
    """An object of a lab for an event loop."""

    def __init__(self, held: object, threads: VerbThreads) -> None:
        self._held = held
        self._threads = threads

    def __getattr__(self, name: str) -> Found:  # a verb, a field or a noun of the object
        if name.startswith("_"):
            raise AttributeError(name)
        own = getattr(type(self._held), name, None)
        if inspect.isfunction(own):
            return self._await_verb(own, getattr(self._held, name))
        if name in _READING_PROPERTIES:
            return self._run(partial(getattr, self._held, name))
        return self._twin_of(getattr(self._held, name))

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._held) if name not in NOT_AWAITED]

    def __eq__(self, other: object) -> bool:
        return bool(self._held == unwrap_twins(other))

    def __hash__(self) -> int:
        return hash(self._held)

    def __repr__(self) -> str:
        return repr(self._held)

    def _repr_html_(self) -> str:
        return str(self._held._repr_html_())  # type: ignore[attr-defined]  # all objects of a lab have one

    def _await_verb(self, verb: Callable[..., object], bound: Callable[..., object]) -> Callable[..., object]:
        returned = str(verb.__annotations__.get("return", ""))
        is_lazy = returned == "Rows" or returned.startswith("Listing[")
        if is_lazy or vars(Handle).get(verb.__name__) is verb:  # of the fields alone
            return wraps(bound)(lambda *given, **named: self._twin_of(_prepare(bound, given, named)()))

        @wraps(bound)
        async def run(*given: object, **named: object) -> object:
            return await self._run(_prepare(bound, given, named))

        return run

    def _run(self, work: Callable[[], object]) -> Coroutine[object, None, Found]:
        return _run_as_twin(self._threads, work, self._twin_of)

    async def _iterate(self, begin: Callable[[], object]) -> AsyncGenerator[Found]:
        """Iterate a page at a time; what an iterator holds open is closed when the loop is left early."""
        items = cast("Iterator[object]", await self._threads.run(begin))
        try:
            while page := await self._threads.run(lambda: list(islice(items, PAGE_ROWS))):
                for item in page:
                    yield self._twin_of(item)
        except GeneratorExit:
            await self._close(items)
            raise

    async def _close(self, items: Iterator[object]) -> None:
        close = getattr(items, "close", None)
        if close is not None:
            try:
                await self._threads.run(close)
            except Conflict:
                return  # the lab was closed first, and its connections with it

    def _twin_of(self, found: object) -> Found:
        if isinstance(found, Records | MintResults):
            return AsyncRecords(found, [self._twin_of(each) for each in found])
        if isinstance(found, list):
            return [self._twin_of(each) for each in found]
        for kind, twin in _TWINS.items():
            if isinstance(found, kind):
                return twin(found, self._threads)
        return found


class AsyncHandle(AsyncTwin):
    """What a verb returned: its fields, and the verbs that follow."""


class AsyncRows(AsyncTwin):
    """Rows that are read when a verb such as `df` is awaited, or by `async for`."""

    def __aiter__(self) -> AsyncIterator[Found]:
        return self._iterate(partial(iter, cast("Rows", self._held)))

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), "count"])

    def __getitem__(self, which: slice) -> Found:
        return self._twin_of(cast("Rows", self._held)[which])

    def _repr_html_(self) -> str:
        """Draw the card without its contents, because reading them would stop the loop."""
        return str(self._held._draw_card()) if hasattr(self._held, "_draw_card") else super()._repr_html_()

    async def count(self) -> int:
        """Count the rows; in a lab without `await` that is `len`."""
        return int(await self._threads.run(partial(_count, cast("Rows", self._held))))


class AsyncListing(AsyncTwin):
    """The objects of a list: `async for` reads it once, `await found[:3]` and the verbs from its begin."""

    def __init__(self, held: object, threads: VerbThreads) -> None:
        super().__init__(held, threads)
        self._items = self._iterate(lambda: held)

    def __aiter__(self) -> AsyncIterator[Found]:
        return self

    def __anext__(self) -> Awaitable[Found]:
        return anext(self._items)

    def __dir__(self) -> list[str]:
        return sorted([*dir(self._held), "count"])

    def __getitem__(self, which: object) -> Coroutine[object, None, Found]:
        return self._run(partial(cast("Listing[Handle]", self._held).__getitem__, cast("slice", which)))

    async def count(self) -> int:
        """Count the objects by reading all; in a lab without `await` that is `len`."""
        return await self._threads.run(partial(len, cast("Listing[Handle]", self._held)))


class AsyncCollection(AsyncRows):
    """A noun of a lab: its verbs, `async for`, and `await lab.issuers["Registrar"]`."""

    def __getitem__(self, which: object) -> Coroutine[object, None, Found]:
        return self._run(partial(cast("Collection[Handle]", self._held).__getitem__, unwrap_twins(which)))


class AsyncRecords(list[Found]):
    """The parts of an answer, whose verbs are awaited; as a table they need no request, so that is not."""

    def __init__(self, held: Found, parts: list[Found]) -> None:
        super().__init__(parts)
        self._held = held

    def __getattr__(self, name: str) -> Found:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._held, name)

    def __getitem__(self, which: SupportsIndex | slice) -> Found:
        parts = super().__getitem__(which)
        return AsyncRecords(self._held[which], parts) if isinstance(which, slice) else parts

    def __dir__(self) -> list[str]:
        return dir(self._held)

    def __repr__(self) -> str:
        return repr(self._held)

    def _repr_html_(self) -> str:
        return str(self._held._repr_html_())


_TWINS: dict[type, type[AsyncTwin]] = {
    Handle: AsyncHandle,
    Rows: AsyncRows,
    Listing: AsyncListing,
    Collection: AsyncCollection,
    LogCollection: AsyncCollection,
}


def unwrap_twins(value: object, depth: int = 0) -> object:
    """Return the object that a twin holds, also inside of lists and dicts; other values as they are.

    What nests deeper than JSON may is returned as it is: the verb refuses it.
    """
    if isinstance(value, AsyncTwin | AsyncRecords):
        return value._held
    if depth > MAX_DEPTH:
        return value
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(unwrap_twins(each, depth + 1) for each in value)
    if isinstance(value, Mapping) and type(value) is dict:
        return {name: unwrap_twins(each, depth + 1) for name, each in value.items()}
    return value


async def _run_as_twin(threads: VerbThreads, work: Callable[[], object], twin_of: Callable[[object], Found]) -> Found:
    return twin_of(await threads.run(work))


def _prepare(
    bound: Callable[..., object], given: tuple[object, ...], named: Mapping[str, object]
) -> Callable[[], object]:
    return partial(
        bound, *(unwrap_twins(each) for each in given), **{name: unwrap_twins(each) for name, each in named.items()}
    )


def _count(held: object) -> int:
    return len(held) if isinstance(held, Sized) else sum(1 for _ in cast("Collection[Handle]", held))
