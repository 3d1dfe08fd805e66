"""A still stores the rules that its markup needs: it looks the same with all rules of its page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page

from attestlab import Lab
from attestlab_dashboards.cell.explorer import Explorer
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.stills import fragment
from support.browser import needs_chromium, open_browser, open_profile
from support.dashboards.windows import DESK

PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
LEFT_OUT = ("is left out: a still has at most", "more rows on the page", "more row on the page")


def show(view: Any) -> str:
    markup: str = view._repr_mimebundle_()["text/html"]
    return markup


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def photograph(page: Page, markup: str) -> bytes:
    page.set_content(f'<!doctype html><meta name="viewport" content="width=device-width"><body>{markup}')
    return page.screenshot(full_page=True)


@needs_chromium
@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_a_still_looks_as_with_all_rules(
    owner: Lab, browser: Browser, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = owner.explore(path)
    needed = show(view)
    monkeypatch.setattr(fragment, "keep_needed", lambda sheet, *_: sheet)
    whole = show(view)
    assert len(needed) < 0.9 * len(whole)
    for size in ({"viewport": DESK}, PHONE):
        with open_profile(browser, **size) as profile:
            page = profile.new_page()
            assert photograph(page, needed) == photograph(page, whole)


@pytest.mark.parametrize("path", [page.path for page in PAGES])
def test_each_pane_alone_has_room_in_its_still(owner: Lab, path: str) -> None:
    view = cast(Explorer, owner.explore(path))
    for key in view._ipython_key_completions_():
        assert [words for words in LEFT_OUT if words in show(view[key])] == [], key
