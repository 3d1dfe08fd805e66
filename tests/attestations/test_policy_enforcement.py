"""Policies that are switched on decide whether something is minted, verifies, or is handed out; over real HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.attestations.minting import MintRequest
from attestlab.audit.store import events
from attestlab.core.clock import FixedClock
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import PermissionDenied
from attestlab.installation import Installation
from attestlab.orgs import usage
from attestlab.orgs.rules import Caller, Plan
from attestlab.orgs.service import TenantCreated
from attestlab.policy.language.document import Document
from support.attestations import make_mint_body
from support.governance import GovernanceScenario, open_governance_scenario
from support.in_process_server import wait_until
from support.issuers import register_issuer
from support.orgs import TenantClients
from support.outbox import read_events_of_type
from support.policies.activation import activate_policy, create_active_policy, read_decisions, simulate_policy
from support.policies.documents import make_condition, make_document, make_rule

pytestmark = pytest.mark.one_world

SELF_SIGNED = make_condition("trust_tier", "eq", "SELF_SIGNED")
UNVERIFIED_DENIED = make_rule("unverified", "DENY", SELF_SIGNED, reason="Only verified issuers.")
HIGH_RISK = make_rule("high-risk", "DENY", make_condition("risk_rating", "in", ["HIGH", "CRITICAL"]))


def denying(category: str = "MINT", *rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return make_document(*(rules or (UNVERIFIED_DENIED,)), category=category, default_effect="ALLOW", **more)


class EnforcementScenario:
    """A tenant with an issuer that is SELF_SIGNED, as new ones are; another tenant; and the operator."""

    def __init__(self, governance: GovernanceScenario, operator: Caller, clock: FixedClock) -> None:
        self.governance, self.operator, self.clock = governance, operator, clock
        self.lab, self.key, self.issuer = governance.lab, governance.key, governance.issuer
        self.tenant = self.lab.orgs.service_caller(governance.tenant_clients.tenant.tenant_id)

    @cached_property
    def other(self) -> TenantCreated:
        return self.lab.orgs.create_tenant("Verifier", plan=Plan.ENTERPRISE)

    @cached_property
    def others_key(self) -> httpx.Client:
        return self.governance.tenant_clients.with_key(tenant=self.other)

    @property
    def own(self) -> dict[str, Any]:
        """Where a policy of the issuer's own is bound."""
        return {"target_type": "ISSUER", "target_id": self.issuer["id"]}

    def minted(self, **changes: Any) -> str:
        answer = self.governance.minted(**changes)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def post(self, path: str, **body: Any) -> httpx.Response:
        return self.key.post(path, json=body, headers={"Idempotency-Key": str(uuid4())})

    def listed(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.key.get("/v1/attestations").json()["items"]
        return items

    def verified(self, attestation_id: str, client: httpx.Client | None = None, **more: Any) -> httpx.Response:
        return (client or self.key).post("/v1/verify", json={"attestation_id": attestation_id, **more})

    def list_decisions(self, tenant_id: UUID | None = None) -> list[dict[str, Any]]:
        return read_decisions(self.lab, tenant_id or self.tenant.tenant_id)

    def actors(self, tenant_id: UUID | None = None) -> list[str]:
        """By what kind of actor each decision was had, oldest first."""
        query = select(events.c.actor_type).where(
            events.c.resource_type == "policy_decision", events.c.tenant_id == (tenant_id or self.tenant.tenant_id)
        )
        with self.lab.storage.read() as connection:
            return list(connection.scalars(query.order_by(events.c.seq)))

    def profile(self, *rules: dict[str, Any]) -> str:
        """A verification profile of the other tenant's, with a policy."""
        made = self.others_key.post("/v1/verification-profiles", json={"name": "What we accept"}).json()
        bound = {"target_type": "VERIFICATION_PROFILE", "target_id": made["id"]}
        create_active_policy(
            self.lab, self.lab.orgs.service_caller(self.other.tenant_id), denying("VERIFY", *rules, **bound)
        )
        return str(made["id"])


@pytest.fixture
def scenario(lab: Installation, caller: Caller, clock: FixedClock) -> Iterator[EnforcementScenario]:
    with open_governance_scenario(lab) as governance:
        made = EnforcementScenario(governance, caller, clock)
        yield made
        if "others_key" in vars(made):
            made.others_key.close()


# Minting


def by_the_issuers_own(scenario: EnforcementScenario) -> None:
    create_active_policy(scenario.lab, scenario.tenant, denying(**scenario.own))


def by_the_tenants_default(scenario: EnforcementScenario) -> None:
    create_active_policy(scenario.lab, scenario.tenant, denying())


def by_the_platforms(scenario: EnforcementScenario) -> None:
    create_active_policy(scenario.lab, scenario.operator, denying())


WHOSE = [by_the_issuers_own, by_the_tenants_default, by_the_platforms]


@pytest.mark.own_world
@pytest.mark.parametrize("denies", WHOSE, ids=[each.__name__ for each in WHOSE])
def test_denied_mint_is_a_403_with_reasons_and_stores_only_the_decision(
    scenario: EnforcementScenario, denies: Callable[[EnforcementScenario], None]
) -> None:
    denies(scenario)
    scenario.clock.advance(timedelta(days=3, hours=5))
    before = scenario.key.get("/v1/log/head").json()["tree_size"]

    answer = scenario.governance.minted()

    error = answer.json()
    details = error["details"]
    assert (answer.status_code, error["code"], details["reason"]) == (403, "PERMISSION_DENIED", "policy_denied")
    assert (details["matched_rules"], details["reasons"]) == (["unverified"], ["Only verified issuers."])
    assert (details["matched_policy"], details["matched_rule"]) == ("p", "unverified")
    assert (scenario.listed(), scenario.key.get("/v1/log/head").json()["tree_size"]) == ([], before)
    why = scenario.key.get(f"/v1/policies/decisions/{details['decision_id']}").json()
    assert (why["allowed"], why["reproduced"], why["action"]) == (False, True, "MINT")
    assert why["context"] == {
        "trust_tier": "SELF_SIGNED",
        "status": "ACTIVE",
        "risk_rating": "LOW",
        "key.age_days": 3,
        "key.status": "active",
    }
    found = scenario.key.get("/v1/audit/events", params={"resource_type": "policy_decision"}).json()["items"]
    assert [(each["resource_id"], each["actor_type"]) for each in found] == [(details["decision_id"], "API_KEY")]
    assert found[0]["metadata"]["input_sha256"] == why["input_sha256"]


def test_denial_names_the_denying_default_and_not_a_matching_rule_elsewhere(scenario: EnforcementScenario) -> None:
    verified = make_rule("a-allow", "ALLOW", make_condition("trust_tier", "eq", "VERIFIED"))
    closed = create_active_policy(scenario.lab, scenario.tenant, make_document(verified, name="A", **scenario.own))
    create_active_policy(
        scenario.lab,
        scenario.tenant,
        make_document(make_rule("b-allow", "ALLOW", SELF_SIGNED), name="B", **scenario.own),
    )

    details = scenario.governance.minted().json()["details"]
    why = scenario.key.get(f"/v1/policies/decisions/{details['decision_id']}").json()
    about = {**scenario.own, "action": "MINT", "context": why["context"]}
    asked = scenario.key.post("/v1/policies/evaluate", json=about).json()

    for each in (details, why, asked):
        assert (each["matched_policy"], each["matched_rule"], each["matched_rules"]) == ("A", None, ["b-allow"])
    assert [each["policy_id"] for each in why["policies"] if each["deciding"]] == [str(closed)]
    assert why["reason"] == asked["reason"] == "No rule of the policy A matched, and its default is DENY."


def test_allowed_mint_records_its_decision_in_its_transaction(scenario: EnforcementScenario) -> None:
    create_active_policy(scenario.lab, scenario.tenant, denying("MINT", HIGH_RISK))
    assert scenario.list_decisions() == []

    scenario.minted()

    assert [(row["allowed"], row["target_id"]) for row in scenario.list_decisions()] == [
        (True, UUID(scenario.issuer["id"]))
    ]
    assert scenario.actors() == ["API_KEY"]


def test_failed_mint_rolls_back_its_decision(scenario: EnforcementScenario) -> None:
    """
    What policies allowed and a limit refused did not happen; its decision was never heard.
    """
    create_active_policy(scenario.lab, scenario.tenant, denying("MINT", HIGH_RISK))
    scenario.lab.orgs.set_plan(scenario.tenant.tenant_id, Plan.FREE, {"attestations_per_day": 0})

    assert scenario.governance.minted().status_code == 429
    assert scenario.list_decisions() == []


def test_without_applicable_policies_no_decision_is_recorded(scenario: EnforcementScenario) -> None:
    elsewhere = register_issuer(scenario.key)
    create_active_policy(scenario.lab, scenario.tenant, denying(target_type="ISSUER", target_id=elsewhere["id"]))
    create_active_policy(scenario.lab, scenario.tenant, denying("BUNDLE_EXPORT"))

    scenario.verified(scenario.minted())

    assert scenario.list_decisions() == []


def test_monitoring_policy_never_denies_and_is_shown_in_the_decision(scenario: EnforcementScenario) -> None:
    monitoring = create_active_policy(scenario.lab, scenario.tenant, denying(mode="MONITOR", name="monitoring"))
    watched = scenario.lab.policies.create(Document.read(denying(name="in shadow")), caller=scenario.tenant)
    scenario.lab.policies.shadow(watched.id, caller=scenario.tenant)

    scenario.minted()

    (row,) = scenario.list_decisions()
    why = scenario.key.get(f"/v1/policies/decisions/{row['id']}").json()
    assert (why["allowed"], why["matched_rules"], why["reproduced"]) == (True, [], True)
    assert {(each["policy_id"], each["counts"], *each["matched_rules"]) for each in why["policies"]} == {
        (str(monitoring), False, "unverified"),
        (str(watched.id), False, "unverified"),
    }


def test_each_batch_item_is_decided_separately(scenario: EnforcementScenario) -> None:
    free = register_issuer(scenario.key)
    create_active_policy(scenario.lab, scenario.tenant, denying(**scenario.own))
    create_active_policy(scenario.lab, scenario.tenant, denying("MINT", HIGH_RISK, name="all"))
    items = [make_mint_body(each) for each in (scenario.issuer, free, scenario.issuer)]

    answer = scenario.post("/v1/attestations/batch", items=items).json()["items"]

    assert [each["http_status"] for each in answer] == [403, 201, 403]
    assert answer[2]["error"]["details"]["matched_rules"] == ["unverified"]
    assert [row["allowed"] for row in scenario.list_decisions()].count(False) == 2
    assert len(scenario.list_decisions()) == 3
    assert [each["id"] for each in scenario.listed()] == [answer[1]["attestation"]["id"]]


def test_denied_supersession_leaves_the_old_attestation_valid(scenario: EnforcementScenario) -> None:
    old = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying())
    body = {name: value for name, value in make_mint_body(scenario.issuer).items() if name != "issuer_id"}

    answer = scenario.post(f"/v1/attestations/{old}/supersede", **body)

    assert (answer.status_code, answer.json()["details"]["reason"]) == (403, "policy_denied")
    assert [(each["id"], each["status"]) for each in scenario.listed()] == [(old, "VALID")]


