"""Charts tell their numbers where the pointer is, a finger taps, or the arrows lead."""

from __future__ import annotations

import pytest

from support.browser import needs_chromium
from support.dashboards.windows import HAND, Windows

pytestmark = needs_chromium

CHARTS = {
    ("risk", "what_if"): "From a score of ",
    ("usage", "forecast"): " if it is a busy day",
    ("log", "growth"): " entries, ",
}


@pytest.mark.parametrize(("path", "pane"), CHARTS, ids=lambda each: each)
def test_a_column_tells_its_numbers(windows: Windows, path: str, pane: str) -> None:
    words = CHARTS[path, pane]
    with windows.visit(f"/dash/{path}") as page:
        column = page.locator(f"[data-pane={pane}] .al-hit").last
        column.hover(force=True)
        assert words in page.locator(".al-bubble").inner_text()
    with windows.visit(f"/dash/{path}", **HAND) as page:
        page.locator(f"[data-pane={pane}] .al-hit").last.tap(force=True)
        assert words in page.locator(".al-bubble").inner_text()


@pytest.mark.parametrize(("path", "pane"), [("usage", "days"), *CHARTS], ids=lambda each: each)
def test_arrows_lead_from_number_to_number(windows: Windows, path: str, pane: str) -> None:
    with windows.visit(f"/dash/{path}") as page:
        chart = page.locator(f"[data-pane={pane}] svg[data-roving]").first
        assert chart.locator("[tabindex='0']").count() == 1
        chart.locator("[tabindex='0']").focus()
        first = page.locator(".al-bubble").inner_text()
        page.keyboard.press("ArrowRight")
        second = page.locator(".al-bubble").inner_text()
        page.keyboard.press("ArrowLeft")

        assert first != second
        assert page.locator(".al-bubble").inner_text() == first
        assert chart.locator("[tabindex='0']").count() == 1
