"""Scores of labelled logins: every detector takes each login once, in the order given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from time import process_time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attestlab.risk.judgement.baselines import AddressFailures, Baseline, Ladder, LikelihoodRatio
from attestlab.risk.logins.detector import LoginDetector
from attestlab.risk.logins.documents import MemoryDocuments
from attestlab.risk.logins.login import Login
from attestlab.risk.logins.places import Locator

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
