"""A view that was saved as a file: on a desk and on a phone no words lie over others, and nothing is a control."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from attestlab import Lab
from attestlab_dashboards.page_list import PAGES
from support.browser import needs_chromium, open_browser, open_profile
from support.dashboards.windows import DESK, has_sideways_scrolling

pytestmark = needs_chromium
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
SIZES: list[dict[str, Any]] = [{"viewport": DESK}, PHONE]
_COVERED = """() => {
  const covered = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const words = walk.currentNode, holder = words.parentElement;
    if (!words.data.trim() || holder.closest("svg, .al-hidden, style, details:not([open]) > :not(summary)")) continue;
    if (getComputedStyle(holder).pointerEvents === "none") continue;  // a label over its chart
    holder.scrollIntoView({ block: "center" });
    const range = document.createRange();
    range.selectNodeContents(words);
    const [box] = range.getClientRects();
    if (!box) continue;
    const seen = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    if (seen && !seen.contains(holder) && !holder.contains(seen)) covered.push(`${words.data} by ${seen.className}`);
  }
  return covered;
}"""


def list_faults(page: Page, path: Path) -> list[str]:
    page.goto(path.as_uri())
    covered: list[str] = page.evaluate(_COVERED)
    wide = ["scrolls sideways"] if has_sideways_scrolling(page) else []
    controls = page.locator("button, input, select, textarea, summary:text-is('Own range')").count()
    return [*covered, *wide, *["has a control"] * controls]


@pytest.mark.parametrize("page", [page.path for page in PAGES])
def test_a_saved_view_is_read_whole(owner: Lab, page: str, tmp_path: Path) -> None:
    path = owner.explore(page).save(tmp_path / f"{page}.html")
    with open_browser() as browser:
        for size in SIZES:
            with open_profile(browser, **size) as profile:
                assert list_faults(profile.new_page(), path) == []
