"""One view after the other in a notebook: how long each waits for its first markup and data, a filter, and memory.

Each round is a new kernel. Its first view also imports the dashboards; those after it do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from statistics import quantiles
from typing import Final

from playwright.sync_api import Browser

from benchmarks.figures import Figure
from benchmarks.servers import read_cpu_s
from benchmarks.views.amount import Amount
from benchmarks.views.jupyter_lab import write_notebook
from benchmarks.views.window import NotebookWindow, Wait, click_filters, open_notebook
from benchmarks.views.worlds import ViewWorld

FIRST, LATER = "first view of a kernel", "later views"
VIEW: Final = 'views.append(lab.explore("risk", days=7))\nviews[-1]'
BELOW: Final = "\n" * 150  # so that each cell can be scrolled to the top of the window
_FIRST_VIEWS: Final = 2  # of a round: they load what all views share


@dataclass
class Rounds:
    """What was measured: the waits of each kernel's first view, of later views, and of clicks by round.

    Of the kernel, also the memory and the processor time of a view, and the processor time of a click.
    """

    first: list[Wait] = field(default_factory=list)
    later: list[Wait] = field(default_factory=list)
    clicks: list[list[float]] = field(default_factory=list)
    view_mb: list[float] = field(default_factory=list)
    view_cpu_ms: list[float] = field(default_factory=list)
    click_cpu_ms: list[float] = field(default_factory=list)


def measure_views(browser: Browser, url: str, folder: Path, world: ViewWorld, amount: Amount) -> Iterator[Figure]:
    """Measure views of the risk explorer, in notebooks of `folder`, which the JupyterLab at `url` serves."""
    measured = Rounds()
    for number in range(amount.rounds):
        notebook = folder / f"views-{number}.ipynb"
        write_notebook(notebook, [world.first_cell, *[VIEW] * (_FIRST_VIEWS + amount.views), BELOW])
        with open_notebook(browser, url, notebook.name) as window:
            if shown := window.run_plain(0):
                raise RuntimeError(f"The lab of the benchmark does not open: {shown}")
            _measure_notebook(measured, window, int((folder / "kernel.pid").read_text()), amount)
    return _describe(measured, world.name)


def _measure_notebook(measured: Rounds, window: NotebookWindow, kernel: int, amount: Amount) -> None:
    last = _FIRST_VIEWS + amount.views
    measured.first.append(window.run(1))
    measured.later += [window.run(cell) for cell in range(2, _FIRST_VIEWS + 1)]
    before_mb, before_ms = read_resident_mb(kernel), read_cpu_ms(kernel)
    measured.later += [window.run(cell) for cell in range(_FIRST_VIEWS + 1, last + 1)]
    shown_ms = read_cpu_ms(kernel)
    measured.view_mb.append((read_resident_mb(kernel) - before_mb) / amount.views)
    measured.view_cpu_ms.append((shown_ms - before_ms) / amount.views)
    measured.clicks.append([wait["all_panes"] for wait in click_filters(window, last, amount.clicks)])
    measured.click_cpu_ms.append((read_cpu_ms(kernel) - shown_ms) / amount.clicks)


def _describe(measured: Rounds, world: str) -> Iterator[Figure]:
    for which, waits in ((FIRST, measured.first), (LATER, measured.later)):
        where = f"{world}, {which}"
        yield Figure.of_rounds(f"views.first_markup_ms, {where}", [wait["first_markup"] for wait in waits], "ms")
        yield Figure.of_rounds(f"views.first_data_ms, {where}", [find_data_ms(wait) for wait in waits], "ms")
        yield Figure.of_rounds(f"views.all_panes_ms, {where}", [wait["all_panes"] for wait in waits], "ms")
    yield Figure.of_rounds(f"views.view_cpu_ms, {world}", measured.view_cpu_ms, "ms")
    yield from describe_clicks("views.filter", world, measured.clicks)
    yield Figure.of_rounds(f"views.filter_cpu_ms, {world}", measured.click_cpu_ms, "ms")
    yield Figure.of_rounds(f"views.view_mb, {world}", measured.view_mb, "MB")


def find_data_ms(wait: Wait) -> float:
    """Find when both the first key figure and the first pane were seen."""
    return max(wait["first_figure"], wait["first_pane"])


def describe_clicks(name: str, where: str, rounds: Sequence[Sequence[float]]) -> Iterator[Figure]:
    """Describe the waits of clicks: the median of all, and the 95 % quantile of each round."""
    yield Figure.of_rounds(f"{name}_ms, {where}", list(chain.from_iterable(rounds)), "ms")
    p95 = [quantiles(clicks, n=20, method="inclusive")[-1] for clicks in rounds]
    yield Figure.of_rounds(f"{name}_p95_ms, {where}", p95, "ms")


def read_resident_mb(process: int) -> float:
    """Read the resident memory of a process, in MB (Linux's VmRSS)."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024 / 1e6


def read_cpu_ms(process: int) -> float:
    """Read the processor time that a process has used, which other programs on the machine hardly change."""
    return read_cpu_s(process) * 1e3