def test_denial_is_not_stored_under_the_idempotency_key(scenario: EnforcementScenario) -> None:
    """
    Once the policy is gone the same request goes through.
    """
    policy = create_active_policy(scenario.lab, scenario.tenant, denying())
    asked = {"json": make_mint_body(scenario.issuer), "headers": {"Idempotency-Key": "the-same"}}
    assert scenario.key.post("/v1/attestations/mint", **asked).status_code == 403  # type: ignore[arg-type]
    scenario.lab.policies.archive(policy, caller=scenario.tenant)

    assert scenario.key.post("/v1/attestations/mint", **asked).status_code == 201  # type: ignore[arg-type]


def test_policy_activated_in_the_same_group_commit_applies_to_later_mints(
    lab: Installation, scenario: EnforcementScenario
) -> None:
    named: dict[str, Any] = {"issuer_id": UUID(scenario.issuer["id"]), "kid": scenario.issuer["keys"][0]["kid"]}
    request = MintRequest(**named, schema="degree", claims={"student_name": "Ada"})
    drafts = [lab.attestations.prepare(request, caller=scenario.tenant) for _ in range(2)]
    written = lab.policies.create(Document.read(denying()), caller=scenario.tenant)
    digest = simulate_policy(lab, scenario.tenant, written.id)
    examined = lab.policies.examine(written.id, caller=scenario.tenant)

    with lab.storage.write() as tx:
        lab.attestations.issue_or_raise(drafts[0], tx=tx)
        second = replace(scenario.tenant, actor_id="the-second-person")
        lab.policies.activate(written.id, examined, simulation_digest=digest, caller=second, tx=tx)
        assert isinstance(lab.attestations.issue(drafts[1], tx=tx), PermissionDenied)

    assert [row["allowed"] for row in scenario.list_decisions()] == [False]


