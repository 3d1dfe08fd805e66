"""Policies over real HTTP, on either database: created, shadowed, evaluated, explained, activated once simulated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rfc8785
from sqlalchemy import update

from attestlab.core.errors import NotFound
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.policy import store
from attestlab.policy.language.document import Document
from attestlab.policy.shapes import PolicyOut
from support.in_process_server import make_client, serve_in_thread
from support.orgs import TenantClients
from support.outbox import read_events_of_type
from support.policies.documents import make_condition, make_document, make_rule

pytestmark = pytest.mark.one_world

BASIC = make_condition("trust_tier", "eq", "BASIC")
DIGEST = "a" * 64


class PolicyTenant:
    """A tenant with an owner, a second admin and a key."""

    def __init__(self, tenant_clients: TenantClients) -> None:
        self.tenant_clients = tenant_clients
        self.lab = tenant_clients.lab
        self.key = tenant_clients.with_key()
        self.owner = tenant_clients.owner()
        self.admin = tenant_clients.person("admin")[1]

    def made(self, raw: dict[str, Any], who: httpx.Client | None = None) -> dict[str, Any]:
        answer = (who or self.key).post("/v1/policies", json=raw)
        assert answer.status_code == 201, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def activated(self, raw: dict[str, Any]) -> dict[str, Any]:
        """A policy that the admin wrote and the owner switched on."""
        made = self.made(raw, self.admin)
        simulated = {"simulation_digest": self.simulated(made["id"])}
        answer = self.owner.post(f"/v1/policies/{made['id']}/activate", json=simulated)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body

    def simulated(self, policy_id: str) -> str:
        """The digest of a report on the newest version."""
        answer = self.key.post("/v1/policies/simulate", json={"policy_id": policy_id})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["report_digest"])

    def ask(self, context: dict[str, Any], **more: Any) -> httpx.Response:
        asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": context, **more}
        return self.key.post("/v1/policies/evaluate", json=asked)

    def close(self) -> None:
        for client in (self.key, self.owner, self.admin):
            client.close()


@pytest.fixture
def tenant(lab: Installation) -> Iterator[PolicyTenant]:
    registry = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        made = PolicyTenant(TenantClients(lab, url, registry))
        yield made
        made.close()


@pytest.mark.both_engines
def test_policy_is_a_draft_and_each_update_a_new_version(tenant: PolicyTenant) -> None:
    raw = make_document(make_rule("r", "DENY", BASIC))
    made = tenant.key.post("/v1/policies", json=raw)
    policy = made.json()
    assert made.headers["Location"] == f"/v1/policies/{policy['id']}"
    assert (policy["status"], policy["version"], policy["active_version"]) == ("DRAFT", 1, None)

    text = tenant.key.get(f"/v1/policies/{policy['id']}", params={"format": "json"}).json()
    changed = tenant.key.put(f"/v1/policies/{policy['id']}", json={**text, "default_effect": "ALLOW"}).json()

    versions = tenant.key.get(f"/v1/policies/{policy['id']}/versions").json()["items"]
    assert [(each["version"], each["status"]) for each in versions] == [(2, "DRAFT"), (1, "DRAFT")]
    assert versions[0]["digest"] == changed["digest"] != versions[1]["digest"] == policy["digest"]
    first = tenant.key.get(f"/v1/policies/{policy['id']}/versions/1").json()
    assert {name: first[name] for name in versions[1]} == versions[1]
    assert sha256(rfc8785.dumps(first["document"])).hexdigest() == policy["digest"]
    assert tenant.key.get(f"/v1/policies/{policy['id']}/versions/3").status_code == 404
    (listed,) = tenant.key.get("/v1/policies").json()["items"]
    assert listed == {name: changed[name] for name in listed}
    assert set(changed) - set(listed) == {"mode", "default_effect", "rules", "tests"}
    assert [event["version"] for event in read_events_of_type(tenant.lab, "policy.updated")] == [2]


def test_invalid_policy_is_rejected_at_its_pointer(tenant: PolicyTenant) -> None:
    answer = tenant.key.post(
        "/v1/policies", json=make_document(make_rule("r", "DENY", make_condition("trust_teir", "eq", "BASIC")))
    )

    assert answer.status_code == 400
    (field,) = answer.json()["details"]["fields"]
    assert field["field"] == "/rules/0/when/attr"
    assert "trust_tier" in field["message"]


TESTED = {"name": "t", "context": {}, "allowed": False}


@pytest.mark.parametrize(
    ("case", "place", "expected"),
    [
        ({"context": {"trust_teir": "SELF_SIGNED"}}, "/tests/1/context/trust_teir", "Did you mean trust_tier?"),
        ({"context": {"trust_teir": None}}, "/tests/1/context/trust_teir", "Did you mean trust_tier?"),
        ({"context": {"trust_tier": "BASCI"}}, "/tests/1/context/trust_tier", "did you mean BASIC?"),
        ({"context": {"key": {"age_day": 3}}}, "/tests/1/context/key/age_day", "Did you mean key.age_days?"),
        ({"context": {"key.age_days": "3"}}, "/tests/1/context/key.age_days", "expected a number, not a text"),
        (
            {"context": {"key.age_days": 3, "key": {"age_days": 3}}},
            "/tests/1/context/key.age_days",
            "dotted and nested",
        ),
        ({"context": {"x" * 65: 1}}, "/tests/1/context", "not registered"),
        ({"matched_rules": ["basik"]}, "/tests/1/matched_rules/0", "did you mean basic?"),
        ({"matched_rules": ["basic", "nope"]}, "/tests/1/matched_rules/1", "The policy has no rule nope."),
    ],
)
def test_misspelt_policy_test_is_rejected_at_its_pointer(
    tenant: PolicyTenant, case: dict[str, Any], place: str, expected: str
) -> None:
    tests = [TESTED, {**TESTED, "name": "u", **case}]
    policy = tenant.made(make_document(make_rule("basic", "ALLOW", BASIC), tests=[TESTED]))
    raw = make_document(make_rule("basic", "ALLOW", BASIC), tests=tests)

    for answer in (tenant.key.post("/v1/policies", json=raw), tenant.key.put(f"/v1/policies/{policy['id']}", json=raw)):
        assert answer.status_code == 400
        (field,) = answer.json()["details"]["fields"]
        assert field["field"] == place
        assert expected in field["message"]


def test_stored_misspelt_test_fails_without_affecting_decisions(tenant: PolicyTenant) -> None:
    """Its version was written past the service; an attribute that the test names is there no more."""
    own = {"attributes": [{"path": "channel", "type": "text"}]}
    assert tenant.key.put("/v1/policies/attributes", json=own).status_code == 200
    tests = [{"name": "by tenant", "context": {"channel": "tenant"}, "allowed": False}]
    active = tenant.activated(make_document(make_rule("basic", "ALLOW", BASIC), name="active", tests=tests))
    draft = tenant.made(make_document(make_rule("basic", "ALLOW", BASIC), name="draft", tests=tests))
    assert tenant.key.put("/v1/policies/attributes", json={"attributes": []}).status_code == 200

    refused = tenant.owner.post(f"/v1/policies/{draft['id']}/activate", json={}).json()["details"]
    asked = tenant.ask({"trust_tier": "BASIC"}).json()

    assert (refused["reason"], refused["failing_tests"]) == ("tests_failing", ["by tenant"])
    assert (asked["allowed"], asked["matched_policy"]) == (True, "active")
    assert tenant.key.get(f"/v1/policies/decisions/{asked['decision_id']}").json()["reproduced"] is True
    assert tenant.key.get(f"/v1/policies/{active['id']}").json()["tests"][0]["context"] == {"channel": "tenant"}
    assert tenant.key.get(f"/v1/policies/{draft['id']}", params={"format": "toml"}).status_code == 200
    assert tenant.owner.post(f"/v1/policies/{draft['id']}/archive").status_code == 200


def test_toml_is_accepted_and_returned(tenant: PolicyTenant) -> None:
    policy = tenant.made(make_document(make_rule("r", "DENY", BASIC)))

    answer = tenant.key.get(f"/v1/policies/{policy['id']}", params={"format": "toml"})
    again = tenant.made({"toml": answer.text})

    assert answer.headers["Content-Type"].startswith("application/toml")
    assert again["digest"] == policy["digest"]
    assert tenant.key.post("/v1/policies", json={"toml": "name ="}).status_code == 400
    nul = tenant.key.post("/v1/policies", json={"toml": answer.text.replace('reason = ""', 'reason = "\\u0000"')})
    assert (nul.status_code, nul.json()["details"]["fields"][0]["field"]) == (400, "/rules/0/reason")


def test_policy_with_null_in_context_is_returned_as_toml(tenant: PolicyTenant) -> None:
    case = {"name": "none", "context": {"jurisdiction": None}, "allowed": False}
    policy = tenant.made(make_document(make_rule("r", "DENY", BASIC), tests=[case]))

    answer = tenant.key.get(f"/v1/policies/{policy['id']}", params={"format": "toml"})
    again = tenant.made({"toml": answer.text})

    assert answer.status_code == 200
    assert again["tests"] == [{**case, "context": {}}]


def test_version_with_another_target_is_rejected(tenant: PolicyTenant) -> None:
    policy = tenant.made(make_document(make_rule("r", "DENY", BASIC)))

    answer = tenant.key.put(
        f"/v1/policies/{policy['id']}", json=make_document(make_rule("r", "DENY", BASIC), category="VERIFY")
    )

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/category")


def test_policy_of_unknown_issuer_is_rejected(tenant: PolicyTenant) -> None:
    raw = make_document(
        make_rule("r", "DENY", BASIC), target_type="ISSUER", target_id="0193b5a0-7f3c-7abc-8def-0123456789ab"
    )

    assert tenant.key.post("/v1/policies", json=raw).status_code == 404


def test_activation_requires_a_simulation(tenant: PolicyTenant) -> None:
    """A digest of anything else is none."""
    policy = tenant.made(make_document(make_rule("r", "DENY", BASIC)))
    for body in ({}, {"simulation_digest": DIGEST}, {"simulation_digest": policy["digest"]}):
        answer = tenant.owner.post(f"/v1/policies/{policy['id']}/activate", json=body)

        assert (answer.status_code, answer.json()["details"]["reason"]) == (409, "simulation_missing")
    assert tenant.key.post(f"/v1/policies/{policy['id']}/activate", json={}).status_code == 403, "a person decides"


def test_failing_tests_and_dead_rules_block_activation(tenant: PolicyTenant) -> None:
    failing = tenant.made(
        make_document(
            make_rule("r", "DENY", BASIC), tests=[{"name": "no", "context": {"trust_tier": "BASIC"}, "allowed": True}]
        )
    )
    dead = tenant.made(make_document(make_rule("never", "ALLOW", make_condition("status", "exists", False))))

    one = tenant.owner.post(f"/v1/policies/{failing['id']}/activate", json={}).json()["details"]
    two = tenant.owner.post(f"/v1/policies/{dead['id']}/activate", json={}).json()["details"]
    known = tenant.owner.post(f"/v1/policies/{dead['id']}/activate", json={"acknowledge": ["never"]}).json()["details"]

    assert (one["reason"], one["failing_tests"]) == ("tests_failing", ["no"])
    assert (two["reason"], two["rules"]) == ("dead_rules", ["never"])
    assert known["reason"] == "simulation_missing"


@pytest.mark.own_world
def test_author_may_not_activate(tenant: PolicyTenant) -> None:
    policy = tenant.made(make_document(make_rule("r", "DENY", BASIC)), tenant.owner)
    digest = tenant.simulated(policy["id"])

    own = tenant.owner.post(f"/v1/policies/{policy['id']}/activate", json={"simulation_digest": digest})
    other = tenant.admin.post(f"/v1/policies/{policy['id']}/activate", json={"simulation_digest": digest})

    assert (own.status_code, own.json()["details"]["reason"]) == (403, "second_person_required")
    assert (other.status_code, other.json()["status"], other.json()["active_version"]) == (200, "ACTIVE", 1)
    assert [event["simulation_digest"] for event in read_events_of_type(tenant.lab, "policy.activated")] == [digest]


def test_own_api_key_is_not_a_second_person(tenant: PolicyTenant) -> None:
    """Neither one that the owner makes now, nor the first one, which is handed out with the owner's password."""
    body = {"name": "mine", "scopes": ["policies:read", "policies:write"]}
    secret = tenant.owner.post("/v1/api-keys", json=body).json()["secret"]
    for mine in (secret, tenant.tenant_clients.tenant.api_key):
        with make_client(tenant.tenant_clients.url, key=mine) as key:
            policy = tenant.made(make_document(make_rule("r", "DENY", BASIC)), key)
        activation = {"simulation_digest": tenant.simulated(policy["id"])}
        own = tenant.owner.post(f"/v1/policies/{policy['id']}/activate", json=activation)
        assert (own.status_code, own.json()["details"]["reason"]) == (403, "second_person_required")
        assert tenant.admin.post(f"/v1/policies/{policy['id']}/activate", json=activation).status_code == 200


