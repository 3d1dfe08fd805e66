"""Policies test the recent risk of an issuer, a document or an address; decisions keep what they saw."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from attestlab.attestations.minting import MintRequest
from attestlab.attestations.risk_context import RiskSubjects
from attestlab.core.clock import FixedClock
from attestlab.core.errors import PermissionDenied
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller, Plan
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.language.attributes import RISK_ATTRIBUTES, RISK_ENTITIES
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.risk import recent
from attestlab.risk.recent import RecentRisk
from attestlab.risk.rules import Entity, EntityType, ListName
from attestlab.risk.signals.recording import NewSignal
from attestlab.risk.velocity import record_blocked_address
from support.attestations import make_mint_body
from support.governance import GovernanceScenario, open_governance_scenario
from support.policies.activation import activate_policy, create_active_policy, read_decisions
from support.policies.documents import make_condition, make_document, make_rule
from support.property_tests import examples
from support.risk import add_signal, put_on_list

pytestmark = pytest.mark.one_world

DOCUMENT = "ab" * 32
ADDRESS = "127.0.0.1"  # of the tests' clients
RISKY = [
    make_rule(f"{entity}-at-risk", "DENY", make_condition(f"risk.{entity}.score", "gte", 80))
    for entity in ("issuer", "document", "ip")
]
DENIED = [
    make_rule(f"{entity}-denied", "DENY", make_condition(f"risk.{entity}.deny_listed", "eq", True))
    for entity in ("issuer", "document", "ip")
]


class Watched:
    """A tenant whose policies deny what is risky, and its issuer."""

    def __init__(self, governance: GovernanceScenario, clock: FixedClock) -> None:
        self.governance, self.clock = governance, clock
        self.lab, self.key, self.issuer = governance.lab, governance.key, governance.issuer
        self.caller: Caller = self.lab.orgs.service_caller(governance.tenant_clients.tenant.tenant_id)

    def activate(self, *rules: dict[str, Any], category: str = "MINT", **more: Any) -> UUID:
        return create_active_policy(
            self.lab, self.caller, make_document(*rules, category=category, default_effect="ALLOW", **more)
        )

    def mint(self, **changes: Any) -> Any:
        """The id of the attestation, or the rules that denied it."""
        answer = self.governance.minted(**changes).json()
        return answer["details"]["matched_rules"] if "details" in answer else answer["id"]

    def is_minted(self, **changes: Any) -> bool:
        return self.governance.minted(**changes).status_code == 201

    def signal(self, kind: EntityType, name: str, score: float = 90.0, *, age: timedelta = timedelta()) -> NewSignal:
        return NewSignal("test", "test", float(score), Entity(kind, name), "{}", self.clock.now() - age)

    def request(self, **changes: Any) -> MintRequest:
        claims = {"student_name": "Ada", "institution": "Example", "degree_type": "MSc"}
        kid = self.issuer["keys"][0]["kid"]
        return MintRequest(issuer_id=UUID(self.issuer["id"]), kid=kid, schema="degree", claims=claims, **changes)

    def seen(self) -> dict[str, Any]:
        """The risk that the last decision stored; a new evaluation must give its result."""
        last = read_decisions(self.lab, self.caller.tenant_id)[-1]
        why = self.lab.policy_decisions.explain(last["id"], caller=self.caller)
        assert why.reproduced
        context = self.key.get(f"/v1/policies/decisions/{last['id']}").json()["context"]
        return {path: value for path, value in context.items() if path in RISK_ATTRIBUTES}


@pytest.fixture
def watched(lab: Installation, caller: Caller, clock: FixedClock) -> Iterator[Watched]:
    with open_governance_scenario(lab) as governance:
        yield Watched(governance, clock)


def risk_of(entity: str, score: float | None = None, signals: int = 0, **listed: bool) -> dict[str, Any]:
    """What a decision stores about an entity."""
    stored = {"signals_24h": signals, "allow_listed": False, "deny_listed": False, **listed}
    if score is not None:
        stored["score"] = score
    return {f"risk.{entity}.{name}": value for name, value in stored.items()}


@pytest.mark.both_engines
def test_risk_denies_over_http_until_it_is_old_or_its_entry_removed(watched: Watched) -> None:
    """From a signal to the denial, its explanation, and the mint that is allowed again."""
    key, issuer = watched.key, watched.issuer["id"]
    attestation = watched.mint(document_hash=DOCUMENT)
    watched.activate(*RISKY, *DENIED)
    watched.activate(RISKY[1], category="VERIFY")
    assert watched.is_minted(document_hash=DOCUMENT)
    assert watched.seen() == risk_of("issuer") | risk_of("document") | risk_of("ip")

    add_signal(key, score=91.5, entity_type="issuer", entity_id=issuer)
    add_signal(key, score=20, entity_type="issuer", entity_id=issuer)
    assert watched.mint() == ["issuer-at-risk"]
    assert watched.seen() == risk_of("issuer", 91.5, 2) | risk_of("ip")
    watched.clock.advance(timedelta(hours=24))
    assert watched.is_minted()

    entry = put_on_list(key, "deny", entity_type="ip", entity_id=ADDRESS)
    assert watched.mint() == ["ip-denied"]
    assert watched.seen() == risk_of("issuer") | risk_of("ip", deny_listed=True)
    assert key.delete(f"/v1/risk/lists/{entry['id']}").status_code in (200, 204)
    assert watched.is_minted()

    assert watched.governance.verdict(attestation)["verdict"] == "VALID"
    add_signal(key, score=88, entity_type="document", entity_id=DOCUMENT)
    assert (watched.mint(document_hash=DOCUMENT), watched.is_minted()) == (["document-at-risk"], True)
    assert watched.governance.verdict(attestation)["reasons"][-1] == "policy_denied"
    assert watched.seen() == risk_of("document", 88.0, 1)
    offered = {each["path"]: each for each in key.get("/v1/policies/attributes").json()["items"]}
    assert offered["risk.ip.score"]["domain"] == {"min": 0, "max": 100}


def test_batches_successors_exports_and_pages_see_risk(watched: Watched) -> None:
    old = watched.mint(document_hash=DOCUMENT)
    watched.activate(DENIED[2])
    watched.activate(DENIED[2], category="BUNDLE_EXPORT")
    watched.activate(DENIED[2], category="VERIFY")
    page, bundle, token = (f"/a/{old}", f"/v1/attestations/{old}/proof-bundle", f"/v1/attestations/{old}/sd-jwt")
    assert [watched.key.get(path).status_code for path in (bundle, token)] == [200, 200]
    put_on_list(watched.key, "deny", entity_type="ip", entity_id=ADDRESS)

    item = make_mint_body(watched.issuer)
    fresh = {"Idempotency-Key": str(uuid4())}
    minted = watched.key.post("/v1/attestations/batch", json={"items": [item]}, headers=fresh).json()["items"]
    del item["issuer_id"]
    fresh = {"Idempotency-Key": str(uuid4())}
    successor = watched.key.post(f"/v1/attestations/{old}/supersede", json=item, headers=fresh)

    assert [each["http_status"] for each in minted] == [403]
    assert successor.status_code == 403
    assert watched.key.get(bundle).status_code == 403
    assert watched.key.get(token).status_code != 200
    assert watched.key.get(page, headers={"Accept": "application/json"}).json()["verdict"] == "INVALID"


def test_only_the_tenants_own_signals_and_lists_are_seen(watched: Watched) -> None:
    """A verifier's profile sees what the verifier knows, and the issuer's policies what its tenant knows."""
    other = watched.lab.orgs.create_tenant("Verifier", plan=Plan.ENTERPRISE)
    others = watched.lab.orgs.service_caller(other.tenant_id)
    attestation = watched.mint()
    watched.activate(RISKY[0])
    watched.activate(RISKY[0], category="VERIFY")
    issuer = Entity(EntityType.ISSUER, watched.issuer["id"])
    watched.lab.risk.signals.add(watched.signal(*issuer), caller=others)
    watched.lab.risk.lists.add(ListName.DENY, issuer, reason="theirs", caller=others)

    assert watched.is_minted()
    assert watched.seen() == risk_of("issuer")
    with watched.governance.tenant_clients.with_key(tenant=other) as verifier:
        profile = verifier.post("/v1/verification-profiles", json={"name": "Ours"}).json()["id"]
        target = {"target_type": "VERIFICATION_PROFILE", "target_id": profile}
        document = make_document(RISKY[0], category="VERIFY", default_effect="ALLOW", **target)
        create_active_policy(watched.lab, others, document)
        body = {"attestation_id": attestation, "verification_profile_id": profile}
        assert verifier.post("/v1/verify", json=body).json()["verdict"] == "INVALID"
    assert watched.seen() == risk_of("issuer")  # the issuer's decision about the same verification
    assert watched.governance.verdict(attestation)["verdict"] == "VALID"


def test_decision_sees_what_its_own_unit_of_work_adds_and_removes(watched: Watched) -> None:
    watched.activate(RISKY[0], DENIED[1])
    lab, caller = watched.lab, watched.caller
    document = Entity(EntityType.DOCUMENT, DOCUMENT)

    with lab.storage.write() as tx:
        lab.attestations.mint(watched.request(document_hash=DOCUMENT), caller=caller, tx=tx)
        entry = lab.risk.lists.add(ListName.DENY, document, reason="forged", caller=caller, tx=tx)
        with pytest.raises(PermissionDenied):
            lab.attestations.mint(watched.request(document_hash=DOCUMENT), caller=caller, tx=tx)
        lab.risk.lists.remove(entry.id, caller=caller, tx=tx)
        lab.attestations.mint(watched.request(document_hash=DOCUMENT), caller=caller, tx=tx)
        lab.risk.signals.add(watched.signal(EntityType.ISSUER, watched.issuer["id"]), caller=caller, tx=tx)
        with pytest.raises(PermissionDenied):
            lab.attestations.mint(watched.request(), caller=caller, tx=tx)

    with pytest.raises(PermissionDenied):
        lab.attestations.mint(watched.request(), caller=caller)


def test_signals_of_a_job_that_failed_deny_nothing(watched: Watched) -> None:
    watched.activate(RISKY[0])

    def fail(tx: Any) -> None:
        signal = watched.signal(EntityType.ISSUER, watched.issuer["id"])
        watched.lab.risk.signals.add(signal, caller=watched.caller, tx=tx)
        raise LookupError

    with watched.lab.storage.write() as tx:
        with pytest.raises(LookupError):
            tx.attempt_job(fail)
        watched.lab.attestations.mint(watched.request(), caller=watched.caller, tx=tx)


def test_policies_that_do_not_test_risk_read_none(watched: Watched) -> None:
    """Nothing is read about risk, nor stored; of several entities only the tested ones are read."""
    attestation = watched.mint(document_hash=DOCUMENT)
    watched.activate(make_rule("old", "DENY", make_condition("key.age_days", "gt", 3)))
    watched.activate(make_rule("old", "DENY", make_condition("key.age_days", "gt", 3)), category="VERIFY")
    statements: list[str] = []

    def note(*arguments: Any) -> None:
        statements.append(arguments[2])

    engine = watched.lab.storage.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        watched.mint(document_hash=DOCUMENT)
        watched.governance.verdict(attestation)
        assert not [each for each in statements if "FROM risk_" in each]
        assert watched.seen() == {}
        watched.activate(DENIED[1])
        statements.clear()
        watched.mint(document_hash=DOCUMENT)
    finally:
        event.remove(engine, "before_cursor_execute", note)

    assert len([each for each in statements if "FROM risk_" in each]) == 2  # its signals and its lists
    assert watched.seen() == risk_of("document")


def test_shadow_collects_the_risk_that_a_simulation_needs(watched: Watched) -> None:
    """A report counts the decisions that cannot tell; those of a policy in shadow can."""
    watched.mint()
    watched.mint(document_hash=DOCUMENT)
    document = Document.read(make_document(*RISKY[:2], default_effect="ALLOW"))
    draft = watched.lab.policies.create(document, caller=watched.caller)

    def report() -> dict[str, int]:
        answer = watched.key.post("/v1/policies/simulate", json={"policy_id": str(draft.id)}).json()
        assert answer["self_check"]["unexpected_flips"] == 0
        return {each["entity"]: each["decisions"] for each in answer["without_risk"]}

    assert report() == {"issuer": 2, "document": 2}
    watched.lab.policies.shadow(draft.id, caller=watched.caller)
    watched.mint()
    watched.mint(document_hash=DOCUMENT)
    assert report() == {"issuer": 2, "document": 3}


def test_replaced_signals_and_those_beyond_the_newest_do_not_count(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.activate(RISKY[0])
    issuer = watched.issuer["id"]
    first = watched.lab.risk.signals.add(watched.signal(EntityType.ISSUER, issuer, 99), caller=watched.caller)
    mild = watched.signal(EntityType.ISSUER, issuer, 10)
    watched.lab.risk.signals.add(mild._replace(replaces=first.id), caller=watched.caller)
    assert watched.is_minted()
    assert watched.seen() == risk_of("issuer", 10.0, 1)

    watched.lab.risk.signals.add_many([mild] * 3, caller=watched.caller)
    monkeypatch.setattr(recent, "MAX_RECENT_SIGNALS", 2)
    watched.mint()
    assert watched.seen() == risk_of("issuer", 10.0, 2)


def test_address_is_not_stored_and_its_ipv6_network_is_seen(watched: Watched) -> None:
    watched.activate(RISKY[2], DENIED[2])
    with watched.lab.storage.write() as tx:
        record_blocked_address(tx, watched.caller.tenant_id, "2001:db8:1:2::7", at=watched.clock.now())
    watched.lab.risk.signals.add(watched.signal(EntityType.IP, "2001:db8:1:2::9", 99), caller=watched.caller)
    neighbour = watched.request(client_address="2001:DB8:1:2:0:0:0:8")

    watched.lab.attestations.mint(neighbour, caller=watched.caller)
    assert watched.seen() == risk_of("ip", 70.0, 1)
    with pytest.raises(PermissionDenied):
        watched.lab.attestations.mint(watched.request(client_address="2001:db8:1:2::9"), caller=watched.caller)
    assert watched.seen() == risk_of("ip", 99.0, 2)
    watched.lab.attestations.mint(watched.request(client_address="a socket"), caller=watched.caller)
    assert watched.seen() == {}
    assert "2001" not in repr(neighbour) + repr(read_decisions(watched.lab, watched.caller.tenant_id))


SCORES = st.sampled_from([None, 0.0, 33.4999, 33.5, 61.5385, 79.9999, 80.0, 100.0])
RISKS = st.tuples(SCORES, st.sampled_from([0, 1, 500, 501, 1_000]), st.booleans(), st.booleans())


@pytest.mark.more_in_soak
def test_every_decision_about_risk_is_reproduced(watched: Watched) -> None:
    """One by one in Python, and all together in SQL, whatever was known."""
    rules = [*RISKY, *DENIED, make_rule("quiet", "ALLOW", make_condition("risk.issuer.score", "lt", 33.5), 9)]
    rules.append(make_rule("many", "DENY", make_condition("risk.ip.signals_24h", "gt", 500), 5))
    policy = make_document(*rules, default_effect="DENY")
    made = watched.lab.policies.create(Document.read(policy), caller=watched.caller)
    activate_policy(watched.lab, watched.caller, made.id)
    query = PolicyQuery(Category.MINT, TargetType.ISSUER, UUID(watched.issuer["id"]))
    subjects = RiskSubjects(UUID(watched.issuer["id"]), DOCUMENT, ADDRESS)
    decisions = watched.lab.policy_decisions

    @settings(max_examples=examples(25, many=300))
    @given(known=st.tuples(RISKS, RISKS, RISKS), at_hand=st.booleans())
    def check(known: tuple[tuple[Any, ...], ...], at_hand: bool) -> None:
        by_kind = {kind: RecentRisk(*risk) for kind, risk in zip(RISK_ENTITIES, known, strict=True)}
        asked = subjects if at_hand else RiskSubjects(subjects.issuer_id)
        pending = decisions.evaluate(
            query,
            {"trust_tier": "BASIC"},
            tenant_id=watched.caller.tenant_id,
            look_up_risk=lambda tenant, kinds: asked.look_up(lambda _, named: by_kind[named[0].type], tenant, kinds),
        )
        assert pending is not None
        row = decisions.record(pending, caller=watched.caller).row
        why = decisions.explain(row.id, caller=watched.caller)
        assert (why.reproduced, why.decision.allowed) == (True, row.allowed)
        if known[0][0] is None:
            assert not row.allowed  # absence never grants

    check()
    with watched.lab.simulations.of(made.id, caller=watched.caller) as simulation:
        checked = simulation.self_check()
    assert checked.decisions >= 25
    assert (checked.unexpected_flips, checked.retyped) == (0, 0)
