"""Every 400 says where: each operation gets what its own checks refuse, and the error has the place of the fault.

A place is a JSON Pointer (RFC 6901) into the body, `""` for all of it, or `/` and the name of a parameter or header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import httpx
import pytest

from attestlab.installation import Installation
from attestlab.server.app import all_routes
from attestlab.web.openapi.operations import operation_id
from support.access import AccessScenario, open_access_scenario
from support.agents import register_agent
from support.api_tour.recording import TourRecorder
from support.api_tour.stations import POLICY
from support.attestations import make_mint_body
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.protections import protect
from support.runs import ROW, digest, start_run
from support.votes import request_votes

pytestmark = pytest.mark.one_world

POINTER = re.compile(r"(?:/(?:[^~/]|~0|~1)*)*")
FUTURE, PAST, OLD = "2999-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "1990-01-01T00:00:00Z"
REVERSED = {"from": "2026-02-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}
ADA = {"entity_type": "user", "entity_id": "ada"}
SIGNAL = {"source": "gateway", "signal_type": "behavior", "score": 1, **ADA}
TWO_LINES = "two\nlines"
NEW_KEY = {"kid": "k-9", "alg": "ES256"}
REQUEST = {"target_issuer_id": "issuer", "reason": "r"}
MAPPED = {"event_type": "a.b", "signal_type": "s", "score": 1}
LISTED = {"list": "deny", "reason": "r"}
RULE = {"id": "r", "when": {"attr": "signal.score", "op": "gte", "value": 70}}
UNKNOWN = {"attr": "x", "op": "eq", "value": 1}
THRESHOLD = {"rule_id": "x", "attribute": "signal.score"}
HOOK = {"name": "n", "url": "https://hooks.example.com/", "event_filters": ["key.*"]}

SIGNUP = {"email": "ada@people.example", "password": "correct horse battery staple", "name": "Ada"}
POST = {"title": "Why a log?", "category": "engineering", "content": "Because."}
RECEIPT = {"receipt_type": "handover", "issuer_id": "issuer"}
TYPE = {"name": "delivery", "version": "1.0.0", "schema": {}}


class Fault(NamedTuple):
    """What only one operation refuses, and the place that the error names."""

    operation: str
    body: Any
    place: str
    parameters: dict[str, Any] = {}  # noqa: RUF012  # nothing changes it


AGENT = {"id": "agent"}
VOTED = {"subject": "s", "claim_type": "t", "claim_value": "v"}
VOTE = {"agent_id": "agent", "verdict": "confirm"}
STEP = {"step_id": "read", "inputs_hash": digest("a"), "outputs_hash": digest("b"), "status": "completed"}
AGENT_FAULTS = [
    Fault("register_agent", {"display_name": TWO_LINES}, "/display_name"),
    Fault("register_agent", {"display_name": "A", "scopes": ["docs"]}, "/scopes/0"),
    Fault("register_agent", {"display_name": "A", "expires_at": PAST}, "/expires_at"),
    Fault("register_agent", {"display_name": "A", "public_key": "AAAA", "proof": "A" * 86}, "/public_key"),
    Fault("update_agent", {"scopes": ["docs"]}, "/scopes/0", AGENT),
    Fault("create_agent_challenge", {"public_key": "AAAA"}, "/public_key"),
    Fault("rotate_agent_key", {"public_key": "AAAA", "proof": "A" * 86}, "/public_key", AGENT),
    Fault(
        "compromise_agent_key",
        {"reason": "r", "compromised_at": FUTURE},
        "/compromised_at",
        {**AGENT, "kid": "agent_kid"},
    ),
    Fault("sign_agent_statement", {"payload": {"a": "x" * 20_000}}, "/payload", AGENT),
    Fault("suspend_agent", {"reason": " "}, "/reason", AGENT),
    Fault("resume_agent", {"reason": " "}, "/reason", AGENT),
    Fault("revoke_agent", {"reason": " "}, "/reason", AGENT),
    Fault("kill_agent", {"reason": " "}, "/reason", AGENT),
    Fault("set_agent_settings", {"ownerless_grace_days": 366}, "/ownerless_grace_days"),
    Fault("put_agent_card_signature", {"signature": "a.b.c"}, "/signature", AGENT),
    Fault("create_delegation", {"scopes": ["docs"], "child": {"display_name": "B"}}, "/scopes/0", AGENT),
    Fault("verify_delegation_chain", {"chain": [], "required_scope": "docs:read"}, "/chain"),
    Fault("create_witness_request", {"originator_agent_id": "agent", "claim": VOTED, "ttl_seconds": 1}, "/ttl_seconds"),
    Fault("create_witness_vote", {**VOTE, "signature": "a.b.c"}, "/signature", {"id": "vote_request"}),
    Fault("report_agent_event", {"agent_id": "agent", "event_type": "Tool"}, "/event_type"),
    Fault("report_agent_event", {"agent_id": "agent", "event_type": "a.b", "latency_ms": -1}, "/latency_ms"),
    Fault("create_compliance_check", {"entity_type": "tenant", "entity_id": "7"}, "/entity_id"),
    Fault("start_run", {"agent_id": "agent", "name": TWO_LINES, "plan": ROW}, "/name"),
    Fault("start_run", {"agent_id": "agent", "name": "R", "plan": {"steps": [{"id": "a"}]}}, "/plan/steps/0/type"),
    Fault("record_run_step", {**STEP, "step_id": "none"}, "/step_id", {"id": "run"}),
    Fault("record_run_step", {**STEP, "inputs_hash": "0"}, "/inputs_hash", {"id": "run"}),
    Fault("complete_run", {"status": "running"}, "/status", {"id": "run"}),
    Fault("open_agent_session", {"agent_id": "agent", "audience": ["ftp://a.example"]}, "/audience/0"),
]
FAULTS = [
    *AGENT_FAULTS,
    Fault("mint_attestation", {"alg": "ES256"}, "/alg"),
    Fault("mint_attestation", {"claims": {}}, "/claims/student_name"),
    Fault("mint_attestation", {"expiry_at": PAST}, "/expiry_at"),
    Fault("mint_attestation", {"document_hash": "x"}, "/document_hash"),
    Fault("mint_attestation", {"metadata": {"a": "x" * 20_000}}, "/metadata"),
    Fault("mint_attestation", {"signature": "x"}, "/signature"),
    Fault("mint_attestation", {"recipient_email": "no address"}, "/recipient_email"),
    Fault("verify_attestation", {"attestation_id": "issuer", "document_hash_hex": "x"}, "/document_hash_hex"),
    Fault("create_pack", {"name": TWO_LINES}, "/name"),
    Fault("create_issuer", {"name": "N", "domain": "no domain"}, "/domain"),
    Fault("create_issuer", {"name": "N", "domain": "n.example", "jurisdiction": "XX"}, "/jurisdiction"),
    Fault("create_issuer", {"name": "N", "domain": "n.example", "primary_color": "red"}, "/primary_color"),
    Fault("create_issuer", {"name": "N", "domain": "n.example", "kid": "k"}, "/kid"),
    Fault("update_issuer", {"domain": "no domain"}, "/domain", {"id": "issuer"}),
    Fault("add_issuer_key", {**NEW_KEY, "public_key_b64url": "AAAA"}, "/public_key_b64url", {"id": "issuer"}),
    Fault("rotate_issuer_key", {"new_kid": "k-9", "alg": "ES256"}, "/alg", {"kid": "kid"}),
    Fault("compromise_issuer_key", {"reason": "r", "compromised_at": FUTURE}, "/compromised_at", {"kid": "kid"}),
    Fault("put_logo", {"content_b64url": "A"}, "/content_b64url", {"id": "issuer"}),
    Fault("create_issuer_request", {**REQUEST, "type": "CHANGE_TRUST_TIER"}, "/new_trust_tier"),
    Fault("create_api_key", {"name": TWO_LINES, "scopes": ["risk:read"]}, "/name"),
    Fault("create_consumer_key", {"name": TWO_LINES}, "/name"),
    Fault("create_org", {"name": TWO_LINES}, "/name"),
    Fault("invite_user", {"email": "no address", "role": "analyst"}, "/email"),
    Fault("change_password", {"current_password": "a long enough password", "new_password": "short"}, "/new_password"),
    Fault("create_risk_signal", {**SIGNAL, "occurred_at": FUTURE}, "/occurred_at"),
    Fault("create_risk_signal", {**SIGNAL, "score": 2, "score_scale": "unit"}, "/score"),
    Fault("create_risk_signal", {**SIGNAL, "details": {"a": "x" * 9_000}}, "/details"),
    Fault("create_risk_signal", {**SIGNAL, "entity_id": TWO_LINES}, "/entity_id"),
    Fault("record_risk_signals", "\n" * 700_001, ""),
    Fault("record_risk_event", {"event_type": "a.b", **ADA, "occurred_at": FUTURE}, "/occurred_at"),
    Fault("record_risk_event", {"event_type": "a.b", **ADA, "data": {"a": "x" * 20_000}}, "/data"),
    Fault("normalize_risk_events", REVERSED, "/from"),
    Fault("replace_risk_mapping", {"items": [MAPPED] * 2}, "/items/1/event_type"),
    Fault("record_velocity", {**ADA, "action": "mint", "occurred_at": OLD}, "/occurred_at"),
    Fault("scan_media", {"subject_ref": "p"}, "/content_b64url"),
    Fault("scan_media", {"subject_ref": "p", "indicators": {"face_swap": 7}}, "/indicators/face_swap"),
    Fault("evaluate_login", {"subject_id": "a", "outcome": "failure", "ip": "nowhere"}, "/ip"),
    Fault("evaluate_login", {"subject_id": "a", "outcome": "failure", "occurred_at": OLD}, "/occurred_at"),
    Fault("add_list_entry", {**LISTED, **ADA, "expires_at": PAST}, "/expires_at"),
    Fault("add_list_entry", {**LISTED, "entity_type": "ip", "entity_id": "10.0.0.0/2"}, "/entity_id"),
    Fault("save_view", {"name": TWO_LINES, "page": "risk", "query": ""}, "/name"),
    Fault("save_view", {"name": "Logins", "page": "risk", "query": "a b"}, "/query"),
    Fault("update_view", {"query": "a b"}, "/query", {"id": "view"}),
    Fault("schedule_view", {"hour": 8, "recipients": []}, "/recipients", {"id": "view"}),
    Fault("annotate_time", {"at": PAST, "text": TWO_LINES}, "/text"),
    Fault("annotate_time", {"at": FUTURE, "until": PAST, "text": "Campaign"}, "/until"),
    Fault("simulate_risk_rules", {"rules": []}, "/rules"),
    Fault(
        "simulate_risk_rules",
        {"rules": [{**RULE, "when": UNKNOWN}]},
        "/rules/0/when/attr",
    ),
    Fault("simulate_risk_rules", {"rules": [RULE], "threshold": THRESHOLD}, "/threshold/rule_id"),
    Fault("simulate_risk_rules", {"rules": [RULE], "from": PAST, "to": PAST}, "/to"),
    Fault("set_policy_attributes", {"attributes": [{"path": "Own", "type": "text"}]}, "/attributes/0/path"),
    Fault("create_policy", {**POLICY, "target_id": "0193b5a0-7f3c-7abc-8def-0123456789ab"}, ""),
    Fault("create_policy", {**POLICY, "rules": []}, "/rules"),
    Fault("create_policy", {"toml": "="}, "/toml"),
    Fault("create_policy", {**POLICY, "target_type": "VERIFICATION_PROFILE", "target_id": "profile"}, "/target_type"),
    Fault("update_policy", {**POLICY, "category": "VERIFY"}, "/category", {"id": "policy"}),
    Fault("analyze_policy", {"policy": {**POLICY, "rules": []}}, "/rules"),
    Fault("analyze_policy", {}, ""),
    Fault("simulate_policy", {}, ""),
    Fault("simulate_policy", {"policy": POLICY, "by": ["nowhere"]}, "/by/0"),
    Fault("simulate_policy", {"policy": POLICY, "rule": "nowhere"}, "/rule"),
    Fault("simulate_policy", {"policy": POLICY, "sweep": [THRESHOLD]}, "/sweep/0/rule_id"),
    Fault("simulate_policy", {"policy": POLICY, "from": PAST, "to": PAST}, "/to"),
    Fault("evaluate_policies", {"action": "MINT", "target_type": "ISSUER", "context": {}}, "/target_id"),
    Fault("evaluate_policies", {"target_type": "ISSUER", "context": {}}, ""),
    Fault("create_verification_profile", {"name": TWO_LINES}, "/name"),
    Fault("deliver_attestation", {"attestation_id": "issuer"}, "/recipient_email"),
    Fault("attach_addon", {"addon_key": "extra_isuers"}, "/addon_key"),
    Fault("attach_addon", {"addon_key": "extra_issuers", "quantity": 0}, "/quantity"),
    Fault("get_usage", None, "/period", {"period": "2999-01"}),
    Fault("create_blog_post", {**POST, "cover_image_url": "http://a.example"}, "/cover_image_url"),
    Fault("create_blog_post", {**POST, "title": TWO_LINES}, "/title"),
    Fault("update_blog_post", {"cover_image_url": "http://a.example"}, "/cover_image_url", {"id": "post"}),
    Fault("upload_blog_medium", {"content_b64url": "A"}, "/content_b64url"),
    Fault("create_protection", {"title": "Sunset"}, "/content_hash"),
    Fault("create_protection", {"title": TWO_LINES, "content_hash": "0" * 64}, "/title"),
    Fault("update_protection", {"title": TWO_LINES}, "/title", {"id": "protection"}),
    Fault("list_protections", None, "/cursor", {"cursor": "x"}),
    Fault("create_billing_portal_link", {"return_url": "https://a.example"}, "/return_url"),
    Fault("create_billing_portal_link", {"return_url": "javascript:alert(1)"}, "/return_url"),
    Fault("create_receipt_type", {**TYPE, "schema": {"$ref": "#/nowhere"}}, "/schema/$ref"),
    Fault("create_receipt_type", {**TYPE, "display_name": TWO_LINES}, "/display_name"),
    Fault("sign_up_consumer", {**SIGNUP, "email": "ada"}, "/email"),
    Fault("sign_up_consumer", {**SIGNUP, "password": "short"}, "/password"),
    Fault("sign_up_consumer", {**SIGNUP, "name": TWO_LINES}, "/name"),
    Fault("sign_up_consumer", {**SIGNUP, "invitation_token": "x"}, "/invitation_token"),
    Fault("verify_email", {"token": "x"}, "/token"),
    Fault("resend_verification", {"email": "ada"}, "/email"),
    Fault("forget_password", {"email": "ada"}, "/email"),
    Fault("reset_password", {"token": "x", "password": "correct horse battery staple"}, "/token"),
    Fault("update_account", {"name": TWO_LINES}, "/name"),
    Fault("add_email", {"email": "ada"}, "/email"),
    Fault("mint_receipt", {**RECEIPT, "payload": {}}, "/payload/n"),
    Fault("mint_receipt", {**RECEIPT, "payload": {"n": 1}, "metadata": {"a": "x" * 17_000}}, "/metadata"),
    Fault("search_receipts", {"receipt_type": "No Name"}, "/receipt_type"),
    Fault("list_receipts", None, "/cursor", {"cursor": "x"}),
    Fault("create_webhook_endpoint", {**HOOK, "url": "http://a.example"}, "/url"),
    Fault("create_webhook_endpoint", {**HOOK, "event_filters": ["x"]}, "/event_filters/0"),
    Fault("update_webhook_endpoint", {"name": TWO_LINES}, "/name", {"id": "endpoint"}),
    Fault("recover_webhook_deliveries", {"since": FUTURE, "mode": "all"}, "/until", {"id": "endpoint"}),
    Fault("send_test_delivery", {"endpoint_id": "endpoint", "payload": {"a": "x" * 300_000}}, "/payload"),
    Fault("query_lake", {"sql": "drop table signals"}, "/sql"),
    Fault("query_lake", {"sql": "select nothing from signals"}, "/sql"),
    Fault("query_lake", {"sql": "show databases"}, "/sql"),
    Fault("query_lake", {"sql": "select pg_sleep(1)"}, "/sql"),
    Fault("get_lake_dataset", None, "/columns", {"name": "signals", "columns": "nothing"}),
    Fault("get_consistency_proof", None, "/to", {"from": 1, "to": 10**9}),
    Fault("get_inclusion_proof", None, "/tree_size", {"index": 0, "tree_size": 10**9}),
    Fault("find_log_entry", None, "/hash", {}),
    Fault("find_log_entry", None, "/attestation_id", {"attestation_id": "x"}),
    Fault("list_attestations", None, "/cursor", {"cursor": "x"}),
    Fault("search_tenant", None, "/types", {"q": "risk", "types": "case,user"}),
    Fault("get_risk_drift", None, "/from", {"from": PAST}),
]
# Operations that take a body and refuse it by its form alone, or by what they know of the object: 404 or 409.
WITHOUT_A_CHECK = {
    *("sign_in", "refresh_tokens", "sign_out", "accept_invitation", "send_invitation_form", "update_org"),
    *("change_role", "compromise_api_key", "revoke_api_key", "revoke_consumer_key", "revoke_issuer_key"),
    *("update_inbox_item", "decline_inbox_item"),
    *("reject_issuer_request", "mint_batch", "supersede_attestation", "revoke_attestation", "resolve_case"),
    *("resolve_cases", "reopen_cases", "assign_case", "comment_case"),
    "revoke_protection",
    *("introspect_agent_token", "refresh_agent_session", "terminate_agent_session", "revoke_delegation"),
    *("find_badge", "load_past_logins", "report_agent_events", "verify_open_badge"),
    *("change_subscription", "detach_addon", "preview_subscription"),
    "send_billing_change",
    *("send_inbox_item_form", "send_protect_form", "send_reset_form", "send_settings_form", "send_signin_form"),
    *("send_signout_form", "send_signup_form", "send_verify_form"),
    *("verify_receipt", "revoke_receipt", "redact_receipt"),
    *("deprecate_receipt_type", "create_challenge", "set_risk_settings", "activate_policy", "rotate_webhook_secret"),
    *("choose_username", "make_email_primary", "delete_account"),
}


OF_CONSUMERS = {"create_consumer_key", "update_account", "add_email"}


class World(NamedTuple):
    """A served tenant, and the ids that requests name."""

    tour: TourRecorder
    issuer: dict[str, Any]
    ids: dict[str, str]

    def fill(self, value: Any) -> Any:
        """Put the ids of this world where a request names an object."""
        if isinstance(value, dict):
            return {name: self.fill(part) for name, part in value.items()}
        return self.ids.get(value, value) if isinstance(value, str) else value


@pytest.fixture(scope="module")
def world(shared_lab: Installation) -> Iterator[World]:
    with serve_in_thread(shared_lab) as url:
        with make_client(url) as client:
            document = client.get("/openapi.json").json()
        with open_access_scenario(shared_lab, url) as access:
            yield make_world(TourRecorder(access, document), access)


def make_world(tour: TourRecorder, access: AccessScenario) -> World:
    key = access.account.with_key
    issuer = register_issuer(key)
    policy = key.post("/v1/policies", json=POLICY).json()
    endpoint = key.post("/v1/webhooks/endpoints", json=HOOK).json()
    profile = key.post("/v1/verification-profiles", json={"name": "Border"}).json()
    ids = {"issuer": issuer["id"], "kid": issuer["keys"][0]["kid"], "policy": policy["id"], "endpoint": endpoint["id"]}
    key.post("/v1/receipt-types", json={"name": "handover", "version": "1.0.0", "schema": {"required": ["n"]}})
    post = access.account.editor.post("/v1/platform/blog/posts", json=POST).json()
    protection, agent = protect(access.account.consumer), register_agent(key)
    ids |= {"agent": agent["id"], "agent_kid": key.get(f"/v1/agents/{agent['id']}/keys").json()["items"][0]["kid"]}
    ids |= {"vote_request": request_votes(key)["request_id"], "run": start_run(key)["orchestration_id"]}
    view = access.account.signed_in.post("/v1/views", json={"name": "Logins", "page": "risk", "query": ""})
    ids |= {"view": view.json()["id"]}
    return World(tour, issuer, {**ids, "profile": profile["id"], "post": post["id"], "protection": protection["id"]})


def find_client(world: World, operation: str) -> httpx.Client:
    account = world.tour.access.account
    of_consumers = operation.endswith(("_inbox_item", "_inbox_items")) or "_protection" in operation
    if operation in OF_CONSUMERS or of_consumers:
        return account.consumer
    if "_blog_" in operation:
        return account.editor
    security = world.tour.operations[operation][2]["security"]
    return account.signed_in if security and "apiKey" not in security[0] else account.with_key


def refuse(world: World, fault: Fault) -> list[dict[str, str]]:
    """Send what an operation refuses; the faults of its error."""
    body = world.fill(fault.body)
    if fault.operation == "mint_attestation":
        body = {**make_mint_body(world.issuer), **body}
    parameters = {name: world.fill(value) for name, value in fault.parameters.items()}
    world.tour.fail(400, fault.operation, find_client(world, fault.operation), body, **parameters)
    found: list[dict[str, str]] = world.tour.responses["400"].json()["details"]["fields"]
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.operation}:{fault.place}")
def test_a_check_names_the_place_of_its_fault(world: World, fault: Fault) -> None:
    faults = refuse(world, fault)

    assert faults[0]["field"] == fault.place
    assert all(POINTER.fullmatch(each["field"]) and each["code"] and each["message"] for each in faults)


def test_each_operation_with_a_body_has_a_fault_here() -> None:
    """Or checks nothing but the form of its body."""
    taking = {operation_id(route) for route in all_routes() if route.body is not None or route.ndjson}
    sent = {fault.operation for fault in FAULTS}

    assert sorted(taking - sent - WITHOUT_A_CHECK) == []
    assert sorted(WITHOUT_A_CHECK - (taking - sent)) == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"no such member": 1}', b"\xff"])
def test_a_body_of_another_form_has_a_place(world: World, content: bytes) -> None:
    without = []
    for name, (method, path, operation) in world.tour.operations.items():
        if method == "GET" or "application/x-ndjson" in operation.get("requestBody", {}).get("content", {}):
            continue
        address = re.sub(r"\{\w+\}", world.ids["issuer"], path)
        headers = {"Content-Type": "application/json", "Idempotency-Key": f"place of {name}"}
        response = find_client(world, name).request(method, address, content=content, headers=headers)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")  # for people, in words
        if response.status_code == 400 and not is_page and not response.json()["details"].get("fields"):
            without.append(f"{name}: {response.text[:200]}")

    assert without == []


@pytest.mark.parametrize("path", ["/v1/issuers/%zz", "/v1/issuers/%ff", "/v1/issuers/%00", "/v1/issuers/x"])
def test_a_path_that_cannot_be_read_has_a_place(world: World, path: str) -> None:
    response = world.tour.access.account.with_key.get(path)

    assert response.status_code == 400
    assert [POINTER.fullmatch(each["field"]) is not None for each in response.json()["details"]["fields"]] == [True]
