"""Every pane of the page: it draws what it loaded, escapes every text, and what it copies and exports runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from html import unescape
from typing import Any

import pytest

import attestlab
from attestlab import Lab
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.risk.page import PAGE
from attestlab_dashboards.risk.state import RiskState
from support.risk_story import BURST, DEVICE, HOSTILE_USER

FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset(), frozenset())
STATES = [
    RiskState(),
    RiskState(window="24h", by="type"),
    RiskState(window="365d", source="login", entity=f"device:{DEVICE}"),
    RiskState(about=f"user:{HOSTILE_USER}", entity=f"user:{HOSTILE_USER}", graph=f"user:{HOSTILE_USER}"),
    RiskState(since=datetime(2026, 10, 31, tzinfo=UTC), until=datetime(2026, 11, 1, tzinfo=UTC), min_score=80),
    RiskState(window="yesterday", kind="user"),
    RiskState(window="2026-10-20/2026-11-01", min_score=20),
    RiskState(source="nothing", cases="resolved", rule_score=60.0, rule_source="login", rule_burst=2),
]
EACH_STATE = pytest.mark.parametrize("state", STATES, ids=lambda state: str(state.to_query()))


def draw_all(lab: Lab, state: RiskState) -> dict[str, str]:
    """The markup of all panes by key, of a lab that does not change."""
    return draw_once(lab, state.pick(*state.list_changed()))


@cache
def draw_once(lab: Lab, values: tuple[tuple[str, Any], ...]) -> dict[str, str]:
    return draw(lab, RiskState(**dict(values)))


def draw(lab: Lab, state: RiskState, keys: Iterable[str] = ()) -> dict[str, str]:
    """The markup of panes by key, of all by default."""
    panes = [pane for pane in PAGE.panes if not keys or pane.key in keys]
    return {pane.key: str(pane.draw(pane.load(lab, state), state)) for pane in panes}


def find(key: str) -> Pane[Any, Any]:
    return next(pane for pane in PAGE.panes if pane.key == key)


@EACH_STATE
def test_every_pane_draws_and_no_text_of_a_stranger_becomes_markup(story_lab: Lab, state: RiskState) -> None:
    drawn = "".join([*draw_all(story_lab, state).values(), str(PAGE.chips(state, FACTS))])

    assert HOSTILE_USER not in drawn
    assert DEVICE not in drawn
    assert "<img" not in drawn
    assert "<logins>" not in drawn
    assert not re.search(r"""(?:style|href)="[^"]*(?:onerror|burst)[^"]*javascript""", drawn)


@EACH_STATE
def test_each_key_of_a_pane_is_unique(story_lab: Lab, state: RiskState) -> None:
    for key, markup in draw_all(story_lab, state).items():
        keys = re.findall(r'data-key="([^"]*)"', markup)
        assert len(keys) == len(set(keys)), (key, sorted(each for each in keys if keys.count(each) > 1)[:4])


@EACH_STATE
def test_every_event_and_action_of_the_markup_exists(story_lab: Lab, state: RiskState) -> None:
    drawn = "".join([*draw_all(story_lab, state).values(), str(PAGE.chips(state, FACTS))])

    assert {*re.findall(r'data-(?:ev|brush)="([^"]*)"', drawn)} <= {*PAGE.events}
    assert {*re.findall(r'data-act="([^"]*)"', drawn)} <= {*PAGE.actions}


def test_the_answer_is_one_sentence_with_the_day_and_the_device(story_lab: Lab) -> None:
    words = re.sub(r"<[^>]+>", "", draw(story_lab, RiskState(), ["answer"])["answer"])

    assert words == (
        "Escalations reached 21 on 31 Oct, 21 times the usual 1. 95 % name the device dev-&lt;b&gt;burst&lt;/b&gt;."
    )


def test_the_filters_that_exclude_everything_are_named(story_lab: Lab) -> None:
    state = RiskState(source="nothing", type="nothing", kind="user")

    drawn = draw(story_lab, state, ["when", "what", "who"])

    assert "source, type, kind" in drawn["when"]
    assert 'data-v="all"' in drawn["when"]
    assert "No signal matches" in drawn["what"]
    assert "No entity matches" in drawn["who"]


