"""The report of a measurement: JSON figures, and tables for people (`python -m benchmarks.detection`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from attestlab.demos.risk_world.parameters import WorldParameters
from attestlab.demos.risk_world.records import INNOCENT_LOGINS, LOGIN_ATTACKS, Kind
from benchmarks.detection.measures import (
    Detections,
    Interval,
    average_precision,
    find_detections,
    measure_with_intervals,
    precision_at,
    recall_at,
    recall_at_false_positives,
)
from benchmarks.detection.runs import KINDS, OURS, RIVALS, Column, join_worlds, run_world
from benchmarks.detection.signal_attacks import measure_rules, render_rules
from benchmarks.figures import Figure

TUNING_SEEDS = (1, 2, 3, 4)  # the numbers of the detector were chosen on these
HELD_OUT_SEEDS = tuple(range(201, 205))
DETECTION_SCORE = 60
_RANKING = {"average_precision": average_precision, "recall_at_1_percent_fpr": recall_at_false_positives}
_SCORE = {"precision_at_60": precision_at(60), "precision_at_80": precision_at(80), "recall_at_60": recall_at(60)}
_ALL = _RANKING | _SCORE


def run_held_out() -> Column:
    """Score the worlds of the held-out seeds."""
    return join_worlds([run_world(WorldParameters(seed=seed)) for seed in HELD_OUT_SEEDS])


def figures(_folder: Path) -> Iterator[Figure]:
    """Yield each figure with the interval of its bootstrap as spread; those of rivals by attack have none."""
    column = run_held_out()
    yield Figure("detection.cost_us", round(column.cost_us, 1), "us of processor time a login")
    yield from _as_figures("detection.all.ours", measure_with_intervals(column, OURS, _ALL))
    for rival in RIVALS:
        yield from _as_figures(f"detection.all.{rival}", measure_with_intervals(column, rival, _RANKING))
    for attack in LOGIN_ATTACKS:
        yield from _figures_of_attack(column, attack)
    for kind in INNOCENT_LOGINS:
        yield Figure(f"detection.false_positives.{kind}", _flagged_share(column, OURS, kind, 60), "share at 60")
    yield from _figures_of_rules()


def _figures_of_rules() -> Iterator[Figure]:
    """Yield what plain rules find of the attacks that no detector scores, with Wilson intervals as spread."""
    for each in measure_rules(HELD_OUT_SEEDS):
        for name in ("recall", "precision", "false_positives", "campaigns"):
            share = getattr(each, name)
            spread = round(share.low, 4), round(share.high, 4)
            yield Figure(f"detection.{each.attack}.{each.rule}.{name}", round(share.value, 4), "share", spread=spread)


def _figures_of_attack(column: Column, attack: Kind) -> Iterator[Figure]:
    yield from _as_figures(f"detection.{attack}.ours", measure_with_intervals(column, OURS, _ALL, attack=attack))
    for rival in RIVALS:
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


def _flagged_share(column: Column, detector: str, kind: Kind, threshold: float) -> float:
    scores = column.scores[detector][column.kind == KINDS.index(kind)]
    return round(float(np.mean(scores >= threshold)), 5) if scores.size else 0.0


def render_tables(column: Column) -> str:
    """Return the measurement as tables in Markdown."""
    attacks = int(column.is_attack.sum())
    head = f"{len(column.kind):,} logins, {attacks:,} of attackers ({attacks / len(column.kind):.2%}), in "
    head += f"{len(HELD_OUT_SEEDS)} worlds of held-out seeds; {column.cost_us:.0f} µs of processor time a login.\n"
    rules = render_rules(measure_rules(HELD_OUT_SEEDS))
    return "\n".join([head, render_rivals(column), _render_attacks(column), _render_people(column), rules])


def render_rivals(column: Column) -> str:
    """Return the comparison of all detectors over all attacks."""
    found = {OURS: measure_with_intervals(column, OURS, _ALL)}
    found |= {rival: measure_with_intervals(column, rival, _RANKING) for rival in RIVALS}
    lines = ["| detector | area under precision-recall | recall at 1 % false positives |", "|---|---|---|"]
    for detector, intervals in found.items():
        cells = [_format(intervals[name]) for name in _RANKING]
        lines.append(f"| {detector.replace('_', ' ')} | {' | '.join(cells)} |")
    lines += ["", "| | precision at 60 | precision at 80 | recall at 60 |", "|---|---|---|---|"]
    lines.append(f"| ours, all attacks | {' | '.join(_format(found[OURS][name]) for name in _SCORE)} |")
    return "\n".join([*lines, ""])


def _render_attacks(column: Column) -> str:
    ranking = ["| attack | tries | area, ours | area, best rival | recall at 1 %, ours | recall at 1 %, best rival |"]
    delays = [
        "| attack | precision at 60 | precision at 80 | campaigns | detected | tries until then | minutes until then |"
    ]
    ranking, delays = [*ranking, "|---|---|---|---|---|---|"], [*delays, "|---|---|---|---|---|---|---|"]
    for attack in LOGIN_ATTACKS:
        ours = measure_with_intervals(column, OURS, _ALL, attack=attack)
        tries = int(np.sum(column.kind == KINDS.index(attack)))
        cells = [_name(attack), f"{tries:,}"]
        for measure in _RANKING:
            cells += [_format(ours[measure]), _best_rival(column, attack, measure)]
        ranking.append(f"| {' | '.join(cells)} |")
        detections = _render_detections(find_detections(column, OURS, attack, DETECTION_SCORE))
        cells = [_name(attack), _format(ours["precision_at_60"]), _format(ours["precision_at_80"]), detections]
        delays.append(f"| {' | '.join(cells)} |")
    return "\n".join([*ranking, "", *delays, ""])


def _best_rival(column: Column, attack: Kind, measure: str) -> str:
    wanted = {measure: _RANKING[measure]}
    found = {rival: measure_with_intervals(column, rival, wanted, attack=attack, rounds=1) for rival in RIVALS}
    best = max(found, key=lambda rival: found[rival][measure].value)
    return f"{found[best][measure].value:.2f} ({best.replace('_', ' ')})"


def _render_detections(found: Detections) -> str:
    return f"{found.campaigns} | {found.detected} | {found.median_tries:.0f} | {found.median_minutes:.0f}"


def _render_people(column: Column) -> str:
    lines = ["| people | logins | at 50 | at 60 | at 80 | ladder alone, at 60 |", "|---|---|---|---|---|---|"]
    for kind in INNOCENT_LOGINS:
        count = int(np.sum(column.kind == KINDS.index(kind)))
        shares = [_flagged_share(column, OURS, kind, threshold) for threshold in (50, 60, 80)]
        shares.append(_flagged_share(column, "ladder", kind, 60))
        lines.append(f"| {_name(kind)} | {count:,} | {' | '.join(f'{share:.2%}' for share in shares)} |")
    return "\n".join([*lines, ""])


def _name(kind: Kind) -> str:
    return kind.replace("_", " ")


def _format(interval: Interval) -> str:
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
