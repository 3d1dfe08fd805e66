"""Addresses that people saved before the states were declared (`saved_addresses.json`) show what they showed then."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import pytest

from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPage

SAVED: Final = json.loads((Path(__file__).parent.parent / "saved_addresses.json").read_text(encoding="utf-8"))


def plain(value: Any) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if type(value) is tuple:
        return [plain(each) for each in value]
    return value if value is None or isinstance(value, int | float) else str(value)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_a_saved_address_gives_the_same_state_and_the_same_address(page: AnyPage) -> None:
    for saved in SAVED[page.path]:
        state, ignored = page.state.from_query(dict(parse_qsl(saved["query"])))

        assert sorted(ignored) == saved["ignored"], saved["query"]
        assert {name: plain(getattr(state, name)) for name in saved["state"]} == saved["state"], saved["query"]
        assert urlencode(state.to_query()) == saved.get("again", saved["query"])
