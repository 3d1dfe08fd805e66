"""Parts of answers that people of a tenant share, where a pane as a whole depends on who looks at it.

A load asks for such a part with `share_load`. On the dashboards it gets what another window with equal rights loads
now, or loaded in the last seconds; in a notebook, or for a report, nothing is shared.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from threading import Lock
from typing import Final, TypeVar, cast

from attestlab import Lab
from attestlab.client.asynchronous.calls import wait_for_answer
from attestlab_dashboards.rights import RIGHTS_AGE_S, Rights

MAX_AGE_S: Final = 20.0  # of what is shared, which never is older than the window that takes it
MAX_PARTS: Final = 256
Part = TypeVar("Part")
_Question = tuple[Rights, Hashable]


@dataclass
class _Load:
    loading: Future[tuple[object, ...]]  # of one part; of none after a failure
    began_at: float
    ended_at: float = inf


class CommonLoads:
    """The newest parts of all windows of this process, by rights and question; used by any thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self._lock = Lock()
        self._loads: OrderedDict[_Question, _Load] = OrderedDict()

    def get(self, rights: Rights, question: Hashable, since: float, load: Callable[[], Part]) -> Part:
        """Return a part whose load began at `since` or later, or load it; errors of others are not this person's."""
        key = (rights, question)
        with self._lock:
            found = self._loads.get(key)
            if found is None or found.began_at < since or found.ended_at < self.now() - MAX_AGE_S:
                found = None
                own = self._loads[key] = _Load(Future(), self.now())
                self._loads.move_to_end(key)
                while len(self._loads) > MAX_PARTS:
                    self._loads.popitem(last=False)
        if found is None:
            return self._fill(key, own, load)
        parts = wait_for_answer(found.loading)
        return cast("Part", parts[0]) if parts else load()

    def _fill(self, key: _Question, own: _Load, load: Callable[[], Part]) -> Part:
        loaded: tuple[Part, ...] = ()
        try:
            loaded = (load(),)
            return loaded[0]
        finally:
            own.ended_at = self.now()
            with self._lock:
                if not loaded and self._loads.get(key) is own:
                    del self._loads[key]
            own.loading.set_result(loaded)


class SharingWindow:
    """One window and its lab: which parts it may take, and since when."""

    def __init__(self, lab: Lab, loads: CommonLoads) -> None:
        self.since = loads.now()
        self._lab = lab
        self._loads = loads
        self._lock = Lock()
        self._rights: Rights | None = None
        self.rights_until = -inf

    @contextmanager
    def use(self) -> Iterator[None]:
        """Share the parts that this thread loads in the block."""
        token = _WINDOW.set(self)
        try:
            yield
        finally:
            _WINDOW.reset(token)

    def get(self, question: Hashable, load: Callable[[], Part]) -> Part:
        """Return a part by the rights that the person has now.

        Raises:
            AttestLabError: their session has ended, or the load failed.
        """
        return self._loads.get(self.find_rights(), question, self.since, load)

    def find_rights(self) -> Rights:
        """Find the rights that the person has now, which are read once for the panes of a click.

        Raises:
            AuthInvalid: their session has ended.
        """
        with self._lock:
            if self._rights is None or self.rights_until < self._loads.now():
                self._rights = Rights.read(self._lab)
                self.rights_until = self._loads.now() + RIGHTS_AGE_S
            return self._rights


_WINDOW: Final[ContextVar[SharingWindow | None]] = ContextVar("attestlab_sharing_window", default=None)


def share_load(question: Hashable, load: Callable[[], Part]) -> Part:
    """Return what `load` returns, or has returned for another person of the tenant with equal rights.

    Args:
        question: all that the part depends on, besides rights.
        load: asks the service; what it returns is not changed, and belongs to no person.

    Raises:
        AttestLabError: the load failed, or the session of the person has ended.
    """
    window = _WINDOW.get()
    return load() if window is None else window.get(question, load)
