"""Charts of what a policy would have decided: the decisions that change, what each rule does, sweeps of thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import holoviews as hv
import pandas as pd

from attestlab.core.errors import ValidationFailed
from attestlab.plots.look import SLATE, WIDE, write_nothing
from attestlab.plots.requirements import require_answer, require_choice
from attestlab.plots.tables import draw_columns, draw_counts, draw_lines
from attestlab.simulation.shapes import SimulationOut, SweptOut

if TYPE_CHECKING:
    from attestlab.plots.look import Chart

SWEPT: Final = ("changes", "allowed", "denied")
MAX_SEGMENTS: Final = 12  # columns of a chart whose names are readable
_FLIPS: Final = (("ALLOW", "DENY", "newly denied"), ("DENY", "ALLOW", "newly allowed"))


def draw_flips(report: SimulationOut, *, title: str | None = None) -> Chart:
    """Draw the decisions that a policy would change, by the attributes of the simulation.

    Args:
        report: what `policy.simulate` returns; its `by` names the attributes.
        title: above the chart; by default the policy with the number of its decisions.

    Returns:
        A column for each segment, the largest first, at most twelve; red is newly allowed, which opens a door.

    Raises:
        ValidationFailed: `report` is no simulation of a policy.

    >>> from attestlab import plots
    >>> report = lab.policies["Employment checks"].simulate(until="2026-11-02", by="trust_tier")
    >>> chart = plots.draw_flips(report)
    """
    require_answer(report, SimulationOut, name="report", made_by="policy.simulate()")
    title = f"{report.policy.name}: what changes in {report.decided:,} decisions" if title is None else title
    counts: dict[str, dict[str, int]] = {}
    for flip in report.flips:
        name = ", ".join("none" if each is None else str(each) for each in flip.segments.values()) or "all"
        kind = next(word for before, after, word in _FLIPS if (before, after) == (flip.from_, flip.to))
        segment = counts.setdefault(name, {word: 0 for _, _, word in _FLIPS})
        segment[kind] += flip.count
    if not counts:
        return write_nothing("No decision would change.", title=title)
    table = pd.DataFrame.from_dict(counts, orient="index", columns=[word for _, _, word in _FLIPS])
    largest = table.loc[table.sum(axis="columns").sort_values(ascending=False, kind="stable").index[:MAX_SEGMENTS]]
    return draw_columns(
        largest, title=title, ylabel="decisions", rot=90 if len(largest) > 6 else 0, loud=["newly allowed"]
    )


def draw_rules(report: SimulationOut, *, title: str | None = None) -> Chart:
    """Draw how many decisions each rule of a policy matches, and in how many of them it decides.

    Args:
        report: what `policy.simulate` returns.
        title: above the chart; by default the policy with the number of its decisions.

    Returns:
        A column for each rule, in the order of their priorities: where another rule decides, and where it does.

    Raises:
        ValidationFailed: `report` is no simulation of a policy.

    >>> from attestlab import plots
    >>> chart = plots.draw_rules(lab.policies["Employment checks"].simulate(until="2026-11-02"))
    """
    require_answer(report, SimulationOut, name="report", made_by="policy.simulate()")
    title = f"{report.policy.name}: what its rules match in {report.decided:,} decisions" if title is None else title
    if not report.rules:
        return write_nothing("The policy has no rules.", title=title)
    ordered = sorted(report.rules, key=lambda each: each.priority)
    counts = {each.rule: (each.hits - each.decisive, each.decisive) for each in ordered}
    table = pd.DataFrame.from_dict(counts, orient="index", columns=["another rule decides", "it decides"])
    return draw_columns(table, title=title, ylabel="decisions", rot=90 if len(table) > 6 else 0)


def draw_sweep(sweep: Sequence[SweptOut], what: str = "changes", *, title: str | None = None) -> Chart:
    """Draw what each value of one threshold would decide, or of two.

    Args:
        sweep: `lab.policies.sweep(...).sweep`.
        what: `changes`, the decisions that would be newly allowed and newly denied; `allowed` or `denied`, all of
            these.
        title: above the chart.

    Returns:
        For one threshold lines of steps, with a dashed line at the present value; for two a table of cells.

    Raises:
        ValidationFailed: `sweep` is no sweep, or `what` is another word.

    >>> from attestlab import plots
    >>> report = lab.policies.sweep("Employment checks", ("old-key", "key.age_days"), until="2026-11-02")
    >>> chart = plots.draw_sweep(report.sweep)
    """
    points = _require_sweep(sweep)
    require_choice(what, SWEPT, name="what")
    title = "What each value of the threshold would decide" if title is None else title
    if not points:
        return write_nothing("No decision has a value of the threshold.", title=title)
    if len(points[0].values) == 2:
        return _draw_table(points, what, title)
    lines = pd.DataFrame([_read_point(each, what) for each in points], index=[each.values[0] for each in points])
    drawn = draw_lines(lines.sort_index().rename_axis("value of the threshold"), title=title, ylabel="decisions")
    for value in (each.values[0] for each in points if each.is_current):
        drawn *= hv.VLine(value).opts(color=SLATE, linewidth=1, linestyle="--", backend="matplotlib")
    return drawn.opts(title=title, **WIDE)


def _require_sweep(sweep: object) -> Sequence[SweptOut]:
    if isinstance(sweep, list) and all(isinstance(each, SweptOut) for each in sweep):
        return sweep
    raise ValidationFailed(
        f"sweep is a {type(sweep).__name__}. Pass that of a report: "
        "lab.policies.sweep(policy, (rule, attribute)).sweep."
    )


def _read_point(point: SweptOut, what: str) -> dict[str, int]:
    if what == "changes":
        return {"newly denied": point.closed, "newly allowed": point.opened}
    return {what: getattr(point, what)}


def _draw_table(points: Sequence[SweptOut], what: str, title: str) -> Chart:
    """Draw the values of two thresholds as rows and columns, at most twelve of each."""
    counts = {tuple(each.values): sum(_read_point(each, what).values()) for each in points}
    table = (
        pd.Series(counts)
        .unstack()
        .rename(index=_write_value, columns=_write_value)
        .rename_axis(index="first threshold", columns="second threshold")
    )
    return draw_counts(table.iloc[_thin(len(table)), _thin(len(table.columns))].fillna(0).astype(int), title=title)


def _write_value(value: float) -> str:
    return f"{value:,.6g}"


def _thin(count: int) -> list[int]:
    """Return at most twelve places of a row, evenly spread, with the first and the last."""
    wanted = min(count, MAX_SEGMENTS)
    return [round(place * (count - 1) / max(1, wanted - 1)) for place in range(wanted)]
