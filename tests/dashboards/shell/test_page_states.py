"""A state of a page: what it accepts, whom it tells, and what is known of each of its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attestlab_dashboards.address_table import replace_table
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPage
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.risk.events import EVENTS
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.state import PageState

DASHBOARDS_PAGE = Path(__file__).parents[3] / "docs" / "dashboards.md"
EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)


@pytest.mark.parametrize(
    ("state", "name", "value"),
    [
        (RiskState(), "window", "31d"),
        (RiskState(), "source", "Robert'); DROP TABLE"),
        (RiskState(), "page", 0),
        (RiskState(), "about", "planet:earth"),
        (IssuerState(), "key", "registrar-1"),
        (LogState(), "file", "ab"),
        (LogState(), "bundle", "x" * 1_000_001),
        (PolicyState(), "by", ("a", "b", "c", "d")),
        (PolicyState(), "draft", "x" * 60_002),
    ],
)
def test_what_an_address_may_not_say_cannot_be_assigned(state: PageState, name: str, value: object) -> None:
    before = state.replace()

    with pytest.raises(ValueError):
        setattr(state, name, value)
    assert state == before
    with pytest.raises(ValueError):
        state.replace(**{name: value})


def test_a_watcher_sees_what_is_assigned() -> None:
    state, seen = RiskState(), []
    state.param.watch(lambda *events: seen.extend((each.name, each.new) for each in events), ["window", "source"])

    state.window = "7d"
    state.param.update(window="24h", source="login")

    assert seen == [("window", "7d"), ("window", "24h"), ("source", "login")]
    assert state.to_query() == {"window": "24h", "source": "login"}


def test_an_event_leaves_the_state_that_it_changes() -> None:
    state = RiskState(source="login")

    assert EVENTS["window"](state, "7d") == RiskState(source="login", window="7d")
    assert state == RiskState(source="login")


def test_the_values_of_some_parameters_are_a_key() -> None:
    picked = RiskState(source="login", page=3).pick("source", "window")

    assert {picked: "kept"}[RiskState(source="login").pick("source", "window")] == "kept"
    assert RiskState(**dict(picked)) == RiskState(source="login")


def test_a_state_shows_what_is_not_its_default() -> None:
    assert repr(RiskState(source="login", page=2)) == "RiskState(source='login', page=2)"
    assert "x" not in repr(LogState(bundle="xxx"))


@EACH_PAGE
def test_each_parameter_has_a_sentence(page: AnyPage) -> None:
    declared: dict[str, Any] = {name: each for name, each in page.state.param.objects().items() if name != "name"}

    assert [name for name, each in declared.items() if not (each.doc or "").strip().endswith(".")] == []


@EACH_PAGE
def test_a_pane_reads_parameters_of_its_page(page: AnyPage) -> None:
    for pane in page.panes:
        assert set(pane.reads) <= {*page.state.param}, pane.key


def test_the_documents_say_what_each_parameter_of_an_address_means() -> None:
    page = DASHBOARDS_PAGE.read_text()

    assert replace_table(page) == page, "docs/dashboards.md is older than the declared states: make reference"


@EACH_PAGE
def test_each_parameter_of_an_address_is_documented_once(page: AnyPage) -> None:
    meanings = [parameter.doc for parameter in page.state.list_addressed().values()]

    assert all(meanings)
    assert len(set(meanings)) == len(meanings)