def test_activated_policy_applies_to_all_later_mints(scenario: EnforcementScenario) -> None:
    """
    Mints continue in four threads; by the trail, which is in the order of the commits, none comes after the activation.
    """
    written = scenario.lab.policies.create(Document.read(denying()), caller=scenario.tenant)
    over, answers = threading.Event(), []

    def mints() -> None:
        while not over.is_set():
            answers.append(scenario.governance.minted().status_code)

    threads = [threading.Thread(target=mints) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(answers) < 12:
        over.wait(0.01)
    activate_policy(scenario.lab, scenario.tenant, written.id)
    late = scenario.governance.minted().status_code
    while answers.count(403) < 4:
        over.wait(0.01)
    over.set()
    for thread in threads:
        thread.join()

    assert late == 403
    query = select(events.c.action).where(events.c.tenant_id == scenario.tenant.tenant_id).order_by(events.c.seq)
    with scenario.lab.storage.read() as connection:
        actions = list(connection.scalars(query))
    assert actions.count("attestation.mint") == answers.count(201)
    assert "attestation.mint" not in actions[actions.index("policy.activate") :]


def test_failure_while_recording_a_denial_affects_nothing_else(scenario: EnforcementScenario) -> None:
    made = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying())

    def fails(_tx: Transaction) -> None:
        raise OSError("No space left on device")

    scenario.lab.storage.record_hooks.append(fails)
    assert scenario.governance.minted().status_code == 503
    scenario.lab.storage.record_hooks.remove(fails)

    assert scenario.list_decisions() == []
    assert scenario.governance.minted().status_code == 403
    assert [row["allowed"] for row in scenario.list_decisions()] == [False]
    assert [each["id"] for each in scenario.listed()] == [made]


