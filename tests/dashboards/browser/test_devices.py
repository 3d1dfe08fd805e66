"""Every page, drawer, dialog and menu at eight widths, from a small phone to a large desk, measured by one script."""

from __future__ import annotations

from typing import Any, Final

import pytest
from playwright.sync_api import Page

from attestlab_dashboards.page_list import PAGES
from support.browser import needs_chromium
from support.dashboards.layout import list_layout_faults, list_unreadable_texts
from support.dashboards.opened_parts import OPENED
from support.dashboards.windows import DESK, Windows, list_failed_panes

pytestmark = needs_chromium

PATHS: Final = [page.path for page in PAGES]
HELD: Final = (360, 390, 768, 900, 1024)  # widths of devices in a hand, which have no pointer
DESKS: Final = (1280, 1600, 2560)
QUICK: Final = (390, 900)  # measured without the soak
QUICK_PARTS: Final = ("an issuer", "a suspension")
MAX_PHONE_WIDTH: Final = 760
MAX_HEIGHTS: Final = {"issuers": 3_500, "policy": 3_900}  # these have more cards
MAX_ROWS: Final = 12  # ten, and those of a list that is counted out, such as the limits of a plan
MAX_HEIGHT: Final = 2_600  # at 1280: answers first, ten rows of each table, and the rest a click away


def of_width(width: int, *, quick: bool) -> Any:
    return pytest.param(width, marks=[] if quick else pytest.mark.soak)


def device(width: int) -> dict[str, Any]:
    """The options of a window of this width: of a device in a hand, or of a desk."""
    held: dict[str, Any] = {"is_mobile": True, "has_touch": True} if width in HELD else {}
    size = {"width": width, "height": 844 if width <= MAX_PHONE_WIDTH else 1_000}
    return {"viewport": size, "reduced_motion": "reduce", **held}


@pytest.mark.parametrize("width", [of_width(width, quick=width in QUICK) for width in HELD + DESKS])
@pytest.mark.parametrize("path", PATHS)
def test_a_page_fits_its_window(windows: Windows, path: str, width: int) -> None:
    with windows.visit(f"/dash/{path}", **device(width)) as page:
        assert list_failed_panes(page) == []
        assert list_layout_faults(page, width, is_touched=width in HELD) == []
        assert list_unreadable_texts(page) == []
        if width <= MAX_PHONE_WIDTH:
            navigation = page.locator(".al-nav").bounding_box()
            assert navigation is not None
            assert navigation["y"] > 844 / 2  # at the thumb


@pytest.mark.parametrize("width", [of_width(width, quick=width == 390) for width in (360, 390, 900, 1280)])
@pytest.mark.parametrize(
    "part", [pytest.param(each, marks=[] if each in QUICK_PARTS else pytest.mark.soak) for each in OPENED]
)
def test_an_opened_part_fits_its_window(windows: Windows, part: str, width: int) -> None:
    path, open_part = OPENED[part]
    with windows.visit(f"/dash/{path}", **device(width)) as page:
        open_part(page)
        assert list_failed_panes(page) == []
        assert list_layout_faults(page, width, is_touched=width in HELD, may_be_half_empty=True) == []


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_short_on_a_desk(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}", reduced_motion="reduce", viewport=DESK) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= MAX_HEIGHTS.get(path, MAX_HEIGHT)
        rows_by_pane = read_row_counts(page)
        assert rows_by_pane.pop("export") > 0  # a menu
        assert {pane: rows for pane, rows in rows_by_pane.items() if rows > MAX_ROWS} == {}


def read_row_counts(page: Page) -> dict[str, int]:
    """The rows of each table and list of a page, by its pane."""
    counted: dict[str, int] = page.locator("#al-main [data-pane]").evaluate_all(
        """panes => Object.fromEntries(panes.map(pane => [pane.dataset.pane,
          Math.max(0, ...[...pane.querySelectorAll("tbody, ul, ol")].map(list => list.children.length))]))"""
    )
    return counted
