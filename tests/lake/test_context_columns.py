"""Context columns: typed by their values, readable by the replay, independent of later registrations."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.lake.datasets import DECISIONS
from attestlab.policy.language.document import Document
from attestlab.policy.sql.contexts_file import DECISION_COLUMNS
from attestlab.policy.sql.replay import replay
from support.lake import LakeScenario, LakeTenant, read_decision_contexts
from support.policies.documents import bind_document, make_condition, make_document, make_rule

OWN: list[dict[str, Any]] = [
    {"path": "claims.amount", "type": "number"},
    {"path": "claims.count", "type": "integer"},
    {"path": "is_resident", "type": "boolean"},
    {"path": "note", "type": "text"},
]
BASE = {"seq", "id", "tenant_id", "action", "target_type", "target_id", "policy_set_digest", "members", "input_sha256"}
BASE |= {"created_at", "allowed", "matched_rules"}


def decided(owner: LakeTenant) -> None:
    """Contexts with and without each attribute."""
    owner.lab.policy_attributes.replace(OWN, caller=owner.caller)
    owner.decide(**{"claims.amount": 90, "claims.count": 3, "is_resident": True, "note": "é'\""})
    owner.decide(**{"claims.amount": 0.1, "is_resident": False, "jurisdiction": "no"})
    owner.decide(status="nowhere", note="")
    owner.decide(**{"claims.count": -(2**53 - 1)})


def contexts_of(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What each decision's columns say, missing ones left out."""
    return {
        row["id"]: {name: value for name, value in row.items() if name not in BASE and value is not None}
        for row in rows
    }


@pytest.mark.both_engines
def test_contexts_round_trip_through_parts_and_records(lake_scenario: LakeScenario) -> None:
    for _ in range(3):
        decided(lake_scenario.owner)
        before = lake_scenario.lab.lake(lake_scenario.owner.caller).decisions.arrow().to_pylist()
        assert contexts_of(before) == read_decision_contexts(lake_scenario.lab, lake_scenario.owner.caller.tenant_id)
        lake_scenario.lab.lake.export()

    after = lake_scenario.lab.lake(lake_scenario.owner.caller).decisions.arrow()
    assert contexts_of(after.to_pylist()) == read_decision_contexts(
        lake_scenario.lab, lake_scenario.owner.caller.tenant_id
    )
    assert {"jurisdiction", "key.age_days", "key.status", "claims.amount"} <= set(after.column_names)


@pytest.mark.both_engines
def test_matched_rules_and_digest_equal_the_decision(lake_scenario: LakeScenario) -> None:
    decided(lake_scenario.owner)
    lake_scenario.lab.lake.export()

    (row, *_) = lake_scenario.lab.lake(lake_scenario.owner.caller).decisions.sql("from this order by seq").fetchall()
    names = lake_scenario.lab.lake(lake_scenario.owner.caller).decisions.rel().columns
    exported = dict(zip(names, row, strict=True))
    explained = lake_scenario.lab.policy_decisions.explain(exported["id"], caller=lake_scenario.owner.caller).row
    assert (exported["allowed"], exported["policy_set_digest"], exported["input_sha256"]) == (
        explained.allowed,
        explained.policy_set_digest,
        explained.input_sha256,
    )
    assert exported["matched_rules"] == []
    assert exported["created_at"] == explained.created_at


def test_replay_decides_exported_decisions(lake_scenario: LakeScenario, tmp_path: Path) -> None:
    """The file of `to_parquet` has the columns that a replay reads, each attribute's, also unused ones."""
    past = tmp_path / "past.parquet"
    decided(lake_scenario.owner)
    lake_scenario.lab.lake.export()
    decided(lake_scenario.owner)
    policy = bind_document(
        make_document(
            make_rule("rich", "ALLOW", make_condition("claims.amount", "gte", 90)),
            make_rule("many", "DENY", make_condition("claims.count", "eq", 3)),
            make_rule("old", "ALLOW", make_condition("risk_rating", "eq", "LOW"), 1),
        )
    )

    assert lake_scenario.lab.lake(lake_scenario.owner.caller).decisions.to_parquet(past) == 8

    groups = {(group.allowed, group.matched, group.count) for group in replay(policy, past).groups()}
    assert groups == {(False, ("many", "rich"), 2), (False, (), 6)}


