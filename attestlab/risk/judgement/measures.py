"""Measures of a detector: precision and recall, with intervals by a bootstrap over campaigns and users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attestlab.risk.judgement.scored_logins import BASELINES, OURS, Flags, Floats, ScoredLogins

ROUNDS = 100
FALSE_POSITIVES = 0.01


@dataclass(frozen=True)
class Interval:
    """A value, and the middle 95 % of its bootstrap."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sample:
    """Scores of some logins, sorted from the highest, with the weight of each group in a bootstrap round."""

    attack: Flags
    scores: Floats
    weights: Floats

    def sorted_cumulative(self) -> tuple[Floats, Floats, Floats]:
        """Return the distinct scores from the highest, with attacks and innocents at or above each."""
        ends = np.flatnonzero(np.append(self.scores[1:] != self.scores[:-1], True))
        attacks = np.cumsum(self.weights * self.attack)[ends]
        innocents = np.cumsum(self.weights * ~self.attack)[ends]
        return self.scores[ends], attacks, innocents


Measure = Callable[[Sample], float]


def average_precision(sample: Sample) -> float:
    """Return the area under precision-recall: the mean precision over the attacks; ties count as one step."""
    _scores, attacks, innocents = sample.sorted_cumulative()
    if not attacks.size or attacks[-1] == 0:
        return float("nan")
    precision = attacks / np.maximum(attacks + innocents, 1e-9)
    return float(np.sum(np.diff(attacks, prepend=0.0) * precision) / attacks[-1])


def recall_at_false_positives(sample: Sample) -> float:
    """Return the recall at the lowest threshold that at most 1 % of the innocent logins reach."""
    _scores, attacks, innocents = sample.sorted_cumulative()
    if not attacks.size or attacks[-1] == 0:
        return float("nan")
    allowed = innocents <= FALSE_POSITIVES * innocents[-1]
    return float(attacks[allowed][-1] / attacks[-1]) if allowed.any() else 0.0


RANKING: Mapping[str, Measure] = {"area": average_precision, "recall": recall_at_false_positives}


def precision_at(threshold: float) -> Measure:
    """Return the measure of the share of attacks among the logins with at least this score."""

    def measure(sample: Sample) -> float:
        flagged = sample.scores >= threshold
        total = float(np.sum(sample.weights[flagged]))
        return float(np.sum(sample.weights[flagged & sample.attack])) / total if total else float("nan")

    return measure


def recall_at(threshold: float) -> Measure:
    """Return the measure of the share of the attacks with at least this score."""

    def measure(sample: Sample) -> float:
        total = float(np.sum(sample.weights[sample.attack]))
        return (
            float(np.sum(sample.weights[sample.attack & (sample.scores >= threshold)])) / total
            if total
            else float("nan")
        )

    return measure


def measure_with_intervals(
    logins: ScoredLogins,
    detector: str,
    measures: Mapping[str, Measure],
    *,
    attack: str | None = None,
    rounds: int = ROUNDS,
) -> dict[str, Interval]:
    """Take measures of one kind of attack, or of all, against all innocent logins.

    Each round draws campaigns and users with replacement, because the logins of one campaign resemble each other.
    """
    chosen = ~logins.is_attack | (logins.is_of(attack) if attack else True)
    order = np.flatnonzero(chosen)[np.argsort(-logins.scores[detector][chosen], kind="stable")]
    is_attack, scores, groups = logins.is_attack[order], logins.scores[detector][order], logins.group[order]
    exact = {name: measure(Sample(is_attack, scores, np.ones(len(order)))) for name, measure in measures.items()}
    drawn: dict[str, list[float]] = {name: [] for name in measures}
    for weights in _draw_weights(groups, is_attack, rounds):
        for name, measure in measures.items():
            drawn[name].append(measure(Sample(is_attack, scores, weights)))
    return {name: _interval(exact[name], drawn[name]) for name in measures}


