"""Stills: what a view costs where no browser is, under nbclient, and how long the markup is that a notebook stores."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

import nbformat
from nbclient import NotebookClient

from benchmarks.figures import Figure
from benchmarks.views.amount import Amount
from benchmarks.views.jupyter_lab import write_notebook
from benchmarks.views.worlds import ViewWorld

_CUT: Final = 'class="sub al-left-out"'
_BEGIN_AND_END: Final = ("iopub.execute_input", "shell.execute_reply")
_IMPORT: Final = "import attestlab_dashboards.cell.explorer"


class StillFigures(NamedTuple):
    """What a still took, how long it is, and whether a part of it had no room in it."""

    time_ms: float
    size_kb: float
    is_cut: bool


def measure_stills(folder: Path, world: ViewWorld, amount: Amount) -> Iterator[Figure]:
    """Execute a notebook with all pages and each pane alone, in a new kernel each round."""
    cells = [world.first_cell, _IMPORT, *(each.cell for each in amount.stills)]
    rounds = [_execute(folder, cells) for _ in range(amount.rounds)]
    yield Figure.of_rounds(f"views.import_ms, {world.name}", [stills[1].time_ms for stills in rounds], "ms")
    above, cut = set[str](), set[str]()
    for number, each in enumerate(amount.stills, 2):
        stills = [found[number] for found in rounds]
        sizes = [still.size_kb for still in stills]
        above |= {each.name} if max(sizes) > each.max_kb else set()
        cut |= {each.name} if any(still.is_cut for still in stills) else set()
        yield Figure.of_rounds(f"views.still_ms, {world.name}, {each.name}", [still.time_ms for still in stills], "ms")
        yield Figure.of_rounds(f"views.still_kb, {world.name}, {each.name}", sizes, "kB")
    for name, found in (("above_limit", above), ("cut", cut)):
        yield Figure(f"views.stills_{name}, {world.name}", len(found), "stills")
        print(f"Stills of {world.name} that are {name}: {', '.join(sorted(found)) or 'none'}", file=sys.stderr)


def _execute(folder: Path, cells: Sequence[str]) -> list[StillFigures]:
    """Execute a notebook in a new kernel, without a browser; returns what each cell took, and its markup's length."""
    path = folder / "stills.ipynb"
    write_notebook(path, cells)
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}, record_timing=True).execute()
    nbformat.write(notebook, path)  # type: ignore[no-untyped-call]
    return [_read_still(cell) for cell in notebook.cells]


def _read_still(cell: nbformat.NotebookNode) -> StillFigures:
    times = [datetime.fromisoformat(cell.metadata.execution[name]) for name in _BEGIN_AND_END]
    markup = "".join(output.get("data", {}).get("text/html", "") for output in cell.outputs)
    return StillFigures((times[1] - times[0]).total_seconds() * 1e3, len(markup.encode()) / 1e3, _CUT in markup)