def test_everything_is_allowed_without_a_policy(tenant: PolicyTenant) -> None:
    answer = tenant.ask({"trust_tier": "BASIC"}).json()

    assert re.fullmatch(r"dec_[0-7][0-9A-HJKMNP-TV-Z]{25}", answer["decision_id"])
    assert answer.items() >= {"allowed": True, "matched_rules": [], "reasons": [], "decision": "ALLOW"}.items()
    assert (answer["matched_policy"], answer["matched_rule"], answer["reason"]) == (None, None, None)
    assert "evaluation_ms" not in answer


@pytest.mark.both_engines
def test_denial_names_its_rules_and_can_be_explained(tenant: PolicyTenant) -> None:
    raw = make_document(
        make_rule("young", "DENY", make_condition("key.age_days", "lt", 90), 1, reason="The key is too young."),
        make_rule("basic", "ALLOW", BASIC, 2),
        name="Minting",
    )
    policy = tenant.activated(raw)

    answer = tenant.ask({"key": {"age_days": 5}, "trust_tier": "basic", "risk_rating": 7}).json()
    why = tenant.key.get(f"/v1/policies/decisions/{answer['decision_id']}").json()

    assert (answer["allowed"], answer["matched_rules"]) == (False, ["young", "basic"])
    assert (answer["decision"], answer["matched_policy"], answer["matched_rule"]) == ("DENY", "Minting", "young")
    assert answer["reasons"] == [answer["reason"]] == ["The key is too young."]
    assert [d["path"] for d in answer["diagnostics"]] == ["risk_rating"]
    assert why["reproduced"] is True
    assert why["context"] == {"key.age_days": 5, "trust_tier": "BASIC"}
    (shown,) = why["policies"]
    assert (shown["policy_id"], shown["version"], shown["missing"]) == (policy["id"], 1, [])
    assert shown["rules"][0]["when"] == {
        **{"kind": "leaf", "truth": "true", "attr": "key.age_days", "op": "lt", "value": 90, "actual": 5},
    }
    assert why["counterfactual"]["changes"][0]["path"] == "key.age_days"
    assert why["counterfactual"]["changes"][0]["after"] >= 90


