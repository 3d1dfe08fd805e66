"""The report of a measurement: JSON figures, and tables for people (`python -m benchmarks.detection`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from attestlab.risk.judgement.measures import (
    Detections,
    Interval,
    average_precision,
    compare_areas,
    find_detections,
    measure_with_intervals,
    precision_at,
    recall_at,
    recall_at_false_positives,
)
from attestlab.risk.judgement.scored_logins import BASELINES, OURS, ScoredLogins
from benchmarks.detection.hard_world.parameters import HardParameters
from benchmarks.detection.runs import ATTACKS, BEFORE, INNOCENTS, LoginKind, join_worlds, run_world
from benchmarks.detection.signal_attacks import measure_rules
from benchmarks.figures import Figure

TUNING_SEEDS = (1, 2, 3, 4)  # the numbers of the detector were chosen on these
HELD_OUT_SEEDS = tuple(range(401, 405))
SIGNAL_SEEDS = tuple(range(201, 205))  # of the plain rules for other signals
DETECTION_SCORE = 60
_RANKING = {"average_precision": average_precision, "recall_at_1_percent_fpr": recall_at_false_positives}
_SCORE = {"precision_at_60": precision_at(60), "precision_at_80": precision_at(80), "recall_at_60": recall_at(60)}
_ALL = _RANKING | _SCORE


def run_worlds(seeds: Sequence[int] = HELD_OUT_SEEDS) -> ScoredLogins:
    """Score the worlds of these seeds."""
    return join_worlds([run_world(HardParameters(seed=seed)) for seed in seeds])


def _list_detectors(column: ScoredLogins) -> tuple[str, ...]:
    """List ours, the one before if there is one, and the baselines."""
    return tuple(name for name in (OURS, BEFORE, *BASELINES) if name in column.scores)


def figures(_folder: Path) -> Iterator[Figure]:
    """Yield each figure with the interval of its bootstrap as spread; those of rivals by attack have none."""
    column = run_worlds()
    yield Figure("detection.cost_us", round(column.cost_us, 1), "us of processor time a login")
    yield from _as_figures("detection.all.ours", measure_with_intervals(column, OURS, _ALL))
    for rival in BASELINES:
        yield from _as_figures(f"detection.all.{rival}", measure_with_intervals(column, rival, _RANKING))
    for attack in ATTACKS:
        yield from _figures_of_attack(column, attack)
    for kind in INNOCENTS:
        yield Figure(f"detection.false_positives.{kind}", _flagged_share(column, OURS, kind, 60), "share at 60")
    yield from _figures_of_rules()


def _figures_of_rules() -> Iterator[Figure]:
    """Yield what plain rules find of the attacks that no detector scores, with Wilson intervals as spread."""
    for each in measure_rules(SIGNAL_SEEDS):
        for name in ("recall", "precision", "false_positives", "campaigns"):
            share = getattr(each, name)
            spread = round(share.low, 4), round(share.high, 4)
            yield Figure(f"detection.{each.attack}.{each.rule}.{name}", round(share.value, 4), "share", spread=spread)


def _figures_of_attack(column: ScoredLogins, attack: LoginKind) -> Iterator[Figure]:
    yield from _as_figures(f"detection.{attack}.ours", measure_with_intervals(column, OURS, _ALL, attack=attack))
    for rival in BASELINES:
        found = measure_with_intervals(column, rival, _RANKING, attack=attack, rounds=1)
        for name, interval in found.items():
            yield Figure(f"detection.{attack}.{rival}.{name}", round(interval.value, 4), "share")
    detections = find_detections(column, OURS, attack, DETECTION_SCORE)
    yield Figure(f"detection.{attack}.campaigns", detections.campaigns, "campaigns")
    yield Figure(f"detection.{attack}.detected", detections.detected, "campaigns")
    yield Figure(f"detection.{attack}.tries", detections.median_tries, "tries, median of the detected")
    yield Figure(f"detection.{attack}.minutes", detections.median_minutes, "minutes, median of the detected")


def _as_figures(prefix: str, found: dict[str, Interval]) -> Iterator[Figure]:
    for name, interval in found.items():
        spread = round(interval.low, 4), round(interval.high, 4)
        yield Figure(f"{prefix}.{name}", round(interval.value, 4), "share", spread=spread)


def _flagged_share(column: ScoredLogins, detector: str, kind: LoginKind, threshold: float) -> float:
    scores = column.scores[detector][column.is_of(kind)]
    return round(float(np.mean(scores >= threshold)), 5) if scores.size else 0.0


def render_tables(column: ScoredLogins, seeds: Sequence[int] = HELD_OUT_SEEDS) -> str:
    """Return the measurement as tables in Markdown."""
    attacks = int(column.is_attack.sum())
    head = f"{len(column.kind):,} logins, {attacks:,} of attackers ({attacks / len(column.kind):.2%}), in "
    head += f"{len(seeds)} worlds; {column.cost_us:.0f} µs of processor time a login.\n"
    return "\n".join([head, render_rivals(column), _render_attacks(column), _render_people(column)])


def render_rivals(column: ScoredLogins) -> str:
    """Return the comparison of all detectors over all attacks."""
    found = {name: measure_with_intervals(column, name, _ALL) for name in _list_detectors(column)}
    lines = ["| detector | area under precision-recall | recall at 1 % false positives | ours: times its area |"]
    lines.append("|---|---|---|---|")
    for detector, intervals in found.items():
        cells = [_format(intervals[name]) for name in _RANKING]
        cells.append("" if detector == OURS else _format(compare_areas(column, detector)))
        lines.append(f"| {_name(detector)} | {' | '.join(cells)} |")
    lines += ["", "| detector | precision at 60 | precision at 80 | recall at 60 |", "|---|---|---|---|"]
    for detector in _list_detectors(column):
        if detector not in BASELINES:
            cells = [_format(found[detector][name]) for name in _SCORE]
            lines.append(f"| {_name(detector)} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _render_attacks(column: ScoredLogins) -> str:
    compared = tuple(name for name in _list_detectors(column) if name not in BASELINES)
    titles = [f"{title}, {name}" for title in ("area", "recall at 1 %") for name in (*compared, "best rival")]
    ranking = [f"| attack | tries | {' | '.join(titles)} |", "|---" * (2 + len(titles)) + "|"]
    delays = [
        "| attack | campaigns | detected at 60 | tries until then | minutes until then |",
        "|---|---|---|---|---|",
    ]
    for attack in ATTACKS:
        found = {name: measure_with_intervals(column, name, _RANKING, attack=attack) for name in compared}
        cells = [_name(attack), f"{int(np.sum(column.is_of(attack))):,}"]
        for measure in _RANKING:
            cells += [*(_format(found[name][measure]) for name in compared), _best_rival(column, attack, measure)]
        ranking.append(f"| {' | '.join(cells)} |")
        detections = _render_detections(find_detections(column, OURS, attack, DETECTION_SCORE))
        delays.append(f"| {_name(attack)} | {detections} |")
    return "\n".join([*ranking, "", *delays, ""])


def _best_rival(column: ScoredLogins, attack: LoginKind, measure: str) -> str:
    wanted = {measure: _RANKING[measure]}
    found = {rival: measure_with_intervals(column, rival, wanted, attack=attack, rounds=1) for rival in BASELINES}
    best = max(found, key=lambda rival: found[rival][measure].value)
    return f"{found[best][measure].value:.2f} ({_name(best)})"


def _render_detections(found: Detections) -> str:
    return f"{found.campaigns} | {found.detected} | {found.median_tries:.0f} | {found.median_minutes:.0f}"


def _render_people(column: ScoredLogins) -> str:
    """Return the shares of flagged innocents; what the ladder alone puts at 60 is counted apart."""
    has_before = BEFORE in column.scores
    lines = [f"| people | logins | at 50 | at 60 |{' before, at 60 |' * has_before} at 80 | ladder alone, at 60 |"]
    lines.append("|---" * (6 + has_before) + "|")
    for kind in (None, *INNOCENTS):
        chosen = ~column.is_attack if kind is None else column.is_of(kind)
        measured = [(OURS, 50), (OURS, 60), *([(BEFORE, 60)] * has_before), (OURS, 80), ("ladder", 60)]
        shares = [float(np.mean(column.scores[name][chosen] >= threshold)) for name, threshold in measured]
        cells = " | ".join(f"{share:.2%}" for share in shares)
        lines.append(f"| {_name(kind or 'all')} | {int(chosen.sum()):,} | {cells} |")
    return "\n".join([*lines, ""])


def _name(kind: str) -> str:
    return kind.replace("_", " ")


def _format(interval: Interval) -> str:
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
