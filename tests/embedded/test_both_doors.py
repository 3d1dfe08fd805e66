"""Both doors to one installation, in process and over HTTP: the same verbs, types, results and errors."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from datetime import UTC
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import attestlab
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError
from attestlab.orgs.rules import Plan
from support.lab_walk import CLAIMS, describe, walk_through
from support.server_process import ServerProcess


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    """A lab through each door to one installation, each for a new tenant."""
    installation = running.open_lab()
    made = [installation.orgs.create_tenant(name, plan=Plan.ENTERPRISE) for name in ("Inside", "Outside")]
    installation.close()
    with (
        attestlab.open(running.database_url, data=running.data) as lab,
        attestlab.connect(running.url, made[1].api_key) as outside,
    ):
        yield {"in process": lab.as_("inside"), "over HTTP": outside}


DRAFT = {
    "name": "Old keys",
    "category": "MINT",
    "target_type": "TENANT_DEFAULT",
    "default_effect": "ALLOW",
    "rules": [
        {"id": "old", "effect": "DENY", "priority": 1, "when": {"attr": "key.age_days", "op": "gt", "value": 365}}
    ],
}

FAILURES: dict[str, Callable[[Lab], object]] = {
    "unknown attestation": lambda lab: lab.attestations["0193b5a0-7f3c-7abc-8def-0123456789ab"],
    "unknown schema": lambda lab: lab.mint(issuer=lab.issuers.create("X", "x.example"), schema="no", claims=CLAIMS),
    "unknown filter": lambda lab: list(lab.attestations.list(colour="red")),
    "unknown policy": lambda lab: lab.policies["no such policy"],
    "bad policy": lambda lab: lab.policies.create({"name": "x"}),
    "another tenant": lambda lab: lab.as_("0193b5a0-7f3c-7abc-8def-0123456789ab").me(),
    "list of requests needs a person": lambda lab: lab.issuers.requests(),
    "contexts of no kind": lambda lab: lab.policies.replay(DRAFT, 7),  # type: ignore[arg-type]  # a mistake
    "unknown event type": lambda lab: lab.webhooks.create("https://receiver.invalid/", ["attestation.creatd"]),
    "private receiver": lambda lab: lab.webhooks.create("https://127.0.0.1/", "key.*"),
    "unknown endpoint": lambda lab: lab.webhooks["no such endpoint"],
    "needs a person": lambda lab: lab.policies.archive("0193b5a0-7f3c-7abc-8def-0123456789ab"),
}


def test_both_doors_lead_to_the_same_results(doors: dict[str, Lab], tmp_path: Path) -> None:
    inside, outside = ([describe(each) for each in walk_through(lab, door, tmp_path)] for door, lab in doors.items())

    assert len(inside) > 40
    for met_inside, met_outside in zip(inside, outside, strict=True):
        assert met_inside == met_outside


@pytest.mark.parametrize("failure", FAILURES)
def test_both_doors_raise_the_same_error(doors: dict[str, Lab], failure: str) -> None:
    raised = []
    for lab in doors.values():
        with pytest.raises(AttestLabError) as caught:
            FAILURES[failure](lab)
        raised.append(caught.value)

    inside, outside = raised
    if failure == "another tenant":  # in process it is looked for, over HTTP the key decides
        assert {inside.code, outside.code} == {"NOT_FOUND", "PERMISSION_DENIED"}
        return
    assert describe(inside) == describe(outside)
    assert "\n" not in inside.message


def test_both_doors_have_one_public_surface(doors: dict[str, Lab]) -> None:
    inside, outside = doors.values()

    assert dir(inside) == dir(outside)
    nouns = [name for name in dir(inside) if not callable(getattr(inside, name))]
    assert {"attestations", "audit", "cases", "challenges", "decisions", "issuers", "lists", "log", "people"} <= {
        *nouns
    }
    assert "webhooks" in nouns
    assert [name for name in nouns if dir(getattr(inside, name)) != dir(getattr(outside, name))] == []


def test_both_doors_see_the_same_installation(doors: dict[str, Lab]) -> None:
    outside = doors["over HTTP"]
    inside = doors["in process"].as_("Outside")
    issuer = inside.issuers.create("Seen by both", "seen.example")

    assert outside.issuers["seen by both"].to_dict() == issuer.to_dict()
    assert inside.me().tenant_id == outside.me().tenant_id
    assert inside.log.head().tree_size == outside.log.head().tree_size


def test_both_doors_know_the_time_of_the_service(doors: dict[str, Lab]) -> None:
    """Over HTTP it comes in whole seconds."""
    inside, outside = doors.values()
    times = [inside.now().replace(microsecond=0), outside.now(), inside.now()]

    assert times == sorted(times)
    assert {each.tzinfo for each in times} == {UTC}


def test_both_doors_replay_contexts_of_ones_own(doors: dict[str, Lab], tmp_path: Path) -> None:
    contexts = pa.table({"key.age_days": [3.0, 400.0, None, -5.0], "more": ["a", "b", "c", "out of its domain"]})
    young = {"id": "young", "effect": "ALLOW", "priority": 1, "when": {"attr": "key.age_days", "op": "lt", "value": 10}}
    pq.write_table(contexts, tmp_path / "contexts.parquet")
    for lab in doors.values():
        stored = lab.policies.create(DRAFT)
        draft = {**stored.document, "default_effect": "DENY", "rules": [young]}

        assert lab.policies.replay(stored, contexts).df()["allowed"].to_list() == [True, False, True, True]
        assert lab.policies.replay(stored.name, tmp_path / "contexts.parquet").allowed_count == 3
        groups = lab.policies.replay(draft, contexts.to_pandas()).groups
        found = [(each.allowed, each.matched_rules, each.count) for each in groups]
        assert found == [(False, [], 3), (True, ["young"], 1)]
        lab.policies.evaluate("MINT", {"key.age_days": 3})
        assert len(lab.policies.replay(stored, lab.decisions)) == len(lab.decisions)


def test_both_doors_decide_one_context_without_recording_it(doors: dict[str, Lab]) -> None:
    young = {"id": "young", "effect": "ALLOW", "priority": 1, "when": {"attr": "key.age_days", "op": "lt", "value": 10}}
    for lab in doors.values():
        stored = lab.policies.create(DRAFT)
        draft = {**stored.document, "default_effect": "DENY", "rules": [young]}
        before = len(lab.decisions)

        decided = lab.policies.decide(draft, {"key": {"age_days": 30}, "shoe_size": 4})

        assert (decided.decision, decided.matched_rules, decided.allowed) == ("DENY", [], False)
        assert [(each.path, each.after) for each in decided.counterfactual.changes or []] == [("key.age_days", 9.0)]
        assert [each.code for each in decided.diagnostics] == ["unknown_attribute"]
        assert [(each.id, each.matched, each.when["truth"]) for each in decided.rules] == [("young", False, "false")]
        assert lab.policies.decide(draft, {}).missing == ["key.age_days"]
        assert lab.policies.decide(draft, {"key.age_days": 9}).matched_rule == "young"
        assert lab.policies.decide(stored, {"key.age_days": 30}).rules[0].when["attr"] == "key.age_days"
        assert len(lab.decisions) == before


def test_a_version_has_its_document(doors: dict[str, Lab]) -> None:
    lab = doors["over HTTP"]
    stored = lab.policies.create(DRAFT)
    lab.policies.update(stored, stored.document | {"default_effect": "DENY"})

    documents = {each.version: each.read_document() for each in lab.policies.get(stored.id).versions()}

    assert documents == {1: stored.document, 2: stored.document | {"default_effect": "DENY"}}


def test_the_relation_of_a_replay_outlives_the_replay(doors: dict[str, Lab]) -> None:
    """A replay owns the temporary file of its contexts, and is gone when a chain of calls continues."""
    contexts = pa.table({"key.age_days": [3.0, 400.0]})
    lab = doors["in process"]

    decided = lab.policies.replay(lab.policies.create(DRAFT), contexts).rel()
    gc.collect()

    assert decided.filter("not allowed").count("*").fetchall() == [(1,)]


def test_dir_lists_no_key_and_no_plumbing(doors: dict[str, Lab]) -> None:
    lab = doors["in process"]
    issuer = lab.issuers.create("Listed", "listed.example")
    attestation = lab.mint(issuer=issuer, schema="degree", claims=CLAIMS)
    listed = {*dir(lab), *dir(lab.issuers), *dir(issuer), *dir(attestation)}

    assert [name for name in listed if name.startswith(("_", "model_")) or name in {"private_key", "seal"}] == []
    assert {"verify", "bundle", "revoke", "url", "schema"} <= set(dir(attestation))
