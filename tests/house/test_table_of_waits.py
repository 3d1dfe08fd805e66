"""The table at the end of `make bench ONLY=waits`: each promise with its figure, spread and goal."""

from __future__ import annotations

from benchmarks.figures import Figure
from benchmarks.promises import format_table
from benchmarks.waits.report import PROMISES


def test_rows_have_what_was_measured_its_spread_and_its_goal() -> None:
    promise, other = PROMISES[0], PROMISES[-1]
    measured = [Figure.of_rounds(promise.figure, [2.0, 2.6, 2.4], "ratio"), Figure(other.figure, 4.5, "s")]

    _, row, last = format_table(PROMISES, {figure.name: figure for figure in measured})

    assert row.removeprefix(promise.what).split() == ["2.4", "ratio", "2", "to", "2.6", promise.goal]
    assert last.removeprefix(other.what).split() == ["4.5", "s", other.goal]


def test_each_figure_stands_once() -> None:
    names = [promise.figure for promise in PROMISES]

    assert len(set(names)) == len(names)
