"""Two weeks are compared on the risk page, in counted clicks."""

from __future__ import annotations

import re
from pathlib import Path

from support.browser import needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.windows import Windows, list_failed_panes

pytestmark = needs_chromium

DOCUMENT = Path(__file__).parents[3] / "docs" / "dashboards.md"
_ROW = r"^\| (Compare two weeks|Annotate a time|Save a view) \| .+ \| (\d) \|$"
MAX_CLICKS = {found[1]: int(found[2]) for found in re.finditer(_ROW, DOCUMENT.read_text(), re.M)}


def test_two_weeks_are_compared(windows: Windows) -> None:
    with windows.visit("/dash/risk") as page:
        mouse = Mouse(page)
        mouse.press("7 days")
        mouse.click("#range-compare > summary", redraws=False)
        mouse.press("Previous period", "#range-compare")

        assert mouse.clicks <= MAX_CLICKS["Compare two weeks"]
        assert page.locator("[data-pane=when] .rk-ghost").count() == 2
        assert "compared: " in str(page.locator("g.rk-column[data-span]").first.get_attribute("data-tip"))
        assert "Compared with the time before" in mouse.read_pane("chips")
        assert page.url.endswith("?window=7d&compare=before")
        assert list_failed_panes(page) == []


def test_tiles_change_against_an_own_range(windows: Windows) -> None:
    with windows.visit("/dash/risk?window=7d&compare=2026-10-01/2026-10-07") as page:
        assert "vs 1 Oct to 7 Oct" in Mouse(page).read_pane("kpis")
        assert "vs previous 7 days" not in Mouse(page).read_pane("kpis")
