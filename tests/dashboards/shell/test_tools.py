"""The menu of a pane: its rows as files, and what asks for them as Python and SQL."""

from __future__ import annotations

from typing import Final

import pytest

from attestlab_dashboards.page_list import PAGES

WITHOUT_ROWS: Final = {"log/bundle"}  # a file that only the window has, which no link can carry
CARDS: Final = {f"{page.path}/{pane.key}": (page, pane) for page in PAGES for pane in page.panes if pane.question}


@pytest.mark.parametrize("name", CARDS)
def test_a_pane_downloads_its_rows_and_copies_its_query(name: str) -> None:
    page, pane = CARDS[name]

    assert (pane.export is None) == (name in WITHOUT_ROWS)
    assert pane.compose_python(page.state.from_query({})[0]) is not None


def test_the_exceptions_are_panes() -> None:
    assert {*CARDS} >= WITHOUT_ROWS