def test_input_hash_covers_typed_values(tenant: PolicyTenant) -> None:
    """Dotted and nested, folded or not, with aliases or not: one input, audited by its hash."""
    one = tenant.ask({"key": {"age_days": 5}, "trust_tier": "basic"}).json()
    body = {
        "category": "MINT",
        "binding_target_type": "TENANT_DEFAULT",
        "context": {"trust_tier": "BASIC", "key.age_days": 5.0},
    }
    two = tenant.key.post("/v1/policies/evaluate", json=body).json()

    said = {"action": "MINT", "target_type": "TENANT_DEFAULT", "target_id": None,
            "context": {"key.age_days": 5, "trust_tier": "BASIC"}}  # fmt: skip
    assert one["input_sha256"] == two["input_sha256"] == sha256(rfc8785.dumps(said)).hexdigest()
    assert one["decision_id"] != two["decision_id"]
    audited = tenant.key.get("/v1/audit/events", params={"resource_type": "policy_decision"}).json()["items"]
    assert {line["resource_id"] for line in audited} == {one["decision_id"], two["decision_id"]}
    assert {line["metadata"]["input_sha256"] for line in audited} == {one["input_sha256"]}


@pytest.mark.parametrize(
    "more",
    [
        {"category": "MINT"},
        {"action": "BURN"},
        {"context": []},
        {"target_type": None},
    ],
)
def test_malformed_evaluation_request_is_rejected(tenant: PolicyTenant, more: dict[str, Any]) -> None:
    asked = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {}, **more}

    assert tenant.key.post("/v1/policies/evaluate", json=asked).status_code == 400


