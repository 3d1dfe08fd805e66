"""Twenty views in one notebook: those out of sight ask for nothing, and the last one is as usable as the first."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from benchmarks.figures import Figure
from benchmarks.views.amount import Amount
from benchmarks.views.jupyter_lab import write_notebook
from benchmarks.views.live import BELOW, VIEW, describe_clicks, find_data_ms
from benchmarks.views.window import NotebookWindow, Wait, click_filters, open_notebook
from benchmarks.views.worlds import ViewWorld

# A page that no window has shown is at number 0. The still of a cell loads its panes all the same.
_COUNT: Final = """\
import json

pages = [view._cell.conversation for view in views]
json.dumps([[page.number > 0, len(page._answers._loading)] for page in pages])"""

_COUNTING: Final = 1
_FIRST: Final = 2  # view


@dataclass
class Notebooks:
    """What was measured in each notebook: views that began out of sight, loads of a still, the last view and clicks."""

    begun: list[int] = field(default_factory=list)
    loads: list[int] = field(default_factory=list)
    last: list[Wait] = field(default_factory=list)
    clicks: list[list[float]] = field(default_factory=list)


def measure_twenty(browser: Browser, url: str, folder: Path, world: ViewWorld, amount: Amount) -> Iterator[Figure]:
    """Measure the last of many views, which is out of sight until it is scrolled to."""
    measured = Notebooks()
    for number in range(amount.rounds):
        name = f"twenty-{number}.ipynb"
        write_notebook(folder / name, [world.first_cell, _COUNT, *[VIEW] * amount.many, BELOW])
        with open_notebook(browser, url, name) as window:
            _measure_notebook(measured, window, amount)
    return _describe(measured, f"{world.name}, {amount.many} views")


def _measure_notebook(measured: Notebooks, window: NotebookWindow, amount: Amount) -> None:
    window.run_plain(0)
    seen = set(window.run_below(_FIRST))
    counted = json.loads(ast.literal_eval(window.run_plain(_COUNTING)))
    out_of_sight = [page for cell, page in enumerate(counted, _FIRST) if cell not in seen]
    measured.begun.append(sum(has_begun for has_begun, _ in out_of_sight))
    measured.loads += [loads for _, loads in out_of_sight]
    last = _FIRST + amount.many - 1
    measured.last.append(window.visit(last))
    measured.clicks.append([wait["all_panes"] for wait in click_filters(window, last, amount.clicks)])


def _describe(measured: Notebooks, many: str) -> Iterator[Figure]:
    last = measured.last
    yield Figure.of_rounds(f"views.begun_out_of_sight, {many}", measured.begun, "views")
    yield Figure.of_rounds(f"views.loads_for_still, {many}", measured.loads, "loads")
    yield Figure.of_rounds(f"views.last_still_ms, {many}", [wait["still"] for wait in last], "ms")
    yield Figure.of_rounds(f"views.last_scrolled_on, {many}", [wait["scrolled_on"] for wait in last], "times")
    yield Figure.of_rounds(f"views.last_data_ms, {many}", [find_data_ms(wait) for wait in last], "ms")
    yield Figure.of_rounds(f"views.last_all_panes_ms, {many}", [wait["all_panes"] for wait in last], "ms")
    yield from describe_clicks("views.last_filter", many, measured.clicks)
