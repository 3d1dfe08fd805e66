"""`make bench ONLY=views` on a tiny world: what its table promises is measured, in a real JupyterLab."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from benchmarks.figures import Figure
from benchmarks.views.amount import PAGE_STILLS, PANE_STILLS, Amount
from benchmarks.views.report import choose_parts, list_promises, measure_world
from benchmarks.views.worlds import ViewWorld
from support.browser import needs_chromium

OPENING: Final = """\
from support import risk_story

lab = attestlab.demo(history=False)
risk_story.tell(lab)"""
TINY: Final = Amount(rounds=1, views=1, clicks=2, many=3, stills=(PAGE_STILLS[2], PANE_STILLS[0]))


def test_an_unknown_part_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="names no part browser; the parts are views, twenty, stills"):
        choose_parts("views,browser")


@needs_chromium
def test_each_promise_has_its_figure(caches: None, tmp_path: Path) -> None:
    world = ViewWorld("tiny", OPENING)

    figures = {figure.name: figure for figure in measure_world(tmp_path, world, choose_parts(""), TINY)}

    assert {promise.figure for promise in list_promises("tiny", TINY)} - set(figures) == set()
    require_order(figures)
    assert figures["views.begun_out_of_sight, tiny, 3 views"].value == 0
    assert figures["views.stills_above_limit, tiny"].value == 0


def require_order(figures: dict[str, Figure]) -> None:
    """Require that markup comes first, and all panes last."""
    waits = [figures[f"views.{name}_ms, tiny, first view of a kernel"].value for name in ("first_markup", "first_data")]
    whole = figures["views.all_panes_ms, tiny, first view of a kernel"].value
    assert 0 < waits[0] <= waits[1] <= whole
