"""Drawers, dialogs and menus are as accessible as the pages: light and dark, on a desk and on a phone."""

from __future__ import annotations

from typing import Any, Final

import pytest

from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.opened_parts import OPENED
from support.dashboards.windows import DESK, HAND, Windows, has_sideways_scrolling, list_failed_panes

pytestmark = needs_chromium


LOOKS: Final = [
    pytest.param("light", {"viewport": DESK}, id="desk"),
    pytest.param("dark", HAND, marks=pytest.mark.soak, id="dark-phone"),
]


@pytest.mark.parametrize(("scheme", "device"), LOOKS)
@pytest.mark.parametrize(
    "part", [pytest.param(each, marks=[] if each == "an entity" else pytest.mark.soak) for each in OPENED]
)
def test_axe_finds_nothing_serious_in_an_opened_part(
    windows: Windows, part: str, scheme: str, device: dict[str, Any]
) -> None:
    path, open_part = OPENED[part]
    options = {"color_scheme": scheme, "reduced_motion": "reduce", **device}
    with windows.visit(f"/dash/{path}", **options) as page:
        open_part(page)
        assert list_failed_panes(page) == []
        assert list_violations(page, *SERIOUS) == []
        assert not has_sideways_scrolling(page)
