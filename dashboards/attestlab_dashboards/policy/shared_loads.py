"""Answers that several panes of one window share, so that a simulation runs once and not once for each pane."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, Final, TypeVar, cast
from weakref import WeakKeyDictionary

from attestlab import Lab

Answer = TypeVar("Answer")
_MAX_ANSWERS: Final = 40  # of one window; a window without a filter needs 14, and each filter 8 others
_LOCK: Final = threading.Lock()
_LOADS: Final[WeakKeyDictionary[Lab, SharedLoads]] = WeakKeyDictionary()


class SharedLoads:
    """The answers of one lab, by what they depend on. An error is not kept, so that Retry asks again.

    Only one is computed at a time: the service runs few simulations at once, for all its callers.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._work = threading.Lock()
        self._answers: OrderedDict[Hashable, Future[Any]] = OrderedDict()

    def get(self, key: Hashable, load: Callable[[], Answer], *, is_long: bool = False) -> Answer:
        """Return the answer of `load` for a key; other threads that ask for it during the load wait for it."""
        with self._lock:
            future = self._answers.get(key)
            is_ours = future is None
            if future is None:
                future = self._answers[key] = Future()
            self._answers.move_to_end(key)
            while len(self._answers) > _MAX_ANSWERS:
                self._answers.popitem(last=False)  # the one that was used longest ago
        if is_ours:
            self._fill(key, future, load, is_long)
        return cast(Answer, future.result())

    def _fill(self, key: Hashable, future: Future[Any], load: Callable[[], object], is_long: bool) -> None:
        try:
            if is_long:
                with self._work:
                    future.set_result(load())
            else:
                future.set_result(load())
        except BaseException as error:
            with self._lock:
                if self._answers.get(key) is future:
                    del self._answers[key]
            future.set_exception(error)


def share(lab: Lab) -> SharedLoads:
    """Return the shared answers of a lab."""
    with _LOCK:
        return _LOADS.setdefault(lab, SharedLoads())


def forget(lab: Lab) -> None:
    """Forget the answers of a lab, after a write."""
    with _LOCK:
        _LOADS.pop(lab, None)
