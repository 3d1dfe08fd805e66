"""While a page loads it is never blank: skeletons are there until the panes are, and filters leave what was drawn."""

from __future__ import annotations

import pytest

from support.browser import needs_chromium
from support.dashboards.clicks import Mouse
from support.dashboards.page_scripts import WATCH_BLANKS
from support.dashboards.windows import Windows

pytestmark = needs_chromium

FILTERS = {"risk": "24 hours", "policy": "7 days", "log": "all types", "issuers": "Changed since first mint"}


@pytest.mark.parametrize(
    "path", [pytest.param(each, marks=[] if each == "risk" else pytest.mark.soak) for each in FILTERS]
)
def test_no_box_is_blank_while_it_loads(windows: Windows, path: str) -> None:
    with windows.visit(f"/dash/{path}", fresh=True, before=lambda page: page.add_init_script(WATCH_BLANKS)) as page:
        opened = page.evaluate("window.blanks")
        Mouse(page).press(FILTERS[path])
        filtered = page.evaluate("window.blanks")

    assert opened == []
    assert filtered == []
