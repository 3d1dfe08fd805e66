"""Measures of a detector: precision and recall, with intervals by a bootstrap over campaigns and users."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.detection.runs import KINDS, OURS, Column, Flags, Floats, LoginKind

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
    column: Column,
    detector: str,
    measures: Mapping[str, Measure],
    *,
    attack: LoginKind | None = None,
    rounds: int = ROUNDS,
) -> dict[str, Interval]:
    """Take measures of one kind of attack, or of all, against all innocent logins.

    Each round draws campaigns and users with replacement, because the logins of one campaign resemble each other.
    """
    chosen = ~column.is_attack | (column.kind == KINDS.index(attack) if attack else True)
    order = np.flatnonzero(chosen)[np.argsort(-column.scores[detector][chosen], kind="stable")]
    is_attack, scores, groups = column.is_attack[order], column.scores[detector][order], column.group[order]
    exact = {name: measure(Sample(is_attack, scores, np.ones(len(order)))) for name, measure in measures.items()}
    drawn: dict[str, list[float]] = {name: [] for name in measures}
    for weights in _draw_weights(groups, is_attack, rounds):
        for name, measure in measures.items():
            drawn[name].append(measure(Sample(is_attack, scores, weights)))
    return {name: _interval(exact[name], drawn[name]) for name in measures}


def compare_areas(column: Column, rival: str, *, rounds: int = ROUNDS) -> Interval:
    """Return how many times the rival's area under precision-recall ours is; both see the same draws."""
    areas = []
    for detector in (OURS, rival):
        order = np.argsort(-column.scores[detector], kind="stable")
        attack, scores, groups = column.is_attack[order], column.scores[detector][order], column.group[order]
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


@dataclass(frozen=True)
class Detections:
    """How soon campaigns of one kind are detected at a threshold."""

    campaigns: int
    detected: int
    median_tries: float
    median_minutes: float


def find_detections(column: Column, detector: str, attack: LoginKind, threshold: float) -> Detections:
    """Count campaigns with a login at or above the threshold, and the tries and minutes until the first."""
    tries, minutes = [], []
    of_kind = column.kind == KINDS.index(attack)
    campaigns = np.unique(column.group[of_kind])
    for campaign in campaigns:
        members = np.flatnonzero(of_kind & (column.group == campaign))
        hits = np.flatnonzero(column.scores[detector][members] >= threshold)
        if hits.size:
            tries.append(int(hits[0]) + 1)
            minutes.append(float(column.at_s[members[hits[0]]] - column.at_s[members[0]]) / 60)
    middle = (float(np.median(tries)), float(np.median(minutes))) if tries else (float("nan"), float("nan"))
    return Detections(len(campaigns), len(tries), *middle)
