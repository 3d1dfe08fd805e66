"""Context columns: typed by their values, readable by the replay, independent of later registrations."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from lake_world import Owner, World, inputs_recorded
from policy_world import document, leaf, rule, typed

from attestlab.core.errors import ValidationFailed
from attestlab.lake.datasets import DECISIONS
from attestlab.policy.language.document import Document
from attestlab.policy.sql.contexts_file import DECISION_COLUMNS
from attestlab.policy.sql.replay import replay

OWN: list[dict[str, Any]] = [
    {"path": "claims.amount", "type": "number"},
    {"path": "claims.count", "type": "integer"},
    {"path": "is_resident", "type": "boolean"},
    {"path": "note", "type": "text"},
]
BASE = {"seq", "id", "tenant_id", "action", "target_type", "target_id", "policy_set_digest", "members", "input_sha256"}
BASE |= {"created_at", "allowed", "matched_rules"}


def decided(owner: Owner) -> None:
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
def test_contexts_round_trip_through_parts_and_records(world: World) -> None:
    for _ in range(3):
        decided(world.owner)
        before = world.lab.lake(world.owner.caller).decisions.arrow().to_pylist()
        assert contexts_of(before) == inputs_recorded(world.lab, world.owner.caller.tenant_id)
        world.lab.lake.export()

    after = world.lab.lake(world.owner.caller).decisions.arrow()
    assert contexts_of(after.to_pylist()) == inputs_recorded(world.lab, world.owner.caller.tenant_id)
    assert {"jurisdiction", "key.age_days", "key.status", "claims.amount"} <= set(after.column_names)


@pytest.mark.both_engines
def test_matched_rules_and_digest_equal_the_decision(world: World) -> None:
    decided(world.owner)
    world.lab.lake.export()

    (row, *_) = world.lab.lake(world.owner.caller).decisions.sql("from this order by seq").fetchall()
    names = world.lab.lake(world.owner.caller).decisions.rel().columns
    told = dict(zip(names, row, strict=True))
    explained = world.lab.policy_decisions.explain(told["id"], caller=world.owner.caller).row
    assert (told["allowed"], told["policy_set_digest"], told["input_sha256"]) == (
        explained.allowed,
        explained.policy_set_digest,
        explained.input_sha256,
    )
    assert told["matched_rules"] == []
    assert told["created_at"] == explained.created_at


def test_replay_decides_exported_decisions(world: World, tmp_path: Path) -> None:
    """The file of `to_parquet` has the columns that a replay reads, each attribute's, also those nobody used."""
    past = tmp_path / "past.parquet"
    decided(world.owner)
    world.lab.lake.export()
    decided(world.owner)
    policy = typed(
        document(
            rule("rich", "ALLOW", leaf("claims.amount", "gte", 90)),
            rule("many", "DENY", leaf("claims.count", "eq", 3)),
            rule("old", "ALLOW", leaf("risk_rating", "eq", "LOW"), 1),
        )
    )

    assert world.lab.lake(world.owner.caller).decisions.to_parquet(past) == 8

    groups = {(group.allowed, group.matched, group.count) for group in replay(policy, past).groups()}
    assert groups == {(False, ("many", "rich"), 2), (False, (), 6)}


def test_no_report_is_computed_from_a_damaged_file(world: World, tmp_path: Path) -> None:
    """DuckDB verifies no checksum of a page; the file's own digest is compared before it reads."""
    past = tmp_path / "past.parquet"
    decided(world.owner)
    world.lab.lake(world.owner.caller).decisions.to_parquet(past)
    policy = typed(document(rule("rich", "ALLOW", leaf("claims.amount", "gte", 90))))
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


def test_export_distinguishes_attributes_from_columns(world: World, tmp_path: Path) -> None:
    """Whether it was registered when they were exported or since: then no context has it."""
    past, owner = tmp_path / "past.parquet", world.owner
    owner.lab.policy_attributes.replace([{"path": "action", "type": "text"}], caller=owner.caller)
    owner.decide(action="MINT")
    owner.decide(action="lunch", jurisdiction="NO")
    owner.lab.lake(owner.caller).decisions.to_parquet(past)
    own = [{"path": name, "type": "text"} for name in ("action", "target_type")]
    owner.lab.policy_attributes.replace(own, caller=owner.caller)
    lunch = rule("lunch", "ALLOW", leaf("action", "eq", "lunch"))
    bound = rule("bound", "DENY", leaf("target_type", "exists", True), 1)
    draft = Document.read(document(lunch, bound, target_type="ISSUER", target_id=str(uuid4())))

    groups = owner.lab.policies.replay(draft, contexts=past, caller=owner.caller).groups()
    with owner.lab.simulations.of(draft, contexts=past, caller=owner.caller) as simulation:
        decided = simulation.decide().rows()

    assert {(group.matched, group.count) for group in groups} == {(("lunch",), 1), ((), 1)}
    assert {(tuple(row["matched_rules"]), row["count"]) for row in decided} == {(("lunch",), 1), ((), 1)}


def test_replay_knows_columns_of_exported_decisions() -> None:
    assert set(DECISIONS.columns) == DECISION_COLUMNS


def test_retyped_attribute_hides_no_decision(world: World) -> None:
    """What today's attribute would not take is missing, as it is to a policy; in each part, and across them."""
    owner = world.owner
    for kind, value in (("number", 1.5), ("text", "large"), ("boolean", True), ("text", "small")):
        world.lab.policy_attributes.replace([{"path": "size", "type": kind}], caller=owner.caller)
        owner.decide(size=value)
        if kind == "text":
            world.lab.lake.export()

    rows = world.lab.lake(owner.caller).decisions.sql("select size from this order by seq").fetchall()
    assert rows == [(None,), ("large",), (None,), ("small",)]
    world.lab.lake.rebuild()
    assert world.lab.lake(owner.caller).decisions.sql("select size from this order by seq").fetchall() == rows


def test_ids_are_texts_and_times_are_utc(world: World) -> None:
    for number in range(12):
        world.act(number)
    world.lab.lake.export()

    types = {str(field.type) for path in world.lab.lake.folder.rglob("*.parquet") for field in pq.read_schema(path)}
    assert {"string", "timestamp[us, tz=UTC]"} <= types
    assert types <= {"string", "int64", "double", "bool", "timestamp[us, tz=UTC]", "list<element: string>"}
    frame = world.lab.lake(world.owner.caller).attestations.df()
    assert str(frame["created_at"].dt.tz) == "UTC"
    assert frame["created_at"].max() <= world.clock.now()


def test_parts_are_sorted_by_tenant_and_time(world: World) -> None:
    for number in range(24):
        world.act(number)
    world.lab.lake.export()

    for path in world.lab.lake.folder.joinpath("attestations").iterdir():
        rows = pq.read_table(path).select(["tenant_id", "created_at"]).to_pylist()
        assert rows == sorted(rows, key=lambda row: (row["tenant_id"], row["created_at"]))