@pytest.mark.parametrize(
    "target",
    [
        {"target_type": "ISSUER"},
        {"target_type": "VERIFICATION_PROFILE", "target_id": None},
        {"target_type": "TENANT_DEFAULT", "target_id": "0193b5a0-7f3c-7abc-8def-0123456789ab"},
    ],
)
def test_target_id_is_required_unless_tenant_default(tenant: PolicyTenant, target: dict[str, Any]) -> None:
    """The defaults alone would answer otherwise, as if the issuer had no policy."""
    answer = tenant.ask({}, **target)

    assert (answer.status_code, answer.json()["details"]["fields"][0]["field"]) == (400, "/target_id")


@pytest.mark.both_engines
def test_issuer_default_and_platform_policies_combine(tenant: PolicyTenant) -> None:
    issuer = tenant.key.post("/v1/issuers", json={"name": "Registry", "domain": "registry.example"}).json()
    tenant.activated(
        make_document(
            make_rule("tenant", "ALLOW", make_condition("status", "exists", True)),
            name="tenant",
            default_effect="ALLOW",
        )
    )
    tenant.activated(
        make_document(
            make_rule("own", "DENY", BASIC),
            name="own",
            default_effect="ALLOW",
            target_type="ISSUER",
            target_id=issuer["id"],
        )
    )
    about = {"target_type": "ISSUER", "target_id": issuer["id"]}

    assert tenant.ask({"trust_tier": "BASIC"}).json()["allowed"] is True
    denied = tenant.ask({"trust_tier": "BASIC", "status": "ACTIVE"}, **about).json()

    assert (denied["allowed"], denied["matched_rules"]) == (False, ["own", "tenant"])


