"""What the page shows is what the facade's verbs answer, counted here once more from all rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import attestlab
from attestlab import Lab
from attestlab_dashboards.issuer_names import IssuerNames
from attestlab_dashboards.risk.context import load_period
from attestlab_dashboards.risk.overview import load_overview
from attestlab_dashboards.risk.panes.answer import load_answer
from attestlab_dashboards.risk.panes.cases import load_cases
from attestlab_dashboards.risk.panes.graph import load_graph
from attestlab_dashboards.risk.panes.who import export_entities, load_entities
from attestlab_dashboards.risk.profile import load_profile
from attestlab_dashboards.risk.state import RiskState
from support.risk_story import BURST, BURST_DAY, DEVICE, HOSTILE_USER, NEWEST

WINDOW = ("2026-10-04", "2026-11-03")
STATES = [
    {},
    {"source": "login"},
    {"type": "behavior", "kind": "ip"},
    {"min_score": "60"},
    {"window": "7d"},
    {"window": "24h"},
    {"window": "yesterday"},
    {"window": "2026-10-20/2026-11-01", "kind": "user"},
    {"from": "2026-10-30T12:00Z", "to": "2026-11-01T00:00Z"},
    {"about": f"device:{DEVICE}"},
    {"about": "user:u-3", "max_score": "50"},
]


def read_state(query: dict[str, str]) -> RiskState:
    state, left_out = RiskState.from_query(query)
    assert not left_out
    return state


def select(lab: Lab, state: RiskState, start: object, end: object) -> pd.DataFrame:
    """The signals that a state selects, filtered by pandas."""
    rows = lab.signals.df()
    rows = rows[(rows.occurred_at >= start) & (rows.occurred_at < end)]
    for name, column in {"source": "source", "type": "signal_type", "kind": "entity_type"}.items():
        if getattr(state, name):
            rows = rows[rows[column] == getattr(state, name)]
    rows = rows[rows.score.between(state.min_score, state.max_score)]
    if state.about.startswith("device:"):
        rows = rows[rows.details.str.contains(DEVICE, regex=False)]
    elif state.about:
        rows = rows[rows.entity_id == state.about.partition(":")[2]]
    return rows


@pytest.mark.parametrize("query", STATES)
def test_the_figures_are_those_of_the_selected_signals(story_lab: Lab, query: dict[str, str]) -> None:
    state = read_state(query)

    found = load_overview(story_lab, state)

    for totals, start, end in (
        (found.now, found.period.start, found.period.end),
        (found.before, found.period.before, found.period.start),
    ):
        rows = select(story_lab, state, start, end)
        assert (totals.signals, totals.escalated) == (len(rows), rows.case_id.notna().sum())
        assert totals.entities == len(rows[["entity_type", "entity_id"]].drop_duplicates())
        assert totals.median == (rows.score.median() if len(rows) else None)


@pytest.mark.parametrize("query", [*STATES, {"sort": "-change"}, {"sort": "change"}])
def test_the_change_of_an_entity_is_against_the_time_before(story_lab: Lab, query: dict[str, str]) -> None:
    state = read_state(query)
    period = load_overview(story_lab, state).period
    keys = ["entity_type", "entity_id"]

    found = load_entities(story_lab, state).entities
    exported = export_entities(story_lab, state).df()
    now = select(story_lab, state, period.start, period.end).groupby(keys).size()
    before = select(story_lab, state, period.before, period.start).groupby(keys).size().to_dict()

    shown = [((each.entity.type, each.entity.id), each.signals, each.signals_before) for each in found]
    assert shown == [(key, now[key], before.get(key, 0)) for key, _, _ in shown]
    assert exported.set_index(keys).signals_before.to_dict() == {key: before.get(key, 0) for key in now.index}
    if "change" in state.sort:
        changes = [signals - earlier for _, signals, earlier in shown]
        every = sorted((now[key] - before.get(key, 0) for key in now.index), reverse=state.sort.startswith("-"))
        assert changes == every[: len(changes)]


@pytest.mark.parametrize("query", STATES)
def test_the_series_of_the_window_sum_to_its_signals(story_lab: Lab, query: dict[str, str]) -> None:
    state = read_state(query)

    found = load_overview(story_lab, state)
    rows = select(story_lab, state, found.period.window_start, found.period.window_end)

    assert sum(step.signals for step in found.steps) == sum(map(sum, found.series.values())) == len(rows)
    assert {name: sum(counts) for name, counts in found.series.items()} == rows.source.value_counts().to_dict()


def test_a_facet_ignores_its_own_filter(story_lab: Lab) -> None:
    state = read_state({"source": "login", "kind": "user"})

    facets = load_overview(story_lab, state).facets
    users = select(story_lab, read_state({"kind": "user"}), *pd.to_datetime(WINDOW, utc=True))
    logins = select(story_lab, read_state({"source": "login"}), *pd.to_datetime(WINDOW, utc=True))

    assert {row.value: row.signals for row in facets["source"]} == users.source.value_counts().to_dict()
    assert {row.value: row.signals for row in facets["facet_kind"]} == logins.entity_type.value_counts().to_dict()
    assert {row.value for row in facets["type"]} == {"ato"}


def test_a_window_ends_with_the_day_of_the_newest_signal(story_lab: Lab) -> None:
    found = load_overview(story_lab, RiskState())

    assert found.newest is not None
    assert found.newest <= NEWEST
    assert (f"{found.period.start:%F}", f"{found.period.end:%F}") == WINDOW


def test_yesterday_is_the_day_before_that_of_the_newest_signal(story_lab: Lab) -> None:
    period = load_overview(story_lab, RiskState(window="yesterday")).period

    assert (f"{period.start:%F %T}", f"{period.end:%F %T}") == ("2026-11-01 00:00:00", "2026-11-02 00:00:00")


def test_open_cases_are_those_of_the_list(story_lab: Lab) -> None:
    found = load_overview(story_lab, RiskState())

    assert found.open_cases[0] == len(list(story_lab.cases.list(status="open"))) > 0


def test_the_threshold_is_the_setting_of_the_tenant(story_lab: Lab) -> None:
    assert load_overview(story_lab, RiskState()).threshold == story_lab.signals.settings().escalation_threshold


def test_the_answer_names_the_day_and_the_device_behind_it(story_lab: Lab) -> None:
    answer = load_answer(story_lab, RiskState())

    assert (answer.start, answer.escalated, answer.usual) == (BURST_DAY, BURST + 1, 1.0)
    assert answer.culprit is not None
    assert [entity.id for entity in answer.culprit.entities] == [DEVICE]
    assert answer.culprit.signals == BURST


def test_an_ordinary_day_does_not_stand_out(story_lab: Lab) -> None:
    answer = load_answer(story_lab, read_state({"source": "payments"}))

    assert (answer.escalated, answer.usual, answer.stands_out, answer.culprit) == (1, 1.0, False, None)


def test_a_selected_day_is_compared_with_the_whole_window(story_lab: Lab) -> None:
    selected = {"from": "2026-10-31T00:00Z", "to": "2026-11-01T00:00Z"}

    assert load_answer(story_lab, read_state(selected)).usual == 1.0


def test_the_density_has_every_signal_of_the_window_once(story_lab: Lab) -> None:
    state = read_state({"min_score": "60", "from": "2026-10-30T12:00Z", "to": "2026-11-01T00:00Z"})

    found = load_overview(story_lab, state)
    cells = found.density
    rows = select(story_lab, RiskState(), *pd.to_datetime(WINDOW, utc=True))

    assert sum(cell.signals for cell in cells) == len(rows)
    assert sum(cell.signals for cell in cells if cell.top >= found.threshold) == (rows.score >= 80).sum()


@pytest.mark.parametrize("sort", ["-score", "signals", "-escalated", "-seen"])
def test_entities_come_in_the_order_that_was_chosen(story_lab: Lab, sort: str) -> None:
    state = read_state({"sort": sort})
    column = {"score": "score", "signals": "signals", "escalated": "escalated", "seen": "last_seen"}[sort.lstrip("-")]

    found = load_entities(story_lab, state)
    values = [getattr(each, column) for each in found.entities]
    rows = select(story_lab, state, *pd.to_datetime(WINDOW, utc=True))
    groups = rows.groupby(["entity_type", "entity_id"])

    assert values == sorted(values, reverse=sort.startswith("-"))
    assert found.count == len(groups)
    assert {(each.entity.type.value, each.entity.id): each.signals for each in found.entities}.items() <= (
        groups.size().to_dict().items()
    )


def test_the_pages_of_entities_have_each_entity_once(story_lab: Lab) -> None:
    first = load_entities(story_lab, RiskState())
    others = [load_entities(story_lab, RiskState(page=page)) for page in range(2, first.pages + 1)]

    shown = [each.entity for found in (first, *others) for each in found.entities]
    assert first.pages == -(-first.count // 10) > 1
    assert len(set(shown)) == len(shown) == first.count


def test_a_page_beyond_the_last_one_is_not_empty(story_lab: Lab) -> None:
    assert load_entities(story_lab, RiskState(page=99)).entities


def test_the_factors_of_a_score_sum_to_it(story_lab: Lab) -> None:
    worst = load_entities(story_lab, read_state({"source": "login"})).entities[0]

    assert sum(factor.points for factor in worst.factors) == worst.score == 90.5


def test_a_device_that_signals_only_name_has_a_profile(story_lab: Lab) -> None:
    found = load_profile(story_lab, read_state({"entity": f"device:{DEVICE}"}))

    assert found is not None
    assert found.is_named_only
    assert (found.signals, found.escalated, found.cases) == (BURST, BURST, [])
    assert found.worst is not None
    assert found.worst.score == max(event.score for event in found.history)


def test_ages_count_from_the_time_of_the_service(story_lab: Lab) -> None:
    profile = load_profile(story_lab, read_state({"entity": "user:u-3"}))
    assert profile is not None
    times = (profile.now, load_entities(story_lab, RiskState()).now, load_cases(story_lab, RiskState()).now)

    assert {each.date() for each in times} == {story_lab.now().date()}


def test_a_window_without_signals_ends_at_the_time_of_the_service(caches: None) -> None:
    with attestlab.demo(history=False) as lab:
        period = load_period(lab, RiskState(window="24h"))

        assert period.start < lab.now() < period.end


def test_a_profile_has_what_the_verbs_know(story_lab: Lab) -> None:
    found = load_profile(story_lab, read_state({"entity": "user:u-3"}))
    known = story_lab.signals.entity("user:u-3")

    assert found is not None
    assert not found.is_named_only
    assert [event.id for event in found.history[:20]] == [str(signal.id) for signal in known.signals[:20]]
    assert [case.id for case in found.cases] == [case.id for case in known.cases]


def test_an_unknown_entity_has_an_empty_profile(story_lab: Lab) -> None:
    found = load_profile(story_lab, read_state({"entity": "user:no-such"}))

    assert found is not None
    assert (found.signals, found.history, found.worst) == (0, [], None)


def test_the_graph_begins_with_what_stands_out(story_lab: Lab) -> None:
    view = load_graph(story_lab, RiskState())

    assert view is not None
    assert view.focus.id == DEVICE
    assert not view.is_chosen
    asked = story_lab.signals.graph("device", DEVICE, depth=1)
    assert {node.id for node in view.graph.nodes} == {node.id for node in asked.nodes}
    assert len(view.graph.rings) == 1


def test_the_graph_of_a_chosen_entity(story_lab: Lab) -> None:
    view = load_graph(story_lab, read_state({"graph": f"user:{HOSTILE_USER}", "depth": "2"}))

    assert view is not None
    assert view.is_chosen
    assert view.focus.id == HOSTILE_USER


def test_cases_are_those_of_the_verb(story_lab: Lab) -> None:
    found = load_cases(story_lab, RiskState(cases="open"))
    none = load_cases(story_lab, RiskState())

    assert (none.cases, none.open_count) == ([], found.open_count)
    assert {case.id for case in found.cases} <= {str(case.id) for case in story_lab.cases.list(status="open")}
    assert found.count == found.open_count == len(list(story_lab.cases.list(status="open")))
    assert load_cases(story_lab, RiskState(cases="resolved")).cases == []


def test_the_names_of_issuers_are_asked_once_a_minute(story_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    issuer = next(iter(story_lab.issuers.list()))
    real, now = Lab.sql, 0.0

    def ask(lab: Lab, query: str, parameters: Any = None) -> Any:
        asked.append(parameters["ids"])
        return real(lab, query, parameters)

    monkeypatch.setattr(Lab, "sql", ask)
    names = IssuerNames(lambda: now)
    found = [names.load(story_lab, ids) for ids in ([str(issuer.id)], [str(issuer.id), "no issuer"], ["no issuer"], [])]
    now = 61.0
    names.load(story_lab, ["no issuer"])

    assert found == [{str(issuer.id): issuer.name}, {str(issuer.id): issuer.name}, {}, {}]
    assert asked == [[str(issuer.id)], ["no issuer"], ["no issuer"]]