# Verifying


def test_denied_verification_is_invalid_and_the_issuers_tenant_sees_why(scenario: EnforcementScenario) -> None:
    made = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying("VERIFY"))
    with scenario.governance.tenant_clients.anonymous() as anybody:
        found = scenario.verified(made, anybody).json()

    assert (found["verdict"], found["reasons"][-1]) == ("INVALID", "policy_denied")
    assert "unverified" not in json.dumps(found)
    (row,) = scenario.list_decisions()
    why = scenario.key.get(f"/v1/policies/decisions/{row['id']}").json()
    assert (why["action"], why["allowed"], why["reproduced"]) == ("VERIFY", False, True)
    assert why["matched_rules"] == ["unverified"]
    assert scenario.actors() == ["SERVICE"]
    wait_until(
        lambda: [event["verdict"] for event in read_events_of_type(scenario.lab, "verification.failed")], ["INVALID"]
    )


def test_verification_policies_see_the_issuers_current_attributes(scenario: EnforcementScenario) -> None:
    made = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying("VERIFY", HIGH_RISK))
    assert scenario.verified(made).json()["reasons"][-1] == "policy_ok"

    scenario.governance.decide("CHANGE_RISK_RATING", "reviewer", new_risk_rating="HIGH")

    assert scenario.verified(made).json()["reasons"][-1] == "policy_denied"
    assert [row["allowed"] for row in scenario.list_decisions()] == [True, False]
    assert [json.loads(row["input"])["context"]["risk_rating"] for row in scenario.list_decisions()] == ["LOW", "HIGH"]


