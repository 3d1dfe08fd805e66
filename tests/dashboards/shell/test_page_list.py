"""The pages of the dashboards show every pane that has a file."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import attestlab_dashboards
from attestlab.core.errors import NotFound
from attestlab_dashboards.page_list import PAGES, find_page
from attestlab_dashboards.pages import AnyPage

ROOT = Path(attestlab_dashboards.__file__).parent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_every_file_of_a_pane_is_on_its_page(page: AnyPage) -> None:
    names = [path.stem for path in (ROOT / page.path / "panes").glob("[a-z]*.py")]
    panes = {name: import_module(f"attestlab_dashboards.{page.path}.panes.{name}").PANE for name in names}

    missing = [name for name, pane in panes.items() if pane not in page.panes]
    assert missing == [], f"list the panes in dashboards/attestlab_dashboards/{page.path}/page.py: {missing}"
    assert len(names) == sum(pane.key != "primary" for pane in page.panes)  # a button stands beside its pane


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_page_is_found_by_its_name(page: AnyPage) -> None:
    assert find_page(page.path) is page


@pytest.mark.parametrize("path", ["", "Risk", "risk/", "nowhere" * 100])
def test_an_unknown_name_is_no_page(path: str) -> None:
    with pytest.raises(NotFound, match=f"No page {path[:40]} is known"):
        find_page(path)