def test_no_report_is_computed_from_a_damaged_file(lake_scenario: LakeScenario, tmp_path: Path) -> None:
    """DuckDB verifies no checksum of a page; the file's own digest is compared before it reads."""
    past = tmp_path / "past.parquet"
    decided(lake_scenario.owner)
    lake_scenario.lab.lake(lake_scenario.owner.caller).decisions.to_parquet(past)
    policy = bind_document(make_document(make_rule("rich", "ALLOW", make_condition("claims.amount", "gte", 90))))
    right, content = replay(policy, past).groups(), past.read_bytes()
    chance, refused = random.Random(3), 0
    for _ in range(120):
        changed, bit = bytearray(content), chance.randrange(len(content) * 8)
        changed[bit // 8] ^= 1 << bit % 8
        past.write_bytes(changed)
        try:
            assert replay(policy, past).groups() == right
        except ValidationFailed:
            refused += 1
    assert refused > 100


def test_export_distinguishes_attributes_from_columns(lake_scenario: LakeScenario, tmp_path: Path) -> None:
    """Whether it was registered when they were exported or since: then no context has it."""
    past, owner = tmp_path / "past.parquet", lake_scenario.owner
    owner.lab.policy_attributes.replace([{"path": "action", "type": "text"}], caller=owner.caller)
    owner.decide(action="MINT")
    owner.decide(action="lunch", jurisdiction="NO")
    owner.lab.lake(owner.caller).decisions.to_parquet(past)
    own = [{"path": name, "type": "text"} for name in ("action", "target_type")]
    owner.lab.policy_attributes.replace(own, caller=owner.caller)
    lunch = make_rule("lunch", "ALLOW", make_condition("action", "eq", "lunch"))
    bound = make_rule("bound", "DENY", make_condition("target_type", "exists", True), 1)
    draft = Document.read(make_document(lunch, bound, target_type="ISSUER", target_id=str(owner.issuer_id)))

    groups = owner.lab.policies.replay(draft, contexts=past, caller=owner.caller).groups()
    with owner.lab.simulations.of(draft, contexts=past, caller=owner.caller) as simulation:
        decided = simulation.decide().rows()

    assert {(group.matched, group.count) for group in groups} == {(("lunch",), 1), ((), 1)}
    assert {(tuple(row["matched_rules"]), row["count"]) for row in decided} == {(("lunch",), 1), ((), 1)}


def test_replay_knows_columns_of_exported_decisions() -> None:
    assert set(DECISIONS.columns) == DECISION_COLUMNS


def test_retyped_attribute_hides_no_decision(lake_scenario: LakeScenario) -> None:
    """What today's attribute would not take is missing, as it is to a policy; in each part, and across them."""
    owner = lake_scenario.owner
    for kind, value in (("number", 1.5), ("text", "large"), ("boolean", True), ("text", "small")):
        lake_scenario.lab.policy_attributes.replace([{"path": "size", "type": kind}], caller=owner.caller)
        owner.decide(size=value)
        if kind == "text":
            lake_scenario.lab.lake.export()

    rows = lake_scenario.lab.lake(owner.caller).decisions.sql("select size from this order by seq").fetchall()
    assert rows == [(None,), ("large",), (None,), ("small",)]
    lake_scenario.lab.lake.rebuild()
    assert lake_scenario.lab.lake(owner.caller).decisions.sql("select size from this order by seq").fetchall() == rows


def test_ids_are_texts_and_times_are_utc(lake_scenario: LakeScenario) -> None:
    for number in range(12):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()

    types = {
        str(field.type) for path in lake_scenario.lab.lake.folder.rglob("*.parquet") for field in pq.read_schema(path)
    }
    assert {"string", "timestamp[us, tz=UTC]"} <= types
    assert types <= {"string", "int64", "double", "bool", "timestamp[us, tz=UTC]", "list<element: string>"}
    frame = lake_scenario.lab.lake(lake_scenario.owner.caller).attestations.df()
    assert str(frame["created_at"].dt.tz) == "UTC"
    assert frame["created_at"].max() <= lake_scenario.clock.now()


def test_parts_are_sorted_by_tenant_and_time(lake_scenario: LakeScenario) -> None:
    for number in range(24):
        lake_scenario.act(number)
    lake_scenario.lab.lake.export()

    for path in lake_scenario.lab.lake.folder.joinpath("attestations").iterdir():
        rows = pq.read_table(path).select(["tenant_id", "created_at"]).to_pylist()
        assert rows == sorted(rows, key=lambda row: (row["tenant_id"], row["created_at"]))