def test_policies_are_evaluated_last_and_only_if_all_other_steps_pass(scenario: EnforcementScenario) -> None:
    made = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying("VERIFY"))
    scenario.post(f"/v1/attestations/{made}/revoke", reason="typo")

    assert scenario.verified(made).json()["verdict"] == "REVOKED"
    assert scenario.list_decisions() == []


def test_public_page_and_export_enforce_policies(scenario: EnforcementScenario) -> None:
    answer = scenario.governance.minted().json()
    create_active_policy(scenario.lab, scenario.tenant, denying("VERIFY"))
    with scenario.governance.tenant_clients.anonymous() as anybody:
        looked = anybody.get(f"/a/{answer['id']}", headers={"Accept": "application/json"}).json()
        shown = anybody.get(f"/a/{answer['id']}")

    exported = scenario.key.get(f"/v1/attestations/{answer['id']}/sd-jwt")

    assert (looked["verdict"], looked["reasons"][-1]) == ("INVALID", "policy_denied")
    assert shown.status_code == 200
    assert (exported.status_code, exported.json()["details"]["verdict"]) == (409, "INVALID")
    assert [row["allowed"] for row in scenario.list_decisions()] == [False] * 3
    require_nothing_was_metered(scenario, answer["id"])


def require_nothing_was_metered(scenario: EnforcementScenario, attestation_id: str) -> None:
    """What was metered before is written before, or together with, one verification more."""
    scenario.verified(attestation_id)
    wait_until(lambda: _verifications_used(scenario) > 0, True)
    assert _verifications_used(scenario) == 1


def _verifications_used(scenario: EnforcementScenario) -> int:
    with scenario.lab.storage.read() as connection:
        day = scenario.clock.now().date()
        return usage.get_used(connection, scenario.tenant.tenant_id, usage.VERIFICATIONS, day)


# Verification profiles


def test_profile_policies_apply_and_each_tenant_records_its_decision(scenario: EnforcementScenario) -> None:
    made, profile = scenario.minted(), scenario.profile(UNVERIFIED_DENIED)
    create_active_policy(scenario.lab, scenario.tenant, denying("VERIFY", HIGH_RISK))

    plain = scenario.verified(made, scenario.others_key).json()
    named = scenario.verified(made, scenario.others_key, verification_profile_id=profile).json()

    assert (plain["verdict"], plain["reasons"][-1]) == ("VALID", "policy_ok")
    assert (named["verdict"], named["reasons"][-1]) == ("INVALID", "policy_denied")
    assert [(row["target_type"], row["allowed"]) for row in scenario.list_decisions()] == [("ISSUER", True)] * 2
    (own,) = scenario.list_decisions(scenario.other.tenant_id)
    assert (own["target_type"], own["target_id"], own["allowed"]) == ("VERIFICATION_PROFILE", UUID(profile), False)
    assert (scenario.actors(), scenario.actors(scenario.other.tenant_id)) == (["SERVICE"] * 2, ["API_KEY"])
    assert scenario.others_key.get(f"/v1/policies/decisions/{own['id']}").json()["reproduced"] is True
    assert scenario.others_key.get(f"/v1/policies/decisions/{scenario.list_decisions()[0]['id']}").status_code == 404
    assert scenario.key.get(f"/v1/policies/decisions/{own['id']}").status_code == 404