def test_platform_policy_applies_to_every_tenant(tenant: PolicyTenant, lab: Installation) -> None:
    """The defaults of the operator's tenant apply to all tenants."""
    operator = lab.operator  # type: ignore[attr-defined]
    made = lab.policies.create(
        Document.read(make_document(make_rule("no", "DENY", BASIC), default_effect="ALLOW")), caller=operator
    )
    with lab.simulations.of(made.id, caller=operator) as simulation:
        digest = simulation.report().digest

    second = replace(operator, actor_id="second-person")
    lab.policies.activate(
        made.id, lab.policies.examine(made.id, caller=operator), simulation_digest=digest, caller=second
    )

    assert tenant.ask({"trust_tier": "BASIC"}).json()["matched_rules"] == ["no"]
    assert tenant.key.get("/v1/policies").json()["items"] == []


@pytest.mark.own_world
def test_shadow_policy_is_evaluated_but_not_enforced(tenant: PolicyTenant) -> None:
    policy = tenant.made(make_document(make_rule("no", "DENY", BASIC)))
    assert tenant.key.post(f"/v1/policies/{policy['id']}/shadow").json()["status"] == "SHADOW"

    answer = tenant.ask({"trust_tier": "BASIC"}).json()
    why = tenant.key.get(f"/v1/policies/decisions/{answer['decision_id']}").json()

    assert (answer["allowed"], answer["matched_rules"]) == (True, [])
    assert (why["policies"][0]["counts"], why["policies"][0]["matched_rules"]) == (False, ["no"])


