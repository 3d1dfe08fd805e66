"""What every pane of the page needs first: the newest signal, at which windows end, and the tenant's threshold.

Panes load side by side, and some need the same answer: `SharedLoad` loads it once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from datetime import datetime
from math import inf
from typing import Final, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from attestlab import Lab
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import Period, find_period

K = TypeVar("K", bound=Hashable)
D = TypeVar("D")


class SharedLoad(Generic[K, D]):
    """A load that runs once for all panes that ask for the same until `keep_s` seconds after it; errors are not kept.

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
                answer.until = self._now() + self._keep_s
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
            return kept.setdefault(key, _Answer())


class _Answer(Generic[D]):
    """An answer; while it loads, however long that takes, it has no end and no value."""

    def __init__(self) -> None:
        self.until = inf
        self.lock = threading.Lock()
        self.values: tuple[D, ...] = ()


KEEP_S: Final = 20.0  # the window ends with the step of the newest signal, so an older answer shows the same window
_NEWEST: Final = "SELECT max(occurred_at) AS newest FROM signals"


class RiskContext(NamedTuple):
    """The time of the newest signal, None if there is none, and the score from which a signal is escalated."""

    newest: datetime | None
    threshold: float


def _load(lab: Lab, _key: str) -> RiskContext:
    (row,) = lab.sql(_NEWEST)
    newest = row["newest"]
    return RiskContext(newest if isinstance(newest, datetime) else None, lab.signals.settings().escalation_threshold)


_SHARED: Final = SharedLoad(_load, keep_s=KEEP_S)


def load_context(lab: Lab) -> RiskContext:
    """Load it, at most once in 20 seconds."""
    return _SHARED(lab, "")


def load_period(lab: Lab, state: RiskState) -> Period:
    """Return the period that a state shows; without signals its window ends now, by the clock of the service."""
    newest = load_context(lab).newest or lab.now()
    return find_period(state.shown_window, newest, state.since, state.until)
