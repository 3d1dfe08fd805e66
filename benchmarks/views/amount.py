"""How much is measured: enough for figures by default, and less for a test of the benchmark itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from attestlab_dashboards.page_list import PAGES

MAX_PAGE_KB: Final = 300
MAX_PANE_KB: Final = 60


class Shown(NamedTuple):
    """A page, or a pane of it, as a cell shows it: its name, the cell, and how long its still may be."""

    name: str
    cell: str
    max_kb: int


PAGE_STILLS: Final = tuple(Shown(page.path, f'lab.explore("{page.path}")', MAX_PAGE_KB) for page in PAGES)
PANE_STILLS: Final = tuple(
    Shown(f"{page.path} {pane.key}", f'lab.explore("{page.path}")["{pane.key}"]', MAX_PANE_KB)
    for page in PAGES
    for pane in page.panes
    if not pane.is_tool
)


@dataclass(frozen=True, kw_only=True)
class Amount:
    """Rounds, and of each the views whose memory counts, the clicks, the views of a long notebook, and the stills."""

    rounds: int = 3
    views: int = 10
    clicks: int = 14
    many: int = 20
    stills: tuple[Shown, ...] = (*PAGE_STILLS, *PANE_STILLS)