def test_the_drawer_shows_factors_that_sum_to_the_score(story_lab: Lab) -> None:
    drawn = draw(story_lab, RiskState(entity="user:victim-1"), ["drawer"])["drawer"]
    points = [float(text) for text in re.findall(r"<b>([+-][0-9.]+)</b>", drawn)]

    assert points == [60.0, 30.5]
    assert "<b>90.5</b>" in drawn
    assert 'role="dialog"' in drawn
    assert "&#34;device_id&#34;" in drawn  # the raw JSON of the signal


def test_the_chosen_window_and_every_filter_have_their_chip(story_lab: Lab) -> None:
    (month,) = draw(story_lab, RiskState(), ["chips"]).values()
    state = RiskState(window="2026-10-20/2026-11-01", kind="user", min_score=20)
    (own,) = draw(story_lab, state, ["chips"]).values()

    assert "30 days: 4 Oct to 2 Nov" in month
    assert 'data-ev="clear"' not in month
    assert re.findall(r'data-ev="clear" data-v="(\w+)".*?al-line">(.*?)<', own) == [
        ("window", "20 Oct to 1 Nov 2026"),
        ("kind", "Entity: User"),
        ("score", "Score 20 to 100"),
        ("all", "Reset"),
    ]
    assert PAGE.events["clear"](state, "all") == RiskState()


def test_a_closed_drawer_is_nothing(story_lab: Lab) -> None:
    assert draw(story_lab, RiskState(), ["drawer"]) == {"drawer": ""}


def test_a_table_has_at_most_ten_rows(story_lab: Lab) -> None:
    drawn = draw(story_lab, RiskState(cases="all"), ["who", "cases"])
    assert [markup.count("<tr data-row") for markup in drawn.values()] == [10, 10]


def test_cases_are_listed_once_a_person_chooses_which(story_lab: Lab) -> None:
    (closed,) = draw(story_lab, RiskState(), ["cases"]).values()
    (opened,) = draw(story_lab, RiskState(cases="open"), ["cases"]).values()

    assert "<table" not in closed
    assert re.findall(r'data-ev="cases" data-v="(\w*)"', closed) == ["open", "resolved", "all"]
    assert re.findall(r'data-ev="cases" data-v="(\w*)"', opened) == ["", "resolved", "all"]  # a second press closes it


def test_the_queue_shows_ten_cases_each_once(story_lab: Lab) -> None:
    (drawn,) = draw(story_lab, RiskState(), ["queue"]).values()
    shown = re.findall(r'<li data-row="([^"]*)"', drawn)

    assert 0 < len(shown) == len(set(shown)) <= 10


def test_a_facet_shows_few_values_and_all_if_another_is_chosen(story_lab: Lab) -> None:
    (drawn,) = draw(story_lab, RiskState(), ["what"]).values()
    (chosen,) = draw(story_lab, RiskState(min_score=80, max_score=100), ["what"]).values()

    assert 'id="facet-score"><summary>Show ' in drawn
    assert 'id="facet-score" open><summary>Show ' in chosen


@EACH_STATE
def test_what_is_copied_as_sql_runs_as_it_stands(story_lab: Lab, state: RiskState) -> None:
    """The entities have all signals of the page, the cases are all of their status, and the other panes have rows."""
    copied = {pane.key: story_lab.sql(pane.copy_sql(state)).df() for pane in PAGE.panes if pane.copy_sql is not None}
    cases = story_lab.sql("SELECT id, status FROM cases").df()

    assert copied["who"]["signals"].sum() == find("kpis").load(story_lab, state).now.signals
    assert sorted(copied["cases"]["id"]) == sorted(
        cases["id"][cases["status"] == state.cases] if state.cases else cases["id"]
    )
    assert {key for key, rows in copied.items() if rows.empty} <= {"who", "cases"}


def test_what_is_copied_as_sql_has_the_rows_of_the_page(story_lab: Lab) -> None:
    state = RiskState(source="login")
    who = find("who")
    assert who.copy_sql is not None
    assert who.export is not None

    copied, exported = story_lab.sql(who.copy_sql(state)).df(), who.export(story_lab, state).df()

    assert len(copied) == BURST
    assert copied.equals(exported)


