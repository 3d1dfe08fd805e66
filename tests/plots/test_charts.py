"""Charts of frames and answers: what they draw, and what they say about a wrong argument."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import holoviews as hv
import pandas as pd
import pytest

import attestlab
from attestlab import plots
from attestlab.client.lab import Lab
from attestlab.core.errors import ValidationFailed
from attestlab.plots.look import MAX_TICKS
from support.demo_caches import use_demo_caches

DAYS = pd.to_datetime(["2026-11-01", "2026-11-02"])
COUNTS = pd.DataFrame({"login": [3, 8], "media": [1, 0]}, index=DAYS)
BOUND = ("old-key", "key.age_days")
HIGH = {"id": "high", "when": {"attr": "signal.score", "op": "gte", "value": 95}}
UNTIL = "2026-11-02"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with use_demo_caches(), attestlab.demo() as opened:
        yield opened


def render(chart: Any) -> bytes:
    """Draw a chart as a notebook does, and require a picture."""
    data, _ = chart._repr_mimebundle_(), None
    found = data[0] if isinstance(data, tuple) else data
    png: bytes = hv.renderer("matplotlib")(chart, fmt="png")[0]
    assert png.startswith(b"\x89PNG")
    assert found is not None
    return png


def texts_of(chart: Any) -> list[str]:
    """The texts that a reader of the picture sees: title, axes, names and legend."""
    figure = hv.renderer("matplotlib").get_plot(chart).state
    (axes, *_) = figure.axes
    legend = axes.get_legend()
    names = [each.get_text() for each in (*axes.get_xticklabels(), *axes.get_yticklabels()) if each.get_visible()]
    shown = [] if legend is None else [each.get_text() for each in legend.get_texts()]
    return [axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), *names, *shown, *(t.get_text() for t in axes.texts)]


def test_columns_of_days_are_named_and_stacked() -> None:
    chart = plots.draw_days(COUNTS, title="Signals", ylabel="signals a day")
    texts = texts_of(chart)

    assert isinstance(chart, hv.Bars)
    assert {"Signals", "signals a day", "1 Nov", "2 Nov", "login", "media"} <= set(texts)
    assert chart.dframe()["value"].sum() == 12


def test_names_below_many_columns_do_not_overlap() -> None:
    many = pd.DataFrame({"n": range(100)}, index=[f"step {number}" for number in range(100)])

    names = [text for text in texts_of(plots.draw_columns(many, title="Many", ylabel="n", rot=90)) if "step" in text]

    assert 10 < len(names) <= MAX_TICKS
    assert names[0] == "step 0"


def test_bars_have_their_numbers() -> None:
    texts = texts_of(plots.draw_bars(pd.Series({"one": 1_200, "two": 7}), title="Bars", xlabel="n", loud=["two"]))

    assert {"one", "two", "1,200", "7", "Bars", "n"} <= set(texts)


def test_cells_have_their_words_and_numbers() -> None:
    states = plots.draw_states(pd.DataFrame({"log": ["ok", "FAILED"]}, index=["a", "b"]), title="Steps")
    counts = plots.draw_counts(pd.DataFrame({"LOW": [1_234]}, index=["BASIC"]), title="Counts")

    assert {"ok", "FAILED", "log", "a", "b"} <= set(texts_of(states))
    assert {"1,234", "LOW", "BASIC"} <= set(texts_of(counts))


@pytest.mark.parametrize(
    "chart",
    [
        plots.draw_columns(COUNTS[:0], title="None", ylabel=""),
        plots.draw_bars(pd.Series([], dtype="int64"), title="None", xlabel=""),
        plots.draw_states(pd.DataFrame(), title="None"),
        plots.draw_counts(COUNTS[:0], title="None"),
        plots.draw_lines(COUNTS[:0], title="None", ylabel=""),
        plots.draw_times(COUNTS[:0], title="None", ylabel=""),
    ],
)
def test_a_table_without_rows_says_so(chart: Any) -> None:
    assert render(chart)
    assert {"None", "There are no rows."} <= set(texts_of(chart))


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: plots.draw_columns([1, 2], title="", ylabel=""), "counts is a list. Pass a pandas frame"),
        (lambda: plots.draw_columns(pd.DataFrame({"a": ["x"]}), title="", ylabel=""), "'a' of counts has no numbers"),
        (lambda: plots.draw_days(COUNTS.set_axis(["x", "y"]), title="", ylabel=""), "index of counts has no days"),
        (lambda: plots.draw_bars(COUNTS, title="", xlabel=""), "values is a DataFrame. Pass a pandas series"),
        (lambda: plots.draw_states("ok", title=""), "states is a str"),
        (lambda: plots.draw_times(COUNTS.set_axis([1, 2]), title="", ylabel=""), "index of series has no times"),
        (lambda: plots.draw_graph(None), "graph is a NoneType. Pass what lab.signals.graph(...) returns."),
        (lambda: plots.draw_drift(7), "drift is a int. Pass what lab.signals.drift() returns."),
        (lambda: plots.draw_curve(7), "report is a int. Pass what lab.signals.simulate(...) returns."),
        (lambda: plots.draw_flips(7), "report is a int. Pass what policy.simulate() returns."),
        (lambda: plots.draw_sweep("x"), "sweep is a str. Pass that of a report"),
        (lambda: plots.draw_contributions("x", title=""), "factors is a str. Pass a list"),
        (lambda: plots.draw_contributions([{"name": "x"}], title=""), "no `name` and `contribution`"),
        (lambda: plots.draw_volume(COUNTS, every="dya", title=""), "every is 'dya'. Did you mean 'day'?"),
    ],
)
def test_a_wrong_argument_is_named_with_what_is_acceptable(draw: Callable[[], object], words: str) -> None:
    with pytest.raises(ValidationFailed) as raised:
        draw()

    assert words in raised.value.message
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("what", "by", "words"),
    [
        ("volume", None, ["Signals, 3 Oct to 2 Nov 2026", "signals per day"]),
        ("volume", "source", ["Signals by source, 3 Oct to 2 Nov 2026", "gateway", "session", "others"]),
        ("volume", "escalated", ["escalated", "not escalated"]),
        ("scores", None, ["median", "95 of 100 are below", "score per day"]),
        ("scores", "signal_type", ["Scores of signals by type, 3 Oct to 2 Nov 2026"]),
        ("severities", None, ["normal", "elevated", "high", "critical"]),
        ("severities", "source", ["normal", "critical", "login", "media"]),
    ],
)
def test_signals_are_drawn_over_time(lab: Lab, what: str, by: str | None, words: list[str]) -> None:
    chart = lab.signals.plot(what, by=by, since="2026-10-03", until=UNTIL)

    assert render(chart)
    assert [word for word in words if word not in texts_of(chart)] == []


def test_a_chart_of_volume_counts_every_signal_of_its_window(lab: Lab) -> None:
    counted = len(
        lab.sql("select id from signals where occurred_at >= '2026-10-01 00:00Z' and occurred_at < '2026-11-01 00:00Z'")
    )

    for every, by in (("day", "source"), ("week", "severity"), ("month", "entity_type")):
        chart: Any = lab.signals.plot(by=by, since="2026-10-01", until="2026-11-01", every=every)
        assert chart.dframe()["value"].sum() == counted


def test_a_chart_of_volume_has_every_step_of_its_window(lab: Lab) -> None:
    chart: Any = lab.signals.plot(by="source", since="2026-10-01", until="2026-11-05", source="login", min_score=90)

    assert list(dict.fromkeys(chart.dframe()["index"]))[::34] == ["1 Oct", "4 Nov"]


def test_a_chart_counts_what_its_filters_leave(lab: Lab) -> None:
    window = "occurred_at >= '2026-10-01 00:00Z' and occurred_at < '2026-11-01 00:00Z'"
    left = len(lab.sql(f"select id from signals where source = 'login' and score between 50 and 90 and {window}"))

    chart: Any = lab.signals.plot(
        by="severity", since="2026-10-01", until="2026-11-01", source="login", min_score=50, max_score=90
    )

    assert left > 0
    assert chart.dframe()["value"].sum() == left
    assert "Signals by severity, login, scores 50 to 90, 1 Oct to 1 Nov 2026" in texts_of(chart)


def test_a_window_without_signals_says_so(lab: Lab) -> None:
    for what in ("volume", "scores", "severities"):
        chart = lab.signals.plot(what, by="source", since="2001-01-01", until="2001-01-09")
        assert "There are no signals in this time." in texts_of(chart)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"what": "volumes"}, "what is 'volumes'. Did you mean 'volume'? Choose one of: volume, scores, severities."),
        ({"by": "sauce"}, "Choose one of: source, signal_type, entity_type, severity, escalated."),
        ({"by": ["source"]}, "by is a list."),
        ({"every": "minute"}, "every is 'minute'. Choose one of: hour, day, week, month."),
        ({"since": "2026-13-01"}, "2026-13-01"),
        ({"sauce": "login"}, "plot has no filter 'sauce'. Did you mean source? It has source, signal_type,"),
        ({"source": ["login"]}, "source is a list."),
        ({"min_score": 101}, "min_score is 101. Pass a whole number from 0 to 100."),
        ({"max_score": "high"}, "max_score is 'high'. Pass a whole number from 0 to 100."),
        ({"since": "2026-11-02", "until": "2026-11-02"}, "Pass an earlier since."),
        ({"since": "2026-01-01", "until": UNTIL, "every": "hour"}, "more than 400. Pass every='day'."),
    ],
)
def test_a_wrong_word_about_signals_is_one_line(lab: Lab, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationFailed) as raised:
        lab.signals.plot(**arguments)

    assert words in raised.value.message
    assert "\n" not in raised.value.message


def test_graph_and_drift_draw_themselves(lab: Lab) -> None:
    graph = lab.signals.graph("device:device-73d1efba", depth=1).plot()
    drift = lab.signals.drift(since="2026-10-26", until=UNTIL).plot()

    assert render(graph)
    assert render(drift)
    assert {"1 device", "24 users", "3 addresses"} <= set(texts_of(graph))
    assert "device-73d1efba: 28 entities" in texts_of(graph)[0]
    assert {"Drift of scores, 26 Oct to 2 Nov 2026", "PSI"} <= set(texts_of(drift))


def test_a_simulation_of_rules_draws_its_curve_and_rules(lab: Lab) -> None:
    report = lab.signals.simulate([HIGH], since="2026-09-01", until=UNTIL)

    for what, words in (
        ("cost", {"cost", "signal.score", "high: signal.score"}),
        ("alarms", {"frauds found", "false alarms"}),
        ("quality", {"recall", "precision"}),
        ("rules", {"fraud", "legitimate", "no label"}),
    ):
        chart = report.plot(what)
        assert render(chart)
        assert words <= set(texts_of(chart))
    with pytest.raises(ValidationFailed, match="Choose one of: cost, alarms, quality"):
        report.plot("costs")


def test_a_curve_has_the_costs_that_were_given(lab: Lab) -> None:
    usual = lab.signals.simulate([HIGH], since="2026-10-01", until=UNTIL)
    dear = lab.signals.simulate([HIGH], since="2026-10-01", until=UNTIL, costs={"missed_fraud": 100, "false_alarm": 0})

    assert dear.cost == 100 * dear.confusion.false_negative
    assert usual.cost == 10 * usual.confusion.false_negative + usual.confusion.false_positive
    with pytest.raises(ValidationFailed, match="costs"):
        lab.signals.simulate([HIGH], costs=7)  # type: ignore[arg-type]


def test_a_policy_report_draws_flips_rules_and_sweeps(lab: Lab) -> None:
    report = lab.policies["Employment checks"].simulate(until=UNTIL, by="trust_tier")
    swept = lab.policies.sweep("Employment checks", BOUND, until=UNTIL)

    flips: Any = report.plot()
    assert flips.dframe()["value"].sum() == report.newly_allowed + report.newly_denied
    assert {"BASIC", "SELF_SIGNED", "newly denied", "newly allowed"} <= set(texts_of(flips))
    assert {"old-key", "it decides"} <= set(texts_of(report.plot("rules")))
    for chart in (swept.plot(), swept.sweep.plot("denied")):  # type: ignore[union-attr]
        assert render(chart)
        assert "value of the threshold" in texts_of(chart)
    with pytest.raises(ValidationFailed, match="This simulation has no sweep"):
        report.plot("sweep")
    with pytest.raises(ValidationFailed, match="Choose one of: flips, rules, sweep"):
        report.plot("flip")


def test_a_sweep_of_two_thresholds_is_a_table(lab: Lab) -> None:
    swept = lab.policies.sweep("Employment checks", BOUND, ("young-workshop", "key.age_days"), until=UNTIL, points=20)
    texts = texts_of(swept.plot())

    assert {"first threshold", "second threshold", "34", "400"} <= set(texts)
    assert "34.0" not in texts
