"""Scores of labelled logins by our detector and by plain ones: every detector takes each login once, in order.

The plain detectors, to compare ours with, are the ladder, failures of an address, and the likelihood ratio.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import log
from time import process_time
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from attestlab.risk.logins.detector import LoginDetector, read_ladder
from attestlab.risk.logins.documents import MemoryDocuments
from attestlab.risk.logins.login import Login, classify_client
from attestlab.risk.logins.parameters import DAY_MS, HOUR_MS
from attestlab.risk.logins.places import Locator


class Baseline(Protocol):
    """Gives a login a score; higher is more suspicious."""

    def score(self, login: Login) -> float:
        """Score a login, and learn from it."""


class Ladder:
    """The failures of the user within an hour."""

    def __init__(self) -> None:
        self._failures: defaultdict[str, deque[int]] = defaultdict(deque)

    def score(self, login: Login) -> float:
        """Return the ladder's score."""
        return read_ladder(_count_recent(self._failures[login.subject_id], login, HOUR_MS))


class AddressFailures:
    """The failures of the address within a day."""

    def __init__(self) -> None:
        self._failures: defaultdict[str, deque[int]] = defaultdict(deque)

    def score(self, login: Login) -> float:
        """Return the number of failures."""
        return _count_recent(self._failures[login.ip or ""], login, DAY_MS)


def _count_recent(failures: deque[int], login: Login, window_ms: int) -> int:
    if login.is_failure:
        failures.append(login.at_ms)
    while failures and failures[0] <= login.at_ms - window_ms:
        failures.popleft()
    return len(failures)


class LikelihoodRatio:
    """The ratio of Freeman et al. over all time: address, network and country by back-off, device, client."""

    def __init__(self, locator: Locator) -> None:
        self._locator = locator
        self._of_all: Counter[tuple[str, str]] = Counter()
        self._of_user: Counter[tuple[str, str, str]] = Counter()
        self._successes: Counter[str] = Counter()
        self._total = 0

    def score(self, login: Login) -> float:
        """Return the logarithm of the ratio; 0 for a user without a success."""
        place = self._locator.locate(login.ip) if login.ip else None
        client = classify_client(login.user_agent) if login.user_agent else ""
        values = {
            "country": login.country or (place.country if place else None) or "",
            "network": place.network if place else "",
            "address": login.ip or "",
            "device": login.device_id or "",
            "client": client,
        }
        ratio = self._ratio(login.subject_id, values) if self._successes[login.subject_id] else 0.0
        if not login.is_failure:
            self._learn(login.subject_id, values)
        return ratio

    def _ratio(self, user: str, values: dict[str, str]) -> float:
        place = self._smooth(user, "country", values, 0.05)
        place = self._smooth(user, "network", values, place)
        place = self._smooth(user, "address", values, place)
        return (
            log(place)
            + log(self._smooth(user, "device", values, 0.05))
            + log(self._smooth(user, "client", values, 0.2))
        )

    def _smooth(self, user: str, name: str, values: dict[str, str], prior: float) -> float:
        """Return share of all / share of the user, where `prior` is the inverse ratio of the next wider feature."""
        value = values[name]
        of_all = (self._of_all[name, value] + 0.5) / (self._total + 1)
        of_user = self._of_user[user, name, value] / self._successes[user]
        return 1 / (0.7 * of_user / of_all + 0.3 * (1 / prior if name in ("network", "address") else prior / 0.3))

    def _learn(self, user: str, values: dict[str, str]) -> None:
        self._successes[user] += 1
        self._total += 1
        for name, value in values.items():
            self._of_all[name, value] += 1
            self._of_user[user, name, value] += 1


OURS = "ours"
BASELINES = ("ladder", "address_failures", "likelihood_ratio")
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class JudgedLogin(NamedTuple):
    """A login with its truth. `group` is the campaign of an attack, or the user of an innocent login."""

    login: Login
    kind: str
    is_attack: bool
    group: str


@dataclass(frozen=True)
class ScoredLogins:
    """The logins' truths, groups and times, and the scores of each by every detector.

    `kind` has places in `kinds`. A group is what a bootstrap draws, because its logins resemble each other.
    """

    kinds: tuple[str, ...]
    kind: Integers
    is_attack: Flags
    group: Integers
    at_s: Floats
    scores: dict[str, Floats]
    cost_us: float

    def is_of(self, kind: str) -> Flags:
        """Return which logins are of a kind."""
        return np.asarray(self.kind == self.kinds.index(kind))

    def with_scores(self, detector: str, scores: Floats) -> ScoredLogins:
        """Return the logins with the scores of a further detector."""
        return replace(self, scores={**self.scores, detector: scores})


class LoginScorer:
    """Our detector and the baselines, which learn from each login that they score."""

    def __init__(self, locator: Locator) -> None:
        self._detector, self._documents = LoginDetector(locator), MemoryDocuments()
        self._baselines: tuple[Baseline, ...] = (Ladder(), AddressFailures(), LikelihoodRatio(locator))
        self._judged: list[tuple[str, bool, str, float]] = []
        self._scores: list[list[float]] = []
        self._spent_s = 0.0

    def add(self, judged: JudgedLogin) -> None:
        """Score a login, by our detector first."""
        login, began = judged.login, process_time()
        ours = self._detector.assess(login, self._documents).score
        self._spent_s += process_time() - began
        self._scores.append([ours, *(baseline.score(login) for baseline in self._baselines)])
        self._judged.append((judged.kind, judged.is_attack, judged.group, login.at_ms / 1000))

    def learn(self, login: Login) -> None:
        """Let every detector learn from a login whose truth is not known."""
        self._detector.assess(login, self._documents)
        for baseline in self._baselines:
            baseline.score(login)

    def collect(self, kinds: Sequence[str] = ()) -> ScoredLogins:
        """Return the scores; `kinds` come first, also those without a login."""
        found, flags, groups, times = zip(*self._judged, strict=True) if self._judged else ((), (), (), ())
        places = {kind: place for place, kind in enumerate(dict.fromkeys([*kinds, *found]))}
        numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
        scores = np.array(self._scores, dtype=float).reshape(-1, 1 + len(BASELINES))
        return ScoredLogins(
            tuple(places),
            np.array([places[kind] for kind in found], dtype=np.int64),
            np.array(flags, dtype=bool),
            np.array([numbers[group] for group in groups], dtype=np.int64),
            np.array(times, dtype=float),
            {name: scores[:, place] for place, name in enumerate((OURS, *BASELINES))},
            self._spent_s / max(1, len(found)) * 1e6,
        )


def score_logins(logins: Iterable[JudgedLogin], locator: Locator, kinds: Sequence[str] = ()) -> ScoredLogins:
    """Score each login in the order given, by every detector."""
    scorer = LoginScorer(locator)
    for login in logins:
        scorer.add(login)
    return scorer.collect(kinds)
