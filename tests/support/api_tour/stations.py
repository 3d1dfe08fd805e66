"""The stations of the tour: the operations of each capability, in an order in which each finds what it needs."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any
from uuid import UUID

from attestlab.core.encoding import b64url_encode
from attestlab.exports.badge_picture import BadgeFace, draw_svg
from attestlab.exports.baking.pictures import bake
from attestlab.issuers.rules import TrustTier
from attestlab.orgs.rules import Plan, Role, Scope
from attestlab.portal import assets
from support.access import PASSWORD
from support.api_tour.recording import TourRecorder
from support.api_tour.stations_of_agents import visit_agents
from support.api_tour.stations_of_delegations import visit_delegations
from support.api_tour.stations_of_events import visit_events
from support.api_tour.stations_of_people import (
    visit_accounts,
    visit_billing,
    visit_billing_portal,
    visit_consumer_pages,
    visit_protections,
    visit_receipts,
)
from support.api_tour.stations_of_runs import visit_runs
from support.api_tour.stations_of_trust import visit_trust
from support.api_tour.stations_of_votes import visit_votes
from support.attestations import make_mint_body
from support.blog import write_post
from support.identity import add_user
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import read_mailed_token
from support.webhook_delivery import ScriptedTransport

DIPLOMA = sha256(b"the file of a diploma").hexdigest()
PIXEL_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg"
POLICY: dict[str, Any] = {
    "name": "Only active issuers",
    "category": "MINT",
    "target_type": "TENANT_DEFAULT",
    "default_effect": "DENY",
    "rules": [
        {"id": "active", "effect": "ALLOW", "priority": 1, "when": {"attr": "status", "op": "eq", "value": "ACTIVE"}}
    ],
    "tests": [{"name": "an active issuer", "context": {"status": "ACTIVE"}, "allowed": True}],
}
BLOG_POST = {
    "title": "Why a log?",
    "category": "engineering",
    "content": "Because *anyone* can check it.",
    "excerpt": "What a signature cannot show.",
    "tags": ["log", "transparency"],
}
RISK_RULES = [{"id": "high", "when": {"attr": "signal.score", "op": "gte", "value": 70}}]


def visit_identity(tour: TourRecorder) -> None:
    add_user(tour.access.lab, tour.account.tenant, "ada@registry.example", PASSWORD, roles="analyst")
    with make_client(tour.access.url) as stranger:
        tokens = tour.call("sign_in", stranger, {"email": "ada@registry.example", "password": PASSWORD})
        tokens = tour.call("refresh_tokens", stranger, {"refresh_token": tokens["refresh_token"]})
        tour.call("get_token_keys", stranger)
    with make_client(tour.access.url, token=tokens["access_token"]) as ada:
        tour.call("get_me", ada)
        passwords = {"current_password": PASSWORD, "new_password": "an even longer password"}
        tour.call("change_password", ada, passwords)
        tour.call("list_sessions", ada, limit=1)
        tour.call("end_session", ada, id=_sign_in_elsewhere(tour, passwords["new_password"]))
        tour.call("sign_out", ada, {"refresh_token": tokens["refresh_token"]})


def _sign_in_elsewhere(tour: TourRecorder, password: str) -> str:
    """Sign Ada in from another device; return the session."""
    with make_client(tour.access.url) as elsewhere:
        tokens = elsewhere.post("/v1/auth/login", json={"email": "ada@registry.example", "password": password}).json()
    with make_client(tour.access.url, token=tokens["access_token"]) as other:
        session: str = other.get("/v1/me").json()["credential"]["id"]
    return session


def visit_organizations(tour: TourRecorder) -> None:
    key = tour.account.with_key
    org = tour.call("create_org", key, {"name": "Examination Office", "slug": "examination-office"})
    tour.call("list_orgs", key, limit=1)
    tour.call("get_org", key, id=org["id"])
    tour.call("update_org", key, {"name": "Office of Examinations"}, id=org["id"])
    invited = tour.call(
        "invite_user", key, {"email": "grace@registry.example", "role": "analyst", "name": "Grace Hopper"}
    )
    tour.call("get_user", key, id=invited["id"])
    token = read_mailed_token(tour.access.lab, "grace@registry.example")
    with make_client(tour.access.url) as stranger:
        tour.call("accept_invitation", stranger, {"token": token, "password": PASSWORD})
    key.post("/v1/users", json={"email": "ida@registry.example", "role": "member"}).raise_for_status()
    token = read_mailed_token(tour.access.lab, "ida@registry.example")
    with make_client(tour.access.url) as browser:
        browser.headers["Origin"] = tour.access.url
        tour.call("get_invitation_page", browser, token=token)
        tour.call("send_invitation_form", browser, {"token": token, "name": "Ida Rhodes", "password": PASSWORD})
    tour.call("change_role", key, {"role": "member"}, id=invited["id"])
    tour.call("list_users", key, limit=1)
    tour.call("remove_user", key, id=invited["id"])


def visit_api_keys(tour: TourRecorder) -> None:
    owner, consumer = tour.account.signed_in, tour.account.consumer
    made = tour.call("create_api_key", owner, {"name": "nightly mints", "scopes": ["attestations:mint"]})
    tour.call("list_api_keys", owner, limit=1)
    tour.call("get_api_key", owner, id=made["id"])
    tour.call("compromise_api_key", owner, {"reason": "found in a public repository"}, id=made["id"])
    tour.call("revoke_api_key", owner, {"reason": "replaced"}, id=made["id"])
    own = tour.call("create_consumer_key", consumer, {"name": "my wallet"})
    tour.call("list_consumer_keys", consumer, limit=1)
    tour.call("revoke_consumer_key", consumer, {"reason": "lost"}, id=own["id"])


def visit_issuers(tour: TourRecorder) -> None:
    key = tour.account.with_key
    profile = {"name": "Northfield University", "domain": "northfield.example.edu", "jurisdiction": "NO"}
    issuer = tour.call("create_issuer", key, {**profile, "alg": "Ed25519", "kid": "registrar"})
    place = {"id": issuer["id"]}
    tour.call("list_issuers", key, limit=1)
    tour.call("get_issuer", key, **place)
    tour.call("update_issuer", key, {"display_name": "Northfield"}, **place)
    tour.call("add_issuer_key", key, {"kid": "spare", "alg": "ES256"}, **place)
    tour.call("rotate_issuer_key", key, {"new_kid": "spare-2", "alg": "ES256"}, kid="spare")
    tour.call("revoke_issuer_key", key, {"reason": "no longer needed"}, kid="spare-2")
    tour.call("compromise_issuer_key", key, {"reason": "found in a public repository"}, kid="spare")
    tour.call("list_issuer_keys", key, limit=1, **place)
    tour.call("get_issuer_jwks", key, **place)
    tour.call("get_issuer_key_jwk", key, kid="registrar", **place)
    tour.call("get_issuer_metadata", key, **place)
    tour.call("get_service_metadata", key)
    tour.call("put_logo", key, {"content_b64url": PIXEL_PNG}, **place)
    tour.call("get_logo", key, **place)
    tour.call("remove_logo", key, **place)
    tour.call("get_domain_proof", key, **place)
    caller = tour.access.lab.orgs.service_caller(tour.account.tenant.tenant_id)
    tour.access.lab.issuers.set_governance(UUID(issuer["id"]), trust_tier=TrustTier.BASIC, caller=caller)
    tour.call("check_domain_proof", key, **place)  # proven, so no name server is asked


def visit_governance(tour: TourRecorder) -> None:
    owner, issuer = tour.account.signed_in, register_issuer(tour.account.with_key)["id"]
    body = {"type": "SUSPEND_ISSUER", "target_issuer_id": issuer, "reason": "under review"}
    with make_client(tour.access.url, token=tour.account.colleague) as colleague:
        asked = tour.call("create_issuer_request", colleague, body)
        rejected = colleague.post("/v1/governance/issuer-requests", json=body).json()
    tour.call("reject_issuer_request", owner, {"reason": "requested twice"}, id=rejected["id"])
    tour.call("approve_issuer_request", owner, id=asked["id"])
    tour.call("execute_issuer_request", owner, id=asked["id"])
    tour.call("get_issuer_request", owner, id=asked["id"])
    tour.call("list_issuer_requests", owner, limit=1)


def _visit_inbox(tour: TourRecorder, attestation_id: str) -> None:
    key, consumer = tour.account.with_key, tour.account.consumer
    body = {"attestation_id": attestation_id, "recipient_email": tour.account.consumer_email}
    tour.call("deliver_attestation", key, {**body, "safe_metadata": {"title": "Your degree"}})
    item = tour.call("list_inbox_items", consumer, limit=1)["items"][0]
    tour.call("get_inbox_item", consumer, id=item["id"])
    tour.call("update_inbox_item", consumer, {"read_state": "READ"}, id=item["id"])
    tour.call("decline_inbox_item", consumer, {"reason": "It is not mine."}, id=item["id"])


def visit_attestations(tour: TourRecorder) -> None:
    key = tour.account.with_key
    issuer = tour.examples["create_issuer"]["response"]["body"]
    pack = tour.call("create_pack", key, {"name": "Application of Ada", "description": "All documents"})
    tour.call("get_pack", key, id=pack["id"])
    tour.call("list_packs", key, limit=1)
    body = make_mint_body(issuer, document_hash=DIPLOMA, pack_id=pack["id"])
    body["recipient_email"] = "ada@people.example"
    minted = tour.call("mint_attestation", key, body)
    place = {"id": minted["id"]}
    tour.call("get_attestation", key, **place)
    tour.call("list_attestations", key, limit=1, status="VALID")
    tour.call("get_proof_bundle", key, **place)
    tour.call("get_delivery", key, **place)
    _visit_inbox(tour, minted["id"])
    tour.call("verify_attestation", key, {"attestation_id": minted["id"], "document_hash_hex": DIPLOMA})
    tour.call("get_blast_radius", key, id=issuer["id"], kid="registrar")
    _visit_exports(tour, minted, issuer["id"])
    plain = make_mint_body(issuer)
    tour.call("mint_batch", key, {"items": [plain, {**plain, "claims": {}}]})
    newer = tour.call("supersede_attestation", key, {**plain, "document_hash": DIPLOMA}, **place)
    tour.call("revoke_attestation", key, {"reason": "issued by mistake"}, id=newer["new"]["id"])
    tour.fail(409, "revoke_attestation", key, {"reason": "again"}, id=newer["new"]["id"])
    tour.fail(422, "mint_attestation", key, plain, **{"Idempotency-Key": "example of mint_attestation"})


def _visit_exports(tour: TourRecorder, minted: dict[str, Any], issuer_id: str) -> None:
    key, place = tour.account.with_key, {"id": minted["id"]}
    tour.call("export_sd_jwt", key, **place)
    badge = tour.call("export_open_badge", key, **place)
    tour.call("verify_open_badge", key, {"credential": badge})
    tour.call("get_status_list", key, issuer_id=issuer_id)
    with make_client(tour.access.url) as reader:
        reader.headers["Accept"] = "application/json"
        share_key = minted["share_url"].rpartition("k=")[2]
        tour.call("get_attestation_page", reader, k=share_key, **place)
        tour.call("get_shared_bundle", reader, k=share_key, **place)
        tour.call("get_shared_open_badge", reader, k=share_key, **place)
        tour.call("get_badge", reader, **place)
        tour.call("get_page_asset", reader, name=assets.public_name("icon.svg"))
        tour.call("find_attestation", reader)
        forged = bake(draw_svg(BadgeFace("MSc", "Northfield", "Degree")), f"{badge[:-8]}AAAAAAAA")
        tour.call("find_badge", reader, {"content_b64url": b64url_encode(forged)})
        for name in ("get_first_page", "get_api_reference", "get_favicon", "get_robots_txt"):
            tour.call(name, reader)
        tour.call("list_schemas", reader, limit=1)
        tour.call("get_schema", reader, id="degree")


def visit_log(tour: TourRecorder) -> None:
    with make_client(tour.access.url) as reader:
        head = tour.call("get_log_head", reader)
        size = head["tree_size"]
        tour.call("get_checkpoint", reader)
        tour.call("list_checkpoints", reader, limit=1)
        tour.call("get_tile", reader, path=f"0/000.p/{size}")
        tour.call("get_inclusion_proof", reader, index=0, tree_size=size)
        tour.call("get_consistency_proof", reader, **{"from": 1, "to": size})
        found = tour.call("list_log_entries", reader, start=0, limit=1)
        tour.call("find_log_entry", reader, hash=found["items"][0]["leaf_hash"])
        tour.call("get_log_key", reader)
    tour.call("list_audit_events", tour.account.with_key, limit=1)


def visit_policies(tour: TourRecorder) -> None:
    key, owner = tour.account.with_key, tour.account.signed_in
    own = {"path": "own.region", "type": "enum", "domain": ["EU", "US"]}
    tour.call("set_policy_attributes", key, {"attributes": [own]})
    tour.call("get_policy_attributes", key)
    made = tour.call("create_policy", key, POLICY)
    place = {"id": made["id"]}
    tour.call("get_policy", key, **place)
    tour.call("update_policy", key, {**POLICY, "name": "Active issuers only"}, **place)
    tour.call("list_policies", key, limit=1)
    tour.call("list_policy_versions", key, limit=1, **place)
    tour.call("get_policy_version", key, version=1, **place)
    tour.call("shadow_policy", key, **place)
    tour.call("analyze_policy", key, {"policy_id": made["id"], "against": POLICY})
    report = tour.call("simulate_policy", key, {"policy_id": made["id"], "by": ["jurisdiction"], "rule": "active"})
    tour.call("get_simulation_report", key, digest=report["report_digest"])
    tour.call("get_simulation_jwks", key)
    with make_client(tour.access.url, token=tour.account.colleague) as colleague:  # not the author
        tour.call("activate_policy", colleague, {"simulation_digest": report["report_digest"]}, **place)
    question = {"action": "MINT", "target_type": "TENANT_DEFAULT", "context": {"status": "SUSPENDED"}}
    decided = tour.call("evaluate_policies", key, question)
    tour.call("get_policy_decision", key, id=decided["decision_id"])
    tour.call("archive_policy", owner, **place)
    profile = tour.call("create_verification_profile", key, {"name": "Border control"})
    tour.call("get_verification_profile", key, id=profile["id"])
    tour.call("list_verification_profiles", key, limit=1)


def visit_risk(tour: TourRecorder) -> None:
    key, ada = tour.account.with_key, {"entity_type": "user", "entity_id": "ada"}
    signal = {"source": "login", "signal_type": "geo_anomaly", **ada, "details": {"country": "PT"}}
    made = tour.call("create_risk_signal", key, {**signal, "score": 85})
    tour.call("get_risk_signal", key, id=made["id"])
    lines = [json.dumps({**signal, "score": score}) for score in (20, 65)]
    tour.call("record_risk_signals", key, "\n".join(lines) + "\n")
    tour.call("list_risk_signals", key, limit=1, min_score=60, entity_type="user")
    tour.call("export_risk_signals", key, format="json", min_score=80)
    tour.call("get_risk_entity", key, type="user", id="ada")
    tour.call("get_risk_graph", key, type="user", id="ada", depth=1)
    tour.call("list_risk_sources", key, limit=1)
    tour.call("get_risk_drift", key)
    tour.call("search_tenant", key, q="risk", limit=1)
    _visit_views(tour)
    tour.call("simulate_risk_rules", key, {"rules": RISK_RULES, "points": 1})
    _visit_risk_paths(tour)
    _visit_cases(tour, made["case_id"])


def _visit_views(tour: TourRecorder) -> None:
    person, key = tour.account.signed_in, tour.account.with_key
    view = {"name": "Logins of a month", "page": "risk", "query": "days=30&source=login", "shared": True}
    made = tour.call("save_view", person, view)
    tour.call("list_views", person, page="risk", limit=1)
    tour.call("update_view", person, {"name": "Logins"}, id=made["id"])
    weekly = {"weekday": 0, "hour": 8, "recipients": [made["owner_id"]]}
    tour.call("schedule_view", person, weekly, id=made["id"])
    tour.call("end_view_schedule", person, id=made["id"])
    tour.call("delete_view", person, id=made["id"])
    campaign = {"at": "2026-11-02T09:00:00Z", "until": "2026-11-09T09:00:00Z", "text": "Campaign of a partner"}
    noted = tour.call("annotate_time", key, campaign)
    tour.call("list_annotations", key, limit=1)
    tour.call("remove_annotation", key, id=noted["id"])


def _visit_risk_paths(tour: TourRecorder) -> None:
    key, ada = tour.account.with_key, {"entity_type": "user", "entity_id": "ada"}
    tour.call("record_risk_event", key, {"event_type": "login.failed.repeated", **ada, "data": {"attempts": 6}})
    tour.call("list_risk_events", key, limit=1)
    item = {"event_type": "login.failed.repeated", "signal_type": "ato", "score": 75}
    tour.call("replace_risk_mapping", key, {"items": [item]})
    tour.call("get_risk_mapping", key)
    tour.call("normalize_risk_events", key, {})
    tour.call("record_velocity", key, {**ada, "action": "mint"})
    tour.call("scan_media", key, {"subject_ref": "passport-7", "indicators": {"face_swap": 0.9}})
    login = {"subject_id": "ada", "outcome": "failure", "ip": "203.0.113.7", "country": "PT"}
    tour.call("evaluate_login", key, login)
    past = {**login, "occurred_at": "2026-03-01T09:00:00Z"}
    tour.call("load_past_logins", key, json.dumps(past) + "\n")
    tour.call("get_backfill_progress", key)


def _visit_cases(tour: TourRecorder, case_id: str) -> None:
    key, ada = tour.account.with_key, {"entity_type": "user", "entity_id": "ada"}
    tour.call("list_cases", key, limit=1, status="open")
    tour.call("get_case", key, id=case_id)
    tour.call("list_case_groups", key, by="entity", limit=1)
    tour.call("comment_case", key, {"text": "The customer confirmed the login by phone."}, id=case_id)
    tour.call("assign_case", key, {"assignee_id": None}, id=case_id)
    resolutions = [{"id": case_id, "outcome": "legitimate", "note": "known device"}]
    tour.call("resolve_cases", key, {"items": resolutions, "undo_seconds": 10})
    tour.call("reopen_cases", key, {"ids": [case_id]})
    tour.call("resolve_case", key, {"outcome": "fraud", "note": "confirmed by phone"}, id=case_id)
    challenge = {"subject_id": "ada", "reason": "login from a new country", "risk_score": 85}
    tour.call("create_challenge", key, challenge)
    tour.call("list_challenges", key, limit=1)
    entry = tour.call("add_list_entry", key, {"list": "deny", **ada, "reason": "confirmed fraud"})
    tour.call("list_list_entries", key, limit=1, list="deny")
    tour.call("remove_list_entry", key, id=entry["id"])
    tour.call("set_risk_settings", key, {"escalation_threshold": 75})
    tour.call("get_risk_settings", key)


def visit_webhooks(tour: TourRecorder) -> None:
    key = tour.account.with_key
    body = {"name": "Case system", "url": "https://cases.example.com/hooks", "event_filters": ["attestation.*"]}
    made = tour.call("create_webhook_endpoint", key, body)
    place = {"id": made["id"]}
    tour.call("list_webhook_endpoints", key, limit=1)
    tour.call("get_webhook_endpoint", key, **place)
    filters = ["attestation.*", "risk.signal.escalated"]
    tour.call("update_webhook_endpoint", key, {"event_filters": filters}, **place)
    tour.call("rotate_webhook_secret", key, {"overlap_seconds": 3_600}, **place)
    _visit_deliveries(tour, made["id"])
    tour.call("remove_webhook_endpoint", key, **place)
    tour.call("list_webhook_event_types", key, category="webhook")
    tour.call("list_webhook_events", key, after=1, limit=1)


def _visit_deliveries(tour: TourRecorder, endpoint_id: str) -> None:
    key, place = tour.account.with_key, {"id": endpoint_id}
    tour.access.lab.webhook_deliveries.sender.transport = ScriptedTransport()
    payload = {"note": "after the change of the receiver"}
    tour.call("send_test_delivery", key, {"endpoint_id": endpoint_id, "payload": payload})
    (delivery,) = tour.call("list_webhook_deliveries", key, **place, limit=1)["items"]
    tour.call("resend_webhook_delivery", key, id=delivery["id"])
    recovery = {"since": "2026-11-20T00:00:00Z", "mode": "all", "dry_run": True}
    tour.call("recover_webhook_deliveries", key, recovery, **place)


def visit_lake(tour: TourRecorder) -> None:
    key = tour.account.with_key
    tour.call("list_lake_datasets", key)
    tour.call("get_lake_dataset", key, name="cases", columns="entity_id,status,outcome")
    sql = "select outcome, count(*) as n from signals join cases on cases.id = case_id where score >= ? group by 1"
    tour.call("query_lake", key, {"sql": sql, "parameters": [80]})


def visit_operations(tour: TourRecorder) -> None:
    with make_client(tour.access.url) as anyone:
        tour.call("check_health", anyone)
        tour.call("check_readiness", anyone)
        tour.call("get_metrics", anyone)


def visit_errors(tour: TourRecorder) -> None:
    """One request for each error that a client can cause."""
    key, unknown = tour.account.with_key, "0193b5a0-7f3c-7abc-8def-0123456789ab"
    tour.fail(400, "list_attestations", key, limit=1000)
    tour.fail(404, "get_attestation", key, id=unknown)
    tour.fail(413, "create_pack", key, {"name": "x" * 1_100_000})
    key.headers["Content-Encoding"] = "gzip"
    tour.fail(415, "create_pack", key, {"name": "x"})
    del key.headers["Content-Encoding"]
    with make_client(tour.access.url) as stranger:
        tour.fail(401, "get_me", stranger)
    with tour.access.key_with(Scope.ISSUERS_READ) as reader:
        tour.fail(403, "list_attestations", reader)
    small = tour.access.lab.orgs.create_tenant("Small", plan=Plan.FREE)
    with make_client(tour.access.url, key=small.api_key) as client:
        while client.post("/v1/issuers", json={"name": "An issuer", "domain": "a.example"}).status_code == 201:
            pass
        tour.fail(402, "create_issuer", client, {"name": "One more", "domain": "b.example"})
        while client.get("/v1/me").status_code == 200:
            pass
        tour.fail(429, "get_me", client)


def visit_blog(tour: TourRecorder) -> None:
    with tour.access.person(Role.CONTENT_ADMIN) as editor:
        picture = tour.call("upload_blog_medium", editor, {"content_b64url": PIXEL_PNG})
        post = tour.call("create_blog_post", editor, {**BLOG_POST, "cover_image_url": picture["url"]})
        place = {"id": post["id"]}
        tour.call("publish_blog_post", editor, **place)
        tag = tour.responses["publish_blog_post"].headers["ETag"]
        changes = {"slug": "why-we-keep-a-log", "tags": ["transparency"]}
        tour.call("update_blog_post", editor, changes, **place, **{"If-Match": tag})
        tour.call("get_blog_post", editor, **place)
        tour.call("list_blog_posts", editor, status="published", limit=1)
        _read_blog(tour, picture["url"].rpartition("/")[2])
        tour.call("archive_blog_post", editor, **place)
        with make_client(tour.access.url) as reader:
            tour.fail(410, "get_blog_post_page", reader, slug="why-we-keep-a-log")
        tour.call("remove_blog_post", editor, id=write_post(editor, "Never published")["id"])


def _read_blog(tour: TourRecorder, picture: str) -> None:
    with make_client(tour.access.url) as reader:
        tour.call("list_published_blog_posts", reader, category="engineering", limit=1)
        tour.call("get_published_blog_post", reader, slug="why-a-log")
        tour.call("get_blog_page", reader, tag="transparency")
        tour.call("get_blog_post_page", reader, slug="why-we-keep-a-log")
        tour.call("get_blog_feed", reader)
        tour.call("get_blog_medium", reader, sha256=picture)


STATIONS = (
    *(
        visit_identity,
        visit_organizations,
        visit_api_keys,
        visit_accounts,
        visit_issuers,
        visit_governance,
        visit_attestations,
    ),
    *(visit_log, visit_policies, visit_risk, visit_webhooks, visit_lake, visit_blog, visit_protections, visit_billing),
    *(visit_billing_portal, visit_receipts, visit_agents, visit_delegations, visit_votes, visit_events),
    *(visit_runs, visit_trust, visit_consumer_pages, visit_operations, visit_errors),
)
