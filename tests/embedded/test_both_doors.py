"""Both doors to one installation, in process and over HTTP: the same verbs, types, results and errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import attestlab
from attestlab.client.handles.base import Handle
from attestlab.client.lab import Lab
from attestlab.core.errors import AttestLabError
from attestlab.orgs.rules import Plan
from support.server_process import ServerProcess

DOCUMENT = b"any file will do"
CLAIMS = {"student_name": "Ada Lovelace", "institution": "University of London"}
_VARIABLE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|dec_[0-9A-Z]{26}|\d+")
POLICY = """
name = "Known countries {door}"
category = "MINT"
target_type = "TENANT_DEFAULT"
default_effect = "ALLOW"

[[rules]]
id = "far-away"
effect = "DENY"
priority = 1
when = {{ attr = "jurisdiction", op = "eq", value = "AQ" }}
"""


@pytest.fixture(scope="module")
def doors(running: ServerProcess) -> Iterator[dict[str, Lab]]:
    """A lab through each door to one installation, each for a new tenant of its own."""
    installation = running.open_lab()
    made = [installation.orgs.create_tenant(name, plan=Plan.ENTERPRISE) for name in ("Inside", "Outside")]
    installation.close()
    with (
        attestlab.open(running.database_url, data=running.data) as lab,
        attestlab.connect(running.url, made[1].api_key) as outside,
    ):
        yield {"in process": lab.as_("inside"), "over HTTP": outside}


def walk_through(lab: Lab, door: str, folder: Path) -> Iterator[object]:
    """One walk through the nouns of a lab; what it meets, in order."""
    file = folder / "diploma.pdf"
    file.write_bytes(DOCUMENT)
    issuer = lab.issuers.create(f"Registrar {door}", "registrar.example", jurisdiction="CH")
    yield issuer
    minted = lab.mint(file, issuer=issuer.name, schema="degree", claims=CLAIMS)
    yield minted
    yield lab.mint(issuer=issuer, schema="degree", claims=CLAIMS, subject_reference="s-1")
    yield minted.verify(file=DOCUMENT)
    yield lab.verify(minted, file=b"another")
    yield lab.verify(str(minted.id), file=str(file))
    bundle = minted.bundle()
    yield bundle.verify(file=file)
    yield lab.verify(bundle.save(folder / f"{door}.json"), file=b"another")
    yield lab.attestations[minted.id]
    yield lab.attestations[:2]
    yield list(lab.attestations.list(issuer_id=issuer, status="VALID"))
    yield lab.attestations.mint_many([{"issuer": issuer, "schema": name, "claims": CLAIMS} for name in ("degree", "x")])
    yield lab.attestations.supersede(minted, b"a new file", schema="degree", claims=CLAIMS)
    yield next(lab.attestations.list(issuer_id=issuer.id, status="SUPERSEDED")).verify()
    yield lab.attestations[0].revoke("a test")
    yield issuer.rotate_key()
    yield lab.mint(issuer=issuer, schema="degree", claims=CLAIMS)  # with the new key, though `issuer` is older
    yield lab.issuers.keys(issuer)
    yield lab.issuers.update(issuer, display_name="The registrar")
    yield lab.issuers.blast_radius(issuer)
    yield lab.issuers.compromise_key(lab.issuers[issuer.name].active_key, "a test")
    yield from walk_through_log(lab)
    yield from walk_through_policies(lab, door)
    yield from walk_through_risk(lab, door)
    yield lab.audit[:2]


def walk_through_log(lab: Lab) -> Iterator[object]:
    head = lab.log.head()
    yield head
    yield lab.log[0], lab.log[-1], lab.log[:3], lab.log[2:0:-1]
    yield lab.log.proof(0)
    yield lab.log.consistency(1, head.tree_size)
    yield lab.log.lookup(lab.attestations[0])
    yield lab.log.vkey()
    assert len(list(lab.log)) == len(lab.log)


def walk_through_policies(lab: Lab, door: str) -> Iterator[object]:
    policy = lab.policies.create(POLICY.format(door=door))
    yield policy
    yield policy.shadow()
    yield lab.policies.update(policy, policy.toml())
    yield policy.simulate()
    yield policy.analyze()
    yield policy.versions()
    yield lab.policies[policy.name]
    decision = lab.policies.evaluate("MINT", {"jurisdiction": "AQ"})
    yield decision
    yield decision.explain()
    yield lab.decisions[decision.decision_id]


def walk_through_risk(lab: Lab, door: str) -> Iterator[object]:
    user = f"user:{door}"
    signal = lab.signals.add("gateway", "behavior", 91, user)
    yield signal
    yield lab.signals.add_many(
        [{"source": "a", "signal_type": "b", "score": 1, "entity_type": "ip", "entity_id": "::1"}]
    )
    yield lab.signals.record_event("login.failed.repeated", user)
    yield lab.signals.record_velocity("upload", user)
    yield lab.signals.evaluate_login(door, "failure", ip="192.0.2.1")
    yield lab.signals.entity(signal), lab.signals.graph(user, depth=1), signal.entity()
    yield lab.signals.drift(), lab.signals.sources()
    yield next(lab.cases.list(entity_id=door)).resolve("fraud")
    entry = lab.lists.add("deny", "user", door, reason="a test")
    yield entry, lab.lists[entry.id]
    entry.remove()
    yield lab.challenges.create(door, "a reason that is long enough")


FAILURES: dict[str, Callable[[Lab], object]] = {
    "unknown attestation": lambda lab: lab.attestations["0193b5a0-7f3c-7abc-8def-0123456789ab"],
    "unknown schema": lambda lab: lab.mint(issuer=lab.issuers.create("X", "x.example"), schema="no", claims=CLAIMS),
    "unknown filter": lambda lab: list(lab.attestations.list(colour="red")),
    "unknown policy": lambda lab: lab.policies["no such policy"],
    "bad policy": lambda lab: lab.policies.create({"name": "x"}),
    "another tenant": lambda lab: lab.as_("0193b5a0-7f3c-7abc-8def-0123456789ab").me(),
    "needs a person": lambda lab: lab.policies.archive(lab.policies[0].id),
}


def describe(value: object) -> object:
    """The shape of what a verb returned: types, members and texts, with ids, times and numbers left out."""
    if isinstance(value, list | tuple):
        return [describe(each) for each in value]
    if isinstance(value, AttestLabError):
        return type(value).__name__, value.code, _VARIABLE.sub("#", value.message)
    assert isinstance(value, Handle)
    return type(value).__name__, shape(value.to_dict())


def shape(value: Any) -> object:
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value[:1]]
    return type(value).__name__


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
    assert {"attestations", "audit", "cases", "challenges", "decisions", "issuers", "lists", "log"} <= set(nouns)
    assert [name for name in nouns if dir(getattr(inside, name)) != dir(getattr(outside, name))] == []


def test_both_doors_see_the_same_installation(doors: dict[str, Lab]) -> None:
    outside = doors["over HTTP"]
    inside = doors["in process"].as_("Outside")
    issuer = inside.issuers.create("Seen by both", "seen.example")

    assert outside.issuers["seen by both"].to_dict() == issuer.to_dict()
    assert inside.me().tenant_id == outside.me().tenant_id
    assert inside.log.head().tree_size == outside.log.head().tree_size


def test_dir_lists_no_key_and_no_plumbing(doors: dict[str, Lab]) -> None:
    lab = doors["in process"]
    listed = {*dir(lab), *dir(lab.issuers), *dir(lab.issuers[0]), *dir(lab.attestations[0])}

    assert [name for name in listed if name.startswith(("_", "model_")) or name in {"private_key", "seal"}] == []
    assert {"verify", "bundle", "revoke", "url", "schema"} <= set(dir(lab.attestations[0]))
