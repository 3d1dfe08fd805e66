"""What-if over risk over real HTTP, on either database: recorded signals, resolved cases, refused requests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.core.errors import Unavailable
from attestlab.core.limits.concurrency import ConcurrencyLimit
from attestlab.orgs.rules import Plan
from attestlab.simulation.risk.shapes import SimulateRiskIn
from support.orgs import TenantClients
from support.policies.documents import make_condition
from support.risk import add_signal, post
from support.risk_simulations import make_rules

pytestmark = pytest.mark.one_world

SIMULATE = "/v1/risk/simulate"
BUSY = make_rules(make_condition("entity.signals_1h", "gte", 2))
UNKNOWN = {"value": None, "low": 0.0, "high": 1.0}


def simulate(key: httpx.Client, rules: list[dict[str, Any]] = BUSY, **more: Any) -> Any:
    return post(key, "simulate", {"rules": rules, **more})


def record_history(key: httpx.Client, clock: FixedClock) -> dict[str, str]:
    """A fraud of two signals, a false alarm, an inconclusive and an open case; returns the ids of the signals."""
    ids = {}
    for entity, outcome in (("ada", "fraud"), ("bob", "legitimate"), ("cid", "inconclusive"), ("dan", None)):
        opened = add_signal(key, score=90, entity_id=entity)
        ids[entity] = opened["id"]
        clock.advance(timedelta(minutes=1))
        if entity == "ada":
            ids["ada again"] = add_signal(key, score=20, entity_id="ada")["id"]
        clock.advance(timedelta(minutes=1))
        if outcome is not None:
            post(key, f"cases/{opened['case_id']}/resolve", {"outcome": outcome})
    ids["unlabelled"] = add_signal(key, score=10, entity_id="ada")["id"]  # after its entity's case was resolved
    return ids


@pytest.mark.both_engines
def test_rules_are_compared_with_outcomes_and_with_the_live_rule(key: httpx.Client, clock: FixedClock) -> None:
    ids = record_history(key, clock)
    answer = simulate(key, costs={"missed_fraud": 5, "false_alarm": 2}, explain=ids["ada again"])

    assert answer["labels"] == {
        "fraud": {"signals": 2, "cases": 1},
        "legitimate": {"signals": 1, "cases": 1},
        "inconclusive": {"signals": 1, "cases": 1},
        "open": {"signals": 1, "cases": 1},
        "none": {"signals": 1, "cases": 0},
    }
    assert answer["confusion"] == {"true_positive": 1, "false_positive": 0, "false_negative": 1, "true_negative": 1}
    assert answer["recall"]["value"] == 0.5
    assert answer["recall"]["low"] == pytest.approx(0.0945, abs=1e-4)
    assert (answer["precision"]["value"], answer["fpr"]["value"], answer["cost"]) == (1.0, 0.0, 5.0)
    live = answer["live"]
    assert (live["escalation_threshold"], live["recall"]["value"], live["fpr"]["value"]) == (80.0, 0.5, 1.0)
    assert live["cost"] == 7.0
    assert answer["flips"] == [
        {"from": "escalate", "to": "pass", "label": "fraud", "count": 1},
        {"from": "escalate", "to": "pass", "label": "legitimate", "count": 1},
        {"from": "escalate", "to": "pass", "label": "inconclusive", "count": 1},
        {"from": "escalate", "to": "pass", "label": "open", "count": 1},
        {"from": "pass", "to": "escalate", "label": "fraud", "count": 1},
        {"from": "pass", "to": "escalate", "label": "none", "count": 1},
    ]
    examples = {each["kind"]: each for each in answer["examples"] if each["label"] == "fraud"}
    assert {kind: each["signal_id"] for kind, each in examples.items()} == {
        "true_positive": ids["ada again"],
        "miss": ids["ada"],
        "newly_escalated": ids["ada again"],
        "newly_passed": ids["ada"],
    }
    assert (examples["miss"]["values"], examples["miss"]["rule_id"]) == ({"entity.signals_1h": 1}, None)
    assert answer["threshold"] == {"rule_id": "r0", "attribute": "entity.signals_1h", "op": "gte", "value": 2.0}
    assert [(each["value"], each["cost"], each["is_current"]) for each in answer["curve"]] == [
        (1.0, 2.0, False), (2.0, 5.0, True), (3.0, 10.0, False),
    ]  # fmt: skip
    explained = answer["explanation"]
    assert (explained["decision"], explained["rule_id"], explained["values"]) == (
        "escalate", "r0", {"entity.signals_1h": 2},
    )  # fmt: skip
    assert explained["rules"][0]["when"]["truth"] == "true"
    promotion = answer["promotion"]
    assert (promotion["is_better"], [check["passed"] for check in promotion["checks"]]) == (
        False,
        [False, True, True, False],
    )


def test_window_and_settings_of_the_tenant_apply(key: httpx.Client, clock: FixedClock) -> None:
    start = clock.now()
    add_signal(key, score=60)
    clock.advance(timedelta(minutes=1))
    add_signal(key, score=60)
    key.put("/v1/risk/settings", json={"escalation_threshold": 55})
    later = format_time(start + timedelta(seconds=30))
    answer = simulate(key, **{"from": later, "to": format_time(start + timedelta(hours=1))})

    assert (answer["signals"], answer["flips"], answer["live"]["escalation_threshold"]) == (1, [], 55.0)
    assert (answer["window"]["from"], answer["recall"]) == (later, UNKNOWN)
    assert simulate(key, to=later)["signals"] == 1


def test_other_tenants_have_no_part_in_it(key: httpx.Client, tenant_clients: TenantClients) -> None:
    mine = add_signal(key, score=90)["id"]
    other = tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    with tenant_clients.with_key(tenant=other) as stranger:
        assert simulate(stranger)["signals"] == 0
        assert stranger.post(SIMULATE, json={"rules": BUSY, "explain": mine}).status_code == 404
    assert simulate(key, explain=mine)["explanation"]["decision"] == "pass"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"rules": []}, "/rules"),
        ({"rules": [{"id": "r", "when": {"attr": "signal.scor", "op": "gt", "value": 1}}]}, "/rules/0/when/attr"),
        ({"rules": [{"id": "r", "when": {}, "effect": "ALLOW"}]}, "/rules/0/effect"),
        ({"rules": BUSY, "threshold": {"rule_id": "r9", "attribute": "signal.score"}}, "/threshold/rule_id"),
        ({"rules": BUSY, "costs": {"missed_fraud": -1}}, "/costs/missed_fraud"),
        ({"rules": BUSY, "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "/from"),
    ],
)
def test_invalid_request_is_refused_where_it_is(key: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = key.post(SIMULATE, json=body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["details"]["fields"][0]["field"] == field


def test_unknown_signal_is_not_found_and_simulations_in_threads_are_limited(
    key: httpx.Client, tenant_clients: TenantClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tenant_clients.lab
    assert key.post(SIMULATE, json={"rules": BUSY, "explain": str(uuid4())}).status_code == 404
    taken = ConcurrencyLimit(1, "simulations")
    monkeypatch.setattr(lab.risk_simulations, "concurrency", taken)
    with taken.acquire():
        assert simulate(key)["signals"] == 0  # requests have a process of their own
        with pytest.raises(Unavailable):
            lab.risk_simulations.run(
                BUSY, SimulateRiskIn(rules=[]), caller=lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
            )


def test_python_has_the_same_results(key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock) -> None:
    record_history(key, clock)
    answer, lab = simulate(key), tenant_clients.lab
    caller = lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    with lab.risk_simulations.of(BUSY, caller=caller) as simulation:
        assert simulation.tally().candidate._asdict() == answer["confusion"]
        assert len(simulation.decisions().df()) == answer["signals"]
