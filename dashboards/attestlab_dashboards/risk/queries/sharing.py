"""Loads shared by the panes of a page: panes load side by side, and some need the same answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from attestlab import Lab

K = TypeVar("K", bound=Hashable)
D = TypeVar("D")


class SharedLoad(Generic[K, D]):
    """A load that runs once for all panes that ask for the same within `keep_s` seconds; errors are not kept.

    Answers belong to a lab, so no person ever gets what another one may see, and end with it.
    """

    def __init__(
        self, load: Callable[[Lab, K], D], *, keep_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load
        self._keep_s = keep_s
        self._now = now
        self._lock = threading.Lock()
        self._answers: WeakKeyDictionary[Lab, dict[K, _Answer[D]]] = WeakKeyDictionary()

    def __call__(self, lab: Lab, key: K) -> D:
        """Return the answer for a key; a second caller waits for the first."""
        answer = self._find(lab, key)
        with answer.lock:
            if not answer.values:
                answer.values = (self._load(lab, key),)
            return answer.values[0]

    def forget(self, lab: Lab) -> None:
        """Drop what was loaded for a lab, because its person wrote something."""
        with self._lock:
            self._answers.pop(lab, None)

    def _find(self, lab: Lab, key: K) -> _Answer[D]:
        with self._lock:
            now = self._now()
            kept = {each: found for each, found in self._answers.get(lab, {}).items() if now < found.until}
            self._answers[lab] = kept
            return kept.setdefault(key, _Answer(now + self._keep_s))


class _Answer(Generic[D]):
    def __init__(self, until: float) -> None:
        self.until = until
        self.lock = threading.Lock()
        self.values: tuple[D, ...] = ()
