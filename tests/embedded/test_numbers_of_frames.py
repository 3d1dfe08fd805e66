"""Numbers of NumPy, pandas and `Decimal`: each verb reads them by value, or refuses them; none passes over one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import attestlab
from attestlab.client.json_values import encode_body, encode_parameter
from attestlab.client.lab import Lab
from attestlab.core.errors import ValidationFailed
from attestlab.orgs.rules import Plan
from support.server_process import ServerProcess

ORDERS = pd.DataFrame({"order.qty": [9, 2], "risk.ip.score": [91.5, 3.0]})
NINES: dict[str, object] = {
    "element": ORDERS["order.qty"].iloc[0],
    "maximum": ORDERS["order.qty"].max(),
    "nullable": pd.array([9], dtype="Int64")[0],
    "small": np.uint8(9),
    "double": np.float64(9.0),
    "single": np.float32(9.0),
    "extended": np.longdouble(9),
    "array of no dimension": np.array(9),
    "decimal": Decimal(9),
    "decimal with zeros": Decimal("9.00"),
    "fraction": Fraction(18, 2),
}
NO_NUMBERS: dict[str, object] = {
    "missing": pd.NA,
    "no number": float("nan"),
    "no decimal": Decimal("NaN"),
    "infinite": np.float64("inf"),
    "third": Fraction(1, 3),
    "many digits": Decimal("0.12345678901234567890123"),
    "array": np.array([9]),
    "column": ORDERS["order.qty"],
    "complex": 9j,
    "time": np.datetime64("2026-11-02", "ns"),
    "duration": np.timedelta64(9, "ns"),
    "no time": pd.NaT,
}
DRAFT = {
    "name": "Small orders",
    "category": "MINT",
    "target_type": "TENANT_DEFAULT",
    "default_effect": "ALLOW",
    "rules": [
        {"id": "large", "effect": "DENY", "priority": 1, "when": {"attr": "order.qty", "op": "gt", "value": 5}},
        {"id": "new", "effect": "DENY", "priority": 2, "when": {"attr": "customer.new", "op": "eq", "value": True}},
    ],
}


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    installation = running.open_lab()
    made = installation.orgs.create_tenant("Orders", plan=Plan.ENTERPRISE)
    installation.close()
    with (
        attestlab.open(running.database_url, data=running.data) as lab,
        attestlab.connect(running.url, made.api_key) as outside,
    ):
        _register(outside)
        yield {"in process": lab.as_("Orders"), "over HTTP": outside}


def _register(lab: Lab) -> None:
    own = [{"path": "order.qty", "type": "integer"}, {"path": "customer.new", "type": "boolean"}]
    lab._client.put("/v1/policies/attributes", {"attributes": own})


@pytest.fixture(params=["in process", "over HTTP"])
def lab(request: pytest.FixtureRequest, doors: dict[str, Lab]) -> Lab:
    return doors[request.param]


def test_a_draft_decides_a_number_of_a_frame_by_its_value(lab: Lab) -> None:
    contexts = [{"order.qty": nine, "customer.new": np.bool_(False)} for nine in NINES.values()]
    decided = [lab.policies.decide(DRAFT, context) for context in contexts]

    assert {(each.decision, *each.missing, *each.diagnostics) for each in decided} == {("DENY",)}


def test_a_draft_decides_a_truth_value_of_a_frame(lab: Lab) -> None:
    assert lab.policies.decide(DRAFT, {"order": {"qty": 1}, "customer": {"new": np.bool_(True)}}).allowed is False


def test_a_draft_has_numbers_of_frames_too(lab: Lab) -> None:
    condition = {"attr": "order.qty", "op": "gt", "value": np.int64(5)}
    rules = [{"id": "large", "effect": "DENY", "priority": np.int64(1), "when": condition}]

    assert lab.policies.decide(DRAFT | {"rules": rules}, {"order.qty": 9}).allowed is False


VERBS: dict[str, Callable[[Lab, object], object]] = {
    "decide": lambda lab, value: lab.policies.decide(DRAFT, {"order.qty": value}),
    "evaluate": lambda lab, value: lab.policies.evaluate("MINT", {"order.qty": value}),
    "signal": lambda lab, value: lab.signals.add("gateway", "behavior", value, "user:u-1"),  # type: ignore[arg-type]
    "details": lambda lab, value: lab.signals.add("gateway", "behavior", 9, "user:u-1", details={"qty": value}),
    "signals": lambda lab, value: lab.signals.add_many(
        [{"source": "a", "signal_type": "behavior", "score": value, "entity_type": "ip", "entity_id": "192.0.2.1"}],
        strict=True,
    ),
    "event": lambda lab, value: lab.signals.record_event("login.failed.repeated", "user:u-1", data={"qty": value}),
    "media": lambda lab, value: lab.signals.scan("upload-1", indicators={"face_swap": value}),  # type: ignore[dict-item]
    "challenge": lambda lab, value: lab.challenges.create("u-1", "24 failed logins", risk_score=value),  # type: ignore[arg-type]
    "filter": lambda lab, value: list(lab.signals.list(min_score=value, limit=1)),
}


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_refuses_what_has_no_exact_number(lab: Lab, verb: str) -> None:
    for number in NO_NUMBERS.values():
        with pytest.raises(ValidationFailed) as caught:
            VERBS[verb](lab, number)

        assert "\n" not in caught.value.message


@pytest.mark.parametrize("verb", [each for each in VERBS if each not in ("media", "challenge")])
def test_each_verb_takes_a_number_of_a_frame(lab: Lab, verb: str) -> None:
    for nine in NINES.values():
        VERBS[verb](lab, nine)


def test_evaluate_records_the_number_that_a_frame_had(lab: Lab) -> None:
    recorded = lab.policies.evaluate("MINT", {"order.qty": np.int64(9)})

    assert lab.decisions[recorded.decision_id].context == {"order.qty": 9}


def test_a_refused_number_is_named_with_its_place() -> None:
    with pytest.raises(ValidationFailed, match=r"context\.order\[1\]=<NA> cannot be sent as JSON"):
        encode_body({"context": {"order": [1, pd.NA]}})


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        (float("nan"), "JSON has no such number. Pass a finite one, or None."),
        (np.float64("inf"), "JSON has no such number. Pass a finite one, or None."),
        (pd.Timestamp(2026, 1, 2), "Timestamp('2026-01-02 00:00:00') has no UTC offset. Pass an aware datetime."),
        (pd.NaT, "NaT is no time. Pass a number, text, true, false or None."),
    ],
    ids=["no number", "infinite", "time without an offset", "no time"],
)
def test_a_refused_value_has_one_cause_and_one_remedy(value: object, cause: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        encode_body({"at": value})

    assert refused.value.message == f"at={value!r} cannot be sent as JSON: {cause}"


def test_decimals_are_sent_by_their_digits() -> None:
    assert encode_body([Decimal("0.1"), Decimal("1e2"), np.float32(0.5)]) == b"[0.1,100,0.5]"
    assert encode_parameter("min_score", np.float64(91.5)) == "91.5"


def test_a_time_without_an_offset_is_no_parameter_of_a_query(lab: Lab) -> None:
    with pytest.raises(ValidationFailed, match=r"parameters\[0\]=2026-11-02T09:00:00 has no UTC offset"):
        lab.sql("select ?", [datetime(2026, 11, 2, 9)]).df()
    with pytest.raises(ValidationFailed, match="at=2026-11-02T09:00:00 has no UTC offset"):
        lab.sql("select $at", {"at": pd.Timestamp("2026-11-02 09:00")}).df()