def compare_areas(logins: ScoredLogins, other: str, *, rounds: int = ROUNDS) -> Interval:
    """Return how many times another detector's area under precision-recall ours is; both see the same draws."""
    areas = []
    for detector in (OURS, other):
        order = np.argsort(-logins.scores[detector], kind="stable")
        attack, scores, groups = logins.is_attack[order], logins.scores[detector][order], logins.group[order]
        weights = [np.ones(len(order)), *_draw_weights(groups, attack, rounds)]
        areas.append(np.array([average_precision(Sample(attack, scores, each)) for each in weights]))
    ratios = areas[0] / areas[1]
    return _interval(float(ratios[0]), list(ratios[1:]))


def _interval(value: float, drawn: list[float]) -> Interval:
    if np.isnan(value):
        return Interval(value, value, value)
    low, high = np.nanpercentile(drawn, (2.5, 97.5))
    return Interval(value, float(low), float(high))


def _draw_weights(groups: np.ndarray, is_attack: Flags, rounds: int) -> Iterator[Floats]:
    random = np.random.default_rng(7)
    kinds = [np.unique(groups[is_attack]), np.unique(groups[~is_attack])]
    for _ in range(rounds):
        weights = np.zeros(int(groups.max()) + 1)
        for members in kinds:
            drawn = random.choice(members, len(members))
            weights += np.bincount(drawn, minlength=len(weights))
        yield weights[groups]


class KindMeasures(NamedTuple):
    """How well one kind of attack is found, and the baseline with the best recall at 1 % false positives."""

    area: Interval | None = None
    recall: Interval | None = None
    best_baseline: str | None = None
    best_baseline_recall: float | None = None


NO_KIND = KindMeasures()


def measure_kind(logins: ScoredLogins, attack: str) -> KindMeasures:
    """Measure ours on one kind of attack, and find the best baseline."""
    found = measure_with_intervals(logins, OURS, RANKING, attack=attack)
    recalls = {
        name: measure_with_intervals(logins, name, RANKING, attack=attack, rounds=1)["recall"].value
        for name in BASELINES
    }
    best = max(recalls, key=recalls.__getitem__)
    return KindMeasures(found["area"], found["recall"], best, recalls[best])


@dataclass(frozen=True)
class Detections:
    """How soon campaigns of one kind are detected at a threshold."""

    campaigns: int
    detected: int
    median_tries: float
    median_minutes: float


def find_detections(logins: ScoredLogins, detector: str, attack: str, threshold: float) -> Detections:
    """Count campaigns with a login at or above the threshold, and the tries and minutes until the first."""
    tries, minutes = [], []
    of_kind = logins.is_of(attack)
    campaigns = np.unique(logins.group[of_kind])
    for campaign in campaigns:
        members = np.flatnonzero(of_kind & (logins.group == campaign))
        hits = np.flatnonzero(logins.scores[detector][members] >= threshold)
        if hits.size:
            tries.append(int(hits[0]) + 1)
            minutes.append(float(logins.at_s[members[hits[0]]] - logins.at_s[members[0]]) / 60)
    middle = (float(np.median(tries)), float(np.median(minutes))) if tries else (float("nan"), float("nan"))
    return Detections(len(campaigns), len(tries), *middle)


@dataclass(frozen=True)
class ThresholdCount:
    """What happens at a threshold: how many logins of each truth have at least that score."""

    threshold: float
    found: int
    missed: int
    false_alarms: int
    let_through: int


def count_at_thresholds(logins: ScoredLogins, detector: str, thresholds: Sequence[float]) -> list[ThresholdCount]:
    """Count attacks and innocent logins at and below each threshold."""
    scores = {is_attack: np.sort(logins.scores[detector][logins.is_attack == is_attack]) for is_attack in (True, False)}
    counts = []
    for threshold in thresholds:
        missed, through = (int(np.searchsorted(scores[is_attack], threshold)) for is_attack in (True, False))
        found, alarms = len(scores[True]) - missed, len(scores[False]) - through
        counts.append(ThresholdCount(threshold, found, missed, alarms, through))
    return counts
