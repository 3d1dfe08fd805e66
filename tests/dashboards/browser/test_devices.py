"""Every page on emulated devices, which ask for their own width: a phone in a hand, a tablet, and a short desk."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest
from playwright.sync_api import Page

from attestlab_dashboards.page_list import PAGES
from support.browser import needs_chromium
from support.dashboards.windows import DESK, Windows, has_sideways_scrolling

pytestmark = needs_chromium

PATHS: Final = [page.path for page in PAGES if page.path != "agents"]
WIDTHS: Final = [pytest.param(width, marks=[] if width == 390 else pytest.mark.soak) for width in (360, 390, 768, 900)]
MAX_PHONE_WIDTH: Final = 760
MAX_RISK_HEIGHT: Final = 2_600  # at 1280: answers first, ten rows of each table, and the rest a click away
# What a finger is to hit, smaller than a square of 24 px. Parts of a chart stand where their numbers put them, and what
# stands in a sentence may be as high as its line.
SMALL_TARGETS: Final = """
root => [...root.querySelectorAll("a[href], button, summary, select, input:not([type=hidden]), textarea")]
  .filter((part) => !part.closest("svg, p, dd, .al-hidden, .is-plot"))
  .map((part) => [part, part.getBoundingClientRect()])
  .filter(([part, box]) => box.width && box.height && (box.width < 23.5 || box.height < 23.5))
  .map(([part, box]) => `${part.tagName}.${part.className} ${part.innerText} ${box.width}x${box.height}`)
"""
INNER_BOXES: Final = """
root => [...root.querySelectorAll("*")]
  .filter((part) => !part.matches("textarea, pre, pre *"))
  .filter((part) => /auto|scroll/.test(getComputedStyle(part).overflowX) && part.scrollWidth > part.clientWidth + 1)
  .map((part) => `${part.tagName}.${part.className} ${part.scrollWidth} in ${part.clientWidth}`)
"""
HALF_EMPTY: Final = """
root => {
  const rows = new Map();
  const whole = root.querySelector(".al-grid").getBoundingClientRect().width;
  for (const card of root.querySelectorAll(".al-grid > *")) {
    const { top, width } = card.getBoundingClientRect();
    const row = rows.get(Math.round(top)) ?? { width: 0, names: [] };
    rows.set(Math.round(top), { width: row.width + width, names: [...row.names, card.id] });
  }
  return [...rows.values()].filter((row) => row.width < 0.9 * whole).map((row) => row.names);
}
"""


def hold(width: int) -> dict[str, Any]:
    """The options of a device in a hand."""
    return {"viewport": {"width": width, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("path", PATHS)
def test_a_page_fits_a_device_in_a_hand(windows: Windows, path: str, width: int) -> None:
    with windows.visit(f"/dash/{path}", reduced_motion="reduce", **hold(width)) as page:
        main = page.locator("#al-main")
        assert page.evaluate("window.innerWidth") == width
        assert not has_sideways_scrolling(page)
        if width <= MAX_PHONE_WIDTH:
            assert page.locator(".al-nav").bounding_box()["y"] > 844 / 2  # the navigation is at the thumb
        assert main.evaluate(INNER_BOXES) == []
        assert main.evaluate(SMALL_TARGETS) == []
        assert main.evaluate(HALF_EMPTY) == []
        assert not re.search(r"hover|double click|point at", read_hints(page), re.IGNORECASE)


def test_the_risk_page_is_short_on_a_desk(windows: Windows) -> None:
    with windows.visit("/dash/risk", reduced_motion="reduce", viewport=DESK) as page:
        assert page.evaluate("document.documentElement.scrollHeight") <= MAX_RISK_HEIGHT


def read_hints(page: Page) -> str:
    """What the lines under charts say before anything is pointed at."""
    return "\n".join(page.locator("[data-tip-line]").all_inner_texts())
