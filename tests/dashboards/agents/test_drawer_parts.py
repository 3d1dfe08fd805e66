"""The parts of an agent's drawer: trust with its reasons, and runs with steps, signers, hashes and votes."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import parse_qsl

import pytest

from attestlab.core.errors import NotFound
from attestlab_dashboards.agents.drawer.trust import explain_score
from attestlab_dashboards.agents.events import EVENTS
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.safe import html
from support.dashboards.fleets import Fleet, draw, draw_markup


def test_a_new_agent_has_its_score_by_rule(fleet: Fleet) -> None:
    words = unescape(draw(fleet.owner, "agent", agent=str(fleet.reader.id), part="trust"))

    assert "0.500 authenticated Without evidence or a signal, an agent has exactly 0.500." in words
    assert "Compliance no evidence There is no compliance check of this agent. weight 35 % · 0 facts" in words
    assert "Delegation 0.880 The agent's delegation depth is 1. weight 20 % · 1 fact" in words
    assert words.endswith("It has not changed yet.")


def test_each_reason_and_each_change_of_trust_has_its_cause(fleet: Fleet) -> None:
    check = fleet.owner.compliance.check(fleet.reader)
    trust = fleet.reader.trust()
    words = unescape(draw(fleet.owner, "agent", agent=str(fleet.reader.id), part="trust"))

    assert f"{trust.score:.3f}" in words
    for part in trust.components:
        assert f"{part.explanation} weight {part.weight * 100:.0f} %" in words
        assert f"adds {part.contribution:.3f}" in words
    assert f"because of a compliance check {str(check.check_id)[:8]}" in words
    assert explain_score(trust).startswith(
        f"The mean of its parts is {trust.raw:.3f}; 1 outcome or decision moves it from"
    )


def test_signals_say_what_they_take(fleet: Fleet) -> None:
    fleet.owner.signals.add("agent", "probe", 80, f"user:{fleet.reader.agent_id}")
    words = unescape(draw(fleet.owner, "agent", agent=str(fleet.reader.id), part="trust"))

    (penalty, *_) = fleet.reader.trust().penalties
    assert f"{penalty.points:.3f} 0 days old {str(penalty.signal_id)[:8]}" in words
    assert "No outcome or decision moves it from 0.500 towards the mean of its parts" in words
    assert "Signals take" in words
    assert "because of a risk signal about it" in words
    link, _ = draw_markup(fleet.owner, "agent", AgentsState(agent=str(fleet.reader.id), part="trust"))
    entity = re.search(r'href="risk\?([^"]*)"', link)
    assert entity is not None
    assert RiskState.from_query(dict(parse_qsl(entity[1]))) == (RiskState(entity=f"user:{fleet.reader.agent_id}"), ())


def test_a_run_shows_steps_with_signers_hashes_votes_and_its_entry(fleet: Fleet) -> None:
    run = fleet.owner.runs.start(fleet.reader, ["read", "sum"], name="Invoices")
    first = run.step("read", inputs=b"7 pages", outputs=b"7 sums")
    run.step("sum", outputs=b"1 sum", agent=fleet.counter)
    ended = run.complete()
    auditor = fleet.owner.agents.register("Auditor")
    claim = (str(run.id), "run_hash", str(ended.run_hash))
    fleet.owner.witness.ask(claim, of=fleet.reader, required_witnesses=1).vote(auditor, "confirm")
    words = draw(fleet.owner, "agent", agent=str(fleet.reader.id), part="runs")

    assert "Invoices completed 2 of 2 steps" in words
    assert f"Log entry {ended.log_index:,}" in words
    assert f"signed by Reader with {first.kid}" in words
    assert f"took {str(first.inputs_hash)[:8]}" in words
    assert f"signed by Counter with {fleet.counter.key_id}" in words
    assert "confirm Auditor claim: the hash of this run, confirmed" in words
    markup, _ = draw_markup(fleet.owner, "agent", AgentsState(agent=str(fleet.reader.id), part="runs"))
    assert f'href="log?entry={ended.log_index}"' in markup


def test_a_broken_chain_an_open_step_and_another_hash_stand_out(fleet: Fleet) -> None:
    run = fleet.owner.runs.start(fleet.reader, ["read", "sum", "send"], name="Invoices")
    run.step("read", inputs=b"7 pages", outputs=b"7 sums")
    run.step("sum", inputs=b"other sums", outputs=b"1 sum")
    auditor = fleet.owner.agents.register("Auditor")
    fleet.owner.witness.ask((str(run.id), "run_hash", "x" * 43), of=fleet.reader).vote(auditor, "deny")
    words = draw(fleet.owner, "agent", agent=str(fleet.reader.id), part="runs")

    assert "Invoices running chain broken 2 of 3 steps" in words
    assert "sum completed took something else" in words
    assert "send open" in words
    assert "It has not ended: the log has no entry of it yet." in words
    assert "deny Auditor claim: another hash than that of this run, pending" in words


def test_a_run_that_an_agent_took_part_in_is_among_its_runs(fleet: Fleet) -> None:
    shared = fleet.owner.runs.start(fleet.reader, ["sum"], name="Shared")
    shared.step("sum", inputs=b"7", outputs=b"1", agent=fleet.counter)
    fleet.owner.runs.start(fleet.counter, ["count"], name="Own")

    words = draw(fleet.owner, "agent", agent=str(fleet.counter.id), part="runs", run=str(shared.id))
    assert "Own running 0 of 1 step" in words
    assert "Shared running 1 of 1 step of Reader" in words
    assert "signed by Counter" in words
    assert "count open" in draw(fleet.owner, "agent", agent=str(fleet.counter.id), part="runs")
    assert "No run" in draw(fleet.owner, "agent", agent=str(fleet.steward.id), part="runs")
    with pytest.raises(NotFound):
        draw(fleet.owner, "agent", agent=str(fleet.counter.id), part="runs", run=str(fleet.counter.id))


def test_the_drawer_opens_with_its_first_part() -> None:
    agent, other = "0193b5a0-7f3c-7abc-8def-0123456789ab", "0193b5a0-7f3c-7abc-8def-0123456789ac"
    runs = EVENTS["run"](EVENTS["part"](AgentsState(agent=agent), "runs"), other)

    assert runs == AgentsState(agent=agent, part="runs", run=other)
    assert EVENTS["part"](runs, "trust") == AgentsState(agent=agent, part="trust")
    assert EVENTS["agent"](runs, other) == AgentsState(agent=other)
    assert EVENTS["close"](runs, "") == AgentsState()
    assert EVENTS["part"](AgentsState(), "trust") == AgentsState()


def test_a_part_of_no_drawer_is_ignored() -> None:
    run = "0193b5a0-7f3c-7abc-8def-0123456789ab"

    assert AgentsState.from_query({"part": "runs", "run": run}) == (AgentsState(), ("part", "run"))
    assert AgentsState.from_query({"agent": run, "part": "trust", "run": run})[1] == ("run",)


def test_hostile_names_of_runs_and_claims_are_words(fleet: Fleet) -> None:
    hostile = "<b>&'\"x</b>"
    run = fleet.owner.runs.start(fleet.reader, ["read"], name=hostile)
    fleet.owner.witness.ask((str(run.id), hostile, hostile), of=fleet.reader).vote(
        fleet.owner.agents.register(hostile), "abstain"
    )
    markup, _ = draw_markup(fleet.owner, "agent", AgentsState(agent=str(fleet.reader.id), part="runs"))

    assert str(html("{text}", text=hostile)) in markup
    assert hostile not in markup