@EACH_STATE
def test_what_is_copied_as_python_runs_as_it_stands(story_lab: Lab, state: RiskState) -> None:
    """Its last line is what the pane is about: the rows of its SQL, a graph with the entity, or a simulation."""
    for pane in PAGE.panes:
        python = pane.compose_python(state)
        if python is None or (pane.key == "graph" and state.source == "nothing"):
            continue
        names: dict[str, Any] = {"lab": story_lab, "attestlab": attestlab}
        shown = run_to_last_value(python, names)
        if pane.copy_sql is not None:
            assert shown.equals(story_lab.sql(pane.copy_sql(state)).df()), pane.key
        elif pane.key == "graph":
            entity = (state.graph or state.about) or ":".join(names["first"][["kind", "name"]])
            assert entity in {f"{node.type}:{node.id}" for node in shown.nodes if node.distance == 0}
        else:
            assert pane.key == "what_if"
            assert pane.export is not None
            assert shown.curve == list(pane.export(story_lab, state))


def run_to_last_value(python: str, names: dict[str, Any]) -> Any:
    """Run Python whose last line is an expression; returns the value of that."""
    module = ast.parse(python)
    last = module.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(module, "copied", "exec"), names)
    return eval(compile(ast.Expression(last.value), "copied", "eval"), names)


@EACH_STATE
def test_what_is_exported_is_what_the_filters_select(story_lab: Lab, state: RiskState) -> None:
    export = find("when").export
    assert export is not None

    shown = find("kpis").load(story_lab, state).now.signals

    assert len(export(story_lab, state)) == shown


@pytest.mark.parametrize("key", ["graph", "what_if"])
def test_what_is_not_a_query_is_exported_as_it_is_drawn(story_lab: Lab, key: str) -> None:
    pane, state = find(key), RiskState(window="30d", rule_score=60.0)
    assert pane.export is not None
    data = pane.load(story_lab, state)
    rows = data.graph.edges if key == "graph" else data.result.curve

    assert len(rows) > 0
    assert pane.export(story_lab, state).arrow().equals(rows.arrow())


def test_a_long_what_if_says_what_it_does_and_can_be_cancelled(story_lab: Lab) -> None:
    pane = find("what_if")
    assert pane.expects is not None

    signals = len(story_lab.sql("select id from signals"))
    assert (PAGE.has_long_loads, pane.is_long) == (True, True)
    assert pane.expects(story_lab, RiskState()) == f"{signals:,} recorded signals are decided again."


def test_the_chip_of_an_issuer_has_its_name(story_lab: Lab) -> None:
    issuer = next(iter(story_lab.issuers.list()))
    state = RiskState(about=f"issuer:{issuer.id}")

    assert issuer.name not in str(PAGE.chips(state, FACTS))  # nothing is loaded yet
    assert f"About Issuer {issuer.name}" in words_of(draw(story_lab, state, ["chips"])["chips"])
    assert find("chips").is_optional


def words_of(markup: str) -> str:
    return unescape(re.sub(r"<[^>]+>", "", markup))


def test_the_matrix_is_that_of_the_simulation(own_lab: Lab) -> None:
    for case in own_lab.cases.list(status="open"):
        case.resolve("fraud" if case.entity_id.startswith("victim") else "legitimate")
    state = RiskState(rule_score=90.0)

    drawn = draw(own_lab, state, ["what_if"])["what_if"]
    rule = {"id": "rule", "when": {"attr": "signal.score", "op": "gte", "value": 90}}
    asked = own_lab.signals.simulate([rule]).confusion

    cells = [int(text.replace(",", "")) for text in re.findall(r'rk-cell \w+"><b>([0-9,]+)</b>', drawn)]
    assert cells == [asked.true_positive, asked.false_negative, asked.false_positive, asked.true_negative]
    assert asked.true_positive > 0
    assert asked.true_negative > 0


def test_who_names_those_behind_the_peak_before_the_entities_of_signals(story_lab: Lab) -> None:
    drawn = draw_all(story_lab, RiskState())
    named = re.findall(r'data-ev="entity" data-v="([^"]*)"', drawn["answer"])

    assert named
    assert re.findall(r'data-ev="entity" data-v="([^"]*)"', drawn["who"])[: len(named)] == named
    assert re.search(r"named by \d+ of \d+ escalated signals", drawn["who"])


def test_who_begins_with_the_most_escalated_signals(story_lab: Lab) -> None:
    who = find("who").load(story_lab, RiskState())

    escalated = [each.escalated for each in who.found.entities]
    assert escalated == sorted(escalated, reverse=True)
    assert escalated[0] > 0
