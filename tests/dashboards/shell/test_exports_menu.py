"""The menu *Export* at the title: it offers the page and the rows that the person may read, with the page's filters."""

from __future__ import annotations

import re
from typing import Any

import pytest

from attestlab_dashboards.downloads import FORMATS
from attestlab_dashboards.page_list import PAGES, find_page
from attestlab_dashboards.pages import AnyPage
from attestlab_dashboards.together.exports import draw_export
from attestlab_dashboards.together.parts import make_shared_parts

ALL = frozenset(pane.scope for page in PAGES for pane in page.panes)


def list_files(page: AnyPage, scopes: frozenset[str], query: dict[str, str] | None = None) -> list[str]:
    state = page.state.from_query(query or {})[0]
    return re.findall(r'href="([^"]+)"', str(draw_export(page, scopes, state)))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_every_pane_with_rows_is_offered_in_each_format(page: AnyPage) -> None:
    panes = [pane.key for pane in page.panes if pane.export is not None]
    rows = [f"{page.path}/export?&amp;pane={pane}&amp;format={name}" for pane in panes for name in FORMATS]

    assert list_files(page, ALL) == [f"{page.path}/still?", *rows]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_rows_that_would_be_refused_are_not_offered(page: AnyPage) -> None:
    offered = " ".join(list_files(page, frozenset()))

    assert [pane.key for pane in page.panes if pane.scope and f"pane={pane.key}&" in offered] == []


def test_a_file_has_the_filters_of_the_page() -> None:
    files = list_files(find_page("risk"), ALL, {"window": "7d", "min_score": "5"})

    assert {re.split(r"[?]|&amp;pane", file)[1] for file in files} == {"window=7d&amp;min_score=5"}


def test_a_page_whose_address_serves_no_files_offers_none() -> None:
    offered = {
        has: [pane.key for pane in make_shared_parts(PAGES[0], has_downloads=has).panes] for has in (True, False)
    }

    assert offered == {True: ["views", "export"], False: ["views"]}


def test_a_button_at_the_title_belongs_to_what_a_page_is_for() -> None:
    titled: dict[str, Any] = {page.path: [pane for pane in page.panes if pane.key == "primary"] for page in PAGES}

    assert [path for path, panes in titled.items() if panes] == ["risk", "policy", "log", "issuers"]
    assert all(pane.is_tool and pane.is_optional for panes in titled.values() for pane in panes)
