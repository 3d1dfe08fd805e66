"""`views.*`: views of the dashboards in cells of a real JupyterLab in Chromium, and their stills under nbclient.

They are measured on the demo's world, and on an installation with 100,000 signals; BENCH_SIGNALS sets another number.
`BENCH_PARTS=views,twenty,stills` selects parts. A run ends with the table of what was promised on stderr. A data frame
of a million signals is a figure of the group `facade`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from playwright.sync_api import Browser

from benchmarks.chromium import has_chromium, open_chromium
from benchmarks.figures import Figure
from benchmarks.promises import Promise, format_table
from benchmarks.views.amount import PAGE_STILLS, Amount
from benchmarks.views.jupyter_lab import run_jupyter_lab
from benchmarks.views.live import FIRST, LATER, measure_views
from benchmarks.views.stills import measure_stills
from benchmarks.views.twenty import measure_twenty
from benchmarks.views.worlds import DEMO, ViewWorld, make_generated_world

PARTS_VARIABLE: Final = "BENCH_PARTS"
STILLS: Final = "stills"
_InBrowser = Callable[[Browser, str, Path, ViewWorld, Amount], Iterator[Figure]]
_IN_BROWSER: Final[dict[str, _InBrowser]] = {"views": measure_views, "twenty": measure_twenty}


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures of both worlds, and print the table of promises at the end."""
    parts, measured = choose_parts(os.environ.get(PARTS_VARIABLE, "")), dict[str, Figure]()
    worlds = (DEMO, make_generated_world(folder / "data"))
    for number, world in enumerate(worlds):
        notebooks = folder / f"notebooks-{number}"
        notebooks.mkdir()
        for figure in measure_world(notebooks, world, parts, Amount()):
            measured[figure.name] = figure
            yield figure
    promises = [promise for world in worlds for promise in list_promises(world.name, Amount())]
    print("\n".join(format_table(promises, measured)), file=sys.stderr)


def choose_parts(chosen: str) -> tuple[str, ...]:
    """Choose the parts of a list with commas; an empty one means all.

    Raises:
        ValueError: there is no such part.
    """
    parts = (*_IN_BROWSER, STILLS)
    found = tuple(chosen.split(",")) if chosen else parts
    if unknown := set(found) - set(parts):
        raise ValueError(
            f"{PARTS_VARIABLE} names no part {', '.join(sorted(unknown))}; the parts are {', '.join(parts)}."
        )
    return found


def measure_world(folder: Path, world: ViewWorld, parts: tuple[str, ...], amount: Amount) -> Iterator[Figure]:
    """Yield the figures of some parts in a world; its notebooks are written to `folder`."""
    in_browser = [measure for name, measure in _IN_BROWSER.items() if name in parts]
    if in_browser and has_chromium():
        with run_jupyter_lab(folder) as url, open_chromium() as browser:
            for measure in in_browser:
                yield from measure(browser, url, folder, world, amount)
    if STILLS in parts:
        yield from measure_stills(folder, world, amount)


def list_promises(world: str, amount: Amount) -> Iterator[Promise]:
    """List what is promised of views in a world, in the order of the table."""
    for which in (FIRST, LATER):
        yield Promise(f"{world}, {which}: first markup", "300", f"views.first_markup_ms, {world}, {which}")
        yield Promise(f"{world}, {which}: first data", "1,500", f"views.first_data_ms, {world}, {which}")
        yield Promise(f"{world}, {which}: all panes", "", f"views.all_panes_ms, {world}, {which}")
    many = f"{world}, {amount.many} views"
    yield Promise(f"{world}: a filter, median", "", f"views.filter_ms, {world}")
    yield Promise(f"{world}: a filter, p95", "500", f"views.filter_p95_ms, {world}")
    yield Promise(f"{world}: processor time of a view in the kernel", "", f"views.view_cpu_ms, {world}")
    yield Promise(f"{world}: processor time of a filter in the kernel", "", f"views.filter_cpu_ms, {world}")
    yield Promise(f"{world}: memory of a view", "20", f"views.view_mb, {world}")
    yield Promise(f"{many}: begun out of sight", "0", f"views.begun_out_of_sight, {many}")
    yield Promise(f"{many}: begins only at the end of its still", "0", f"views.last_scrolled_on, {many}")
    yield Promise(f"{many}: data of the last one, scrolled to", "", f"views.last_data_ms, {many}")
    yield Promise(f"{many}: a filter of it, p95", "500", f"views.last_filter_p95_ms, {many}")
    yield Promise(f"{world}: stills above 300 kB a page, 60 kB a pane", "0", f"views.stills_above_limit, {world}")
    yield Promise(f"{world}: stills with a part that is cut or left out", "", f"views.stills_cut, {world}")
    for each in (still for still in PAGE_STILLS if still in amount.stills):
        yield Promise(f"{world}: still of {each.name}", f"{each.max_kb}", f"views.still_kb, {world}, {each.name}")
