"""Answers that people of a tenant share: who asks the same with the same rights within seconds gets the same answer.

Only panes that declare it take part (`Pane.is_common`): their answers depend on the rights of who asked, not on who
that is.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any, Final

from attestlab import Lab
from attestlab.client.asynchronous.calls import VerbCall, VerbCancelled
from attestlab_dashboards.answers import Answers, Key, key_of
from attestlab_dashboards.common_loads import MAX_AGE_S, CommonLoads, SharingWindow
from attestlab_dashboards.pages import AnyPane
from attestlab_dashboards.rights import Rights

MAX_ANSWERS: Final = 256
_RIGHTS_THREADS: Final = ThreadPoolExecutor(4, thread_name_prefix="rights")


@dataclass
class _Answer:
    loading: asyncio.Task[object]
    began_at: float
    ended_at: float = inf


class CommonAnswers:
    """The newest answers of all windows of this process, by rights and question. Its methods run on the event loop."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.loads = CommonLoads(now)
        self._answers: OrderedDict[tuple[Rights, Key], _Answer] = OrderedDict()

    def find(self, rights: Rights, question: Key, *, since: float) -> asyncio.Task[object] | None:
        """Find an answer that is loading, or was loaded in the last 20 s; its load began at `since` or later."""
        found = self._answers.get((rights, question))
        if found is None or found.began_at < since or found.ended_at < self.now() - MAX_AGE_S:
            return None
        return found.loading

    def keep(self, rights: Rights, question: Key, loading: asyncio.Task[object]) -> None:
        """Keep an answer that begins to load now; one that fails is forgotten, and so are those kept longest."""
        key, answer = (rights, question), _Answer(loading, self.now())
        self._answers[key] = answer
        self._answers.move_to_end(key)
        loading.add_done_callback(lambda _done: self._end(key, answer))
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)

    def _end(self, key: tuple[Rights, Key], answer: _Answer) -> None:
        answer.ended_at = self.now()
        has_failed = answer.loading.cancelled() or answer.loading.exception() is not None
        asyncio.get_running_loop().call_later(0 if has_failed else MAX_AGE_S, self._drop, key, answer)

    def _drop(self, key: tuple[Rights, Key], answer: _Answer) -> None:
        if self._answers.get(key) is answer:
            del self._answers[key]


class SharingAnswers(Answers):
    """The answers of one window, which takes what another one has loaded for the same rights.

    It takes nothing whose load began before the window was opened or last wrote something: who opens a page, or
    changes something, sees what is there now.
    """

    def __init__(self, lab: Lab, common: CommonAnswers) -> None:
        super().__init__(lab)
        self._common = common
        self._window = SharingWindow(lab, common.loads)
        self._waits: set[asyncio.Future[object]] = set()
        self._rights: asyncio.Task[Rights] | None = None

    def forget(self, pane: AnyPane, state: Any) -> None:
        super().forget(pane, state)
        self._window.since = self._common.now()

    def clear(self) -> None:
        super().clear()
        self._window.since = self._common.now()

    def cancel(self) -> None:
        super().cancel()
        for waiting in self._waits:
            waiting.cancel()

    async def _ask(self, pane: AnyPane, state: Any) -> object:
        if not pane.is_common:
            return await super()._ask(pane, state)
        rights, question = await self._find_rights(), key_of(pane, state)
        other = self._common.find(rights, question, since=self._window.since)
        if other is not None and await self._wait_for(other) is None:
            return other.result()
        loading = asyncio.ensure_future(super()._ask(pane, state))
        self._common.keep(rights, question, loading)
        return await asyncio.shield(loading)

    def _load(self, pane: AnyPane, state: object) -> object:
        with self._window.use():
            return super()._load(pane, state)

    async def _find_rights(self) -> Rights:
        """Find the rights that the person has now, which are read once for the panes of a click.

        Raises:
            AuthInvalid: their session has ended.
            VerbCancelled: `cancel` was called before they were read.
        """
        reading = self._rights
        if reading is None or (reading.done() and self._window.rights_until < self._common.now()):
            reading = self._rights = asyncio.ensure_future(self._read_rights())
        if await self._wait_for(reading) is not None and self._rights is reading:
            self._rights = None  # the next pane, and Retry, read them again
        return reading.result()

    async def _read_rights(self) -> Rights:
        """Ask the service in threads apart, so that a click does not wait behind the loads of others twice."""
        call = VerbCall(asyncio.get_running_loop())
        work = partial(call.run, self._window.find_rights)
        return await asyncio.get_running_loop().run_in_executor(_RIGHTS_THREADS, work)

    async def _wait_for(self, other: asyncio.Task[object]) -> BaseException | None:
        """Wait for a task, and return its error: the load of another window, whose errors are not this person's.

        Raises:
            VerbCancelled: `cancel` was called before it ended.
        """
        waiting = asyncio.shield(other)
        self._waits.add(waiting)
        await asyncio.wait({waiting})
        self._waits.discard(waiting)
        if waiting.cancelled():
            raise VerbCancelled("The load was cancelled while it waited for another one.")
        return waiting.exception()