def test_issuer_and_profile_policies_must_both_allow(scenario: EnforcementScenario) -> None:
    made, profile = scenario.minted(), scenario.profile(HIGH_RISK)
    assert scenario.verified(made, scenario.others_key, verification_profile_id=profile).json()["verdict"] == "VALID"

    create_active_policy(scenario.lab, scenario.tenant, denying("VERIFY"))

    assert scenario.verified(made, scenario.others_key, verification_profile_id=profile).json()["verdict"] == "INVALID"


def test_profile_of_another_tenant_is_not_found_and_not_metered(scenario: EnforcementScenario) -> None:
    made, profile = scenario.minted(), scenario.profile(UNVERIFIED_DENIED)
    tenant_clients: TenantClients = scenario.governance.tenant_clients
    same = {"X-Request-Id": "the-same"}
    with tenant_clients.anonymous() as anonymous, tenant_clients.anonymous() as liar:
        liar.headers["X-API-Key"] = "al_live_" + "0" * 32
        for client in (scenario.key, anonymous, liar):
            texts = []
            for named in (profile, str(uuid4())):
                body = {"attestation_id": made, "verification_profile_id": named}
                answer = client.post("/v1/verify", json=body, headers=same)
                assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
                texts.append(answer.text.replace(named, "the id"))
            assert texts[0] == texts[1]
    assert scenario.list_decisions(scenario.other.tenant_id) == []
    require_nothing_was_metered(scenario, made)


# Handing out bundles


def test_denied_bundle_is_a_403_and_its_decision_is_recorded(scenario: EnforcementScenario) -> None:
    made = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying("BUNDLE_EXPORT"))

    answer = scenario.key.get(f"/v1/attestations/{made}/proof-bundle")

    details = answer.json()["details"]
    assert (answer.status_code, details["reason"], details["matched_rules"]) == (403, "policy_denied", ["unverified"])
    assert scenario.key.get(f"/v1/policies/decisions/{details['decision_id']}").json()["reproduced"] is True
    assert scenario.verified(made).json()["verdict"] == "VALID"


def test_public_page_denies_the_bundle_and_reveals_no_rules(scenario: EnforcementScenario) -> None:
    answer = scenario.governance.minted().json()
    key = answer["share_url"].rpartition("?k=")[2]
    path = f"/a/{answer['id']}/bundle.json?k={key}"
    with scenario.governance.tenant_clients.anonymous() as anybody:
        assert anybody.get(path).status_code == 200
        create_active_policy(scenario.lab, scenario.tenant, denying("BUNDLE_EXPORT"))
        refused = anybody.get(path)

    details = refused.json()["details"]
    assert (refused.status_code, details["reason"]) == (403, "policy_denied")
    assert not details.keys() & {"matched_policy", "matched_rule", "matched_rules", "reasons"}
    assert "unverified" not in refused.text
    assert [row["id"] for row in scenario.list_decisions()] == [details["decision_id"]]
    assert scenario.actors() == ["SERVICE"]


def test_allowed_bundle_records_its_decision(scenario: EnforcementScenario) -> None:
    made = scenario.minted()
    create_active_policy(scenario.lab, scenario.tenant, denying("BUNDLE_EXPORT", HIGH_RISK))

    assert scenario.key.get(f"/v1/attestations/{made}/proof-bundle").status_code == 200
    assert [(row["action"], row["allowed"]) for row in scenario.list_decisions()] == [("BUNDLE_EXPORT", True)]