@pytest.mark.own_world
def test_archived_policy_is_not_enforced_and_stays_explainable(tenant: PolicyTenant) -> None:
    policy = tenant.activated(make_document(make_rule("no", "DENY", BASIC)))
    before = tenant.ask({"trust_tier": "BASIC"}).json()

    archived = tenant.owner.post(f"/v1/policies/{policy['id']}/archive").json()

    assert (archived["status"], archived["active_version"]) == ("ARCHIVED", None)
    assert tenant.ask({"trust_tier": "BASIC"}).json()["allowed"] is True
    assert tenant.key.get(f"/v1/policies/decisions/{before['decision_id']}").json()["reproduced"] is True
    assert (
        tenant.key.put(f"/v1/policies/{policy['id']}", json=make_document(make_rule("x", "DENY", BASIC))).status_code
        == 409
    )
    assert tenant.owner.post(f"/v1/policies/{policy['id']}/archive").status_code == 409


def test_active_version_remains_active_after_an_update(tenant: PolicyTenant) -> None:
    policy = tenant.activated(make_document(make_rule("no", "DENY", BASIC), default_effect="ALLOW"))

    changed = tenant.key.put(
        f"/v1/policies/{policy['id']}", json=make_document(make_rule("yes", "ALLOW", BASIC), default_effect="ALLOW")
    ).json()

    assert (changed["status"], changed["version"], changed["active_version"]) == ("ACTIVE", 2, 1)
    assert tenant.ask({"trust_tier": "BASIC"}).json()["matched_rules"] == ["no"]


def test_policy_uses_own_attributes_of_the_tenant(tenant: PolicyTenant) -> None:
    own = [{"path": "claims.amount", "type": "number", "domain": {"min": 0}, "unit": "CHF"},
           {"path": "channel", "type": "enum", "domain": ["web", "tenant"], "mutable": False}]  # fmt: skip
    answer = tenant.key.put("/v1/policies/attributes", json={"attributes": own})
    assert answer.status_code == 200, answer.text
    assert [each["path"] for each in answer.json()["items"] if each["own"]] == ["claims.amount", "channel"]
    tenant.activated(
        make_document(make_rule("much", "DENY", make_condition("claims.amount", "gt", 1_000)), default_effect="ALLOW")
    )

    assert tenant.ask({"claims": {"amount": 1_001}}).json()["matched_rules"] == ["much"]
    used = tenant.key.put("/v1/policies/attributes", json={"attributes": own[1:]})
    assert (used.status_code, used.json()["details"]["version"]) == (409, 1)
    twice = tenant.key.put("/v1/policies/attributes", json={"attributes": [*own, own[0]]})
    assert twice.status_code == 400


@pytest.mark.parametrize("domain", ["web", [1], {"min": "0"}, {"least": 0}, ["x"] * 1_001, [["web"]]])
def test_invalid_domain_is_reported_at_its_pointer(tenant: PolicyTenant, domain: Any) -> None:
    own = [{"path": "channel", "type": "enum", "domain": domain}]

    answer = tenant.key.put("/v1/policies/attributes", json={"attributes": own})

    (field,) = answer.json()["details"]["fields"]
    assert (answer.status_code, field["field"], field["code"]) == (400, "/attributes/0/domain", "domain")
    assert "{min, max}" in field["message"]


@pytest.mark.parametrize("more", [{}, {"tests": [{"name": "t", "context": {}, "allowed": False}]}])
def test_policy_response_matches_its_model(tenant: PolicyTenant, more: dict[str, Any]) -> None:
    """Its text is copied into the answer, with and without tests, with and without a target."""
    profile = tenant.key.post("/v1/verification-profiles", json={"name": "p"}).json()["id"]

    for target in ({}, {"category": "VERIFY", "target_type": "VERIFICATION_PROFILE", "target_id": profile}):
        made = tenant.made(make_document(make_rule("r", "DENY", BASIC), **target, **more))

        assert PolicyOut.model_validate_json(json.dumps(made))
        assert set(made) == set(PolicyOut.model_fields)


