"""`AwaitingLab`: an async lab behind the face of one that waits, so that one walk goes through both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from attestlab.client.asynchronous.twins import AsyncTwin, unwrap_twins


class AwaitingLab:
    """Awaits each verb of a twin in a new event loop."""

    def __init__(self, twin: AsyncTwin, runner: asyncio.Runner) -> None:
        self.twin = twin
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        return self._settle(getattr(self.twin, name))

    def __getitem__(self, which: object) -> Any:
        return self._settle(self.twin[which])  # type: ignore[index]  # a collection has it

    def __len__(self) -> int:
        return int(self._runner.run(self.twin.count()))

    def __iter__(self) -> Iterator[Any]:
        return self._take(aiter(self.twin))  # type: ignore[call-overload]  # a collection has it

    def __next__(self) -> Any:
        return next(self._take(self.twin))  # type: ignore[arg-type]  # a list is an iterator

    def _settle(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            return self._settle(self._runner.run(value))
        if inspect.isasyncgen(value):
            return self._take(value)
        if isinstance(value, list):
            return [self._settle(each) for each in value]
        if isinstance(value, AsyncTwin):
            return AwaitingLab(value, self._runner)
        if inspect.isfunction(value):
            return self._wait_for(value)
        return value

    def _wait_for(self, verb: Callable[..., object]) -> Callable[..., Any]:
        return lambda *given, **named: self._settle(
            verb(*map(_twin_of, given), **{name: _twin_of(each) for name, each in named.items()})
        )

    def _take(self, items: AsyncIterator[Any]) -> Iterator[Any]:
        ended = object()
        while (item := self._runner.run(_next(items, ended))) is not ended:
            yield self._settle(item)


def find_plain(value: object) -> object:
    """The object of the lab that waits, inside of lists and tuples too."""
    if isinstance(value, list | tuple):
        return [find_plain(each) for each in value]
    return unwrap_twins(_twin_of(value))


def _twin_of(value: object) -> object:
    if isinstance(value, list):
        return [_twin_of(each) for each in value]
    if isinstance(value, dict):
        return {name: _twin_of(each) for name, each in value.items()}
    return value.twin if isinstance(value, AwaitingLab) else value


async def _next(items: AsyncIterator[Any], ended: object) -> Any:
    return await anext(items, ended)
