"""The table at the end of a group of figures: what was promised, the figure that measures it, and its goal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.figures import Figure


class Promise(NamedTuple):
    """A row of the table: what was promised, its goal, and the figure that measures it."""

    what: str
    goal: str
    figure: str


def format_table(promises: Sequence[Promise], measured: Mapping[str, Figure]) -> Iterator[str]:
    """Yield the lines of the table of promises, without those whose figure was not measured."""
    yield f"{'what':<62} {'measured':>10} {'spread':>22}  goal"
    for what, goal, name in promises:
        if (figure := measured.get(name)) is not None:
            spread = "" if figure.spread is None else " to ".join(f"{value:,g}" for value in figure.spread)
            yield f"{what:<62} {f'{figure.value:,g} {figure.unit}':>10} {spread:>22}  {goal}"