@pytest.mark.both_engines
def test_lists_omit_policy_documents(tenant: PolicyTenant) -> None:
    """A page of a hundred had 23 MB."""
    rules = [make_rule(f"r{number}", "DENY", BASIC, reason="x" * 500) for number in range(200)]
    policy = [tenant.made(make_document(*rules, name=f"p{number}")) for number in range(3)][-1]

    for path in ("/v1/policies", f"/v1/policies/{policy['id']}/versions"):
        assert len(tenant.key.get(path).content) < 3_000


def test_policies_of_other_tenants_are_not_found(tenant: PolicyTenant, lab: Installation) -> None:
    policy = tenant.made(make_document(make_rule("r", "DENY", BASIC)))
    decision = tenant.ask({}).json()["decision_id"]
    with tenant.tenant_clients.with_key(tenant=lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)) as other:
        for path in (
            f"/v1/policies/{policy['id']}",
            f"/v1/policies/{policy['id']}/versions",
            f"/v1/policies/{policy['id']}/versions/1",
            f"/v1/policies/decisions/{decision}",
        ):
            assert other.get(path).status_code == 404
        assert other.post("/v1/policies/analyze", json={"policy_id": policy["id"]}).status_code == 404


def test_analysis_reports_findings(tenant: PolicyTenant) -> None:
    raw = make_document(
        make_rule("young", "DENY", make_condition("key.age_days", "lt", 90), 1),
        make_rule("old", "DENY", make_condition("key.age_days", "gte", 90), 2),
        make_rule("any", "ALLOW", make_condition("key.age_days", "exists", True), 3),
    )
    moved = json.loads(json.dumps(raw).replace('"lt", "value": 90', '"lt", "value": 91'))
    policy = tenant.made(raw)

    found = tenant.key.post("/v1/policies/analyze", json={"policy_id": policy["id"], "against": moved}).json()
    other = tenant.key.post(
        "/v1/policies/analyze", json={"policy": {**raw, "default_effect": "ALLOW"}, "against": raw}
    ).json()

    assert [(each["kind"], each["rule_id"], each["by"]) for each in found["findings"]] == [
        ("shadowed", "any", ["young", "old"])
    ]
    assert (found["equivalent"], found["witness"]) == (True, None)
    assert (other["equivalent"], other["witness"]) == (False, {})
    assert tenant.key.post("/v1/policies/analyze", json={"policy": raw}).json()["equivalent"] is None
    assert tenant.key.post("/v1/policies/analyze", json={}).status_code == 400


@pytest.mark.tampered
def test_tampered_version_is_detected(lab: Installation) -> None:
    """A version is never changed; fsck finds a change in the database."""
    operator = lab.operator  # type: ignore[attr-defined]
    made = lab.policies.create(Document.read(make_document(make_rule("r", "DENY", BASIC))), caller=operator)

    with lab.storage.write() as tx:
        changed = update(store.versions).where(store.versions.c.policy_id == made.id)
        tx.exec(changed.values(document=store.versions.c.document + " "))


def test_policy_is_replayed_over_parquet_history(lab: Installation, tmp_path: Path) -> None:
    operator = lab.operator  # type: ignore[attr-defined]
    made = lab.policies.create(Document.read(make_document(make_rule("r", "ALLOW", BASIC))), caller=operator)
    pq.write_table(pa.table({"trust_tier": ["BASIC", "VERIFIED", None, "basic"]}), tmp_path / "past.parquet")

    decided = lab.policies.replay(made.id, contexts=tmp_path / "past.parquet", caller=operator)

    assert decided.df()["allowed"].tolist() == [True, False, False, True]
    whose = lab.policies.replay(made.id, contexts=tmp_path / "past.parquet")  # the operator's own, as lab.decisions
    assert whose.groups() == decided.groups()
    other = lab.orgs.service_caller(lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE).tenant_id)
    theirs = lab.policies.create(Document.read(make_document(make_rule("r", "ALLOW", BASIC))), caller=other)
    with pytest.raises(NotFound):
        lab.policies.replay(theirs.id, contexts=tmp_path / "past.parquet")
