"""Verification profiles over real HTTP, on either database."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.policy.language.document import Document
from support.in_process_server import serve_in_thread
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events_of_type
from support.policies.documents import make_condition, make_document, make_rule

pytestmark = pytest.mark.one_world

PATH = "/v1/verification-profiles"


@pytest.fixture
def tenant_clients(lab: Installation) -> Iterator[TenantClients]:
    tenant = lab.orgs.create_tenant("Verifier", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def key(tenant_clients: TenantClients) -> Iterator[httpx.Client]:
    with tenant_clients.with_key() as opened:
        yield opened


def made(key: httpx.Client, name: str = "Degrees that we accept", **more: Any) -> dict[str, Any]:
    answer = key.post(PATH, json={"name": name, **more})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.mark.both_engines
def test_profile_is_created_returned_published_and_audited(key: httpx.Client, tenant_clients: TenantClients) -> None:
    answer = key.post(PATH, json={"name": "  Degrees that we accept ", "description": "For admissions."})

    profile = answer.json()
    assert (answer.status_code, answer.headers["Location"]) == (201, f"{PATH}/{profile['id']}")
    assert (profile["name"], profile["description"]) == ("Degrees that we accept", "For admissions.")
    assert key.get(answer.headers["Location"]).json() == profile
    assert read_events_of_type(tenant_clients.lab, "verification_profile.created")[0]["profile_id"] == profile["id"]
    assert read_audit_trail(tenant_clients.lab, profile["id"]) == [("verification_profile.create", "API_KEY")]


@pytest.mark.both_engines
def test_profiles_are_listed_newest_first_page_by_page(key: httpx.Client, clock: FixedClock) -> None:
    names = []
    for number in range(3):
        names.append(made(key, f"Profile {number}")["name"])
        clock.advance(timedelta(seconds=1))

    first = key.get(PATH, params={"limit": 2}).json()
    second = key.get(PATH, params={"limit": 2, "cursor": first["next_cursor"]}).json()

    assert [each["name"] for each in first["items"] + second["items"]] == names[::-1]
    assert second["next_cursor"] is None


def test_same_idempotency_key_creates_one_profile(key: httpx.Client) -> None:
    once = {"Idempotency-Key": "one"}
    first = key.post(PATH, json={"name": "Once"}, headers=once)
    again = key.post(PATH, json={"name": "Once"}, headers=once)

    assert (again.content, again.headers["Idempotent-Replayed"]) == (first.content, "true")
    assert len(key.get(PATH).json()["items"]) == 1


@pytest.mark.parametrize("body", [{}, {"name": " "}, {"name": "two\nlines"}, {"name": "x", "status": "ACTIVE"}])
def test_malformed_profile_is_rejected(key: httpx.Client, body: dict[str, Any]) -> None:
    assert key.post(PATH, json=body).status_code == 400


@pytest.mark.parametrize("category", ["MINT", "BUNDLE_EXPORT"])
def test_profile_policy_for_other_action_than_verify_is_rejected(key: httpx.Client, category: str) -> None:
    """A version that was stored before is read as ever: reading a document refuses nothing of this."""
    raw = make_document(make_rule("r", "DENY", make_condition("status", "eq", "REVOKED")), category=category)
    bound = {**raw, "target_type": "VERIFICATION_PROFILE", "target_id": made(key)["id"]}

    answer = key.post("/v1/policies", json=bound)

    (field,) = answer.json()["details"]["fields"]
    assert (answer.status_code, field["field"], field["code"]) == (400, "/target_type", "never_asked")
    assert "VERIFY only" in field["message"]
    assert Document.read(bound).category == category


def test_policy_is_bound_to_profile_of_its_own_tenant(key: httpx.Client, tenant_clients: TenantClients) -> None:
    raw = make_document(make_rule("r", "DENY", make_condition("status", "eq", "REVOKED")), category="VERIFY")
    bound = {**raw, "target_type": "VERIFICATION_PROFILE", "target_id": made(key)["id"]}
    assert key.post("/v1/policies", json=bound).status_code == 201

    with tenant_clients.with_key(tenant=tenant_clients.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)) as other:
        theirs = other.post("/v1/policies", json=bound)
    nobodys = key.post("/v1/policies", json={**bound, "target_id": str(uuid4())})

    assert (theirs.status_code, nobodys.status_code) == (404, 404)
