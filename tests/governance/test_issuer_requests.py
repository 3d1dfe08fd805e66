"""Requests about an issuer's standing: who asks, who agrees, what happens then, and what the log says of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import update

from attestlab.core.clock import FixedClock
from attestlab.governance import service
from attestlab.issuers import integrity
from attestlab.issuers.store import issuers
from support.governance import PATH, GovernanceScenario
from support.issuers import register_issuer
from support.log.entries import read_log_entries
from support.outbox import read_events_of_type

pytestmark = pytest.mark.one_world

TIER = {"new_trust_tier": "VERIFIED"}


@pytest.mark.both_engines
def test_request_is_approved_by_another_and_executed_by_the_tenant(governance: GovernanceScenario) -> None:
    minted = governance.minted().json()["id"]
    asked = governance.ask("SUSPEND_ISSUER")
    request = asked.json()
    assert (asked.status_code, asked.headers["Location"]) == (201, f"{PATH}/{request['id']}")
    assert (request["status"], request["approvals"], request["approvals_needed"]) == ("PENDING", [], 1)
    assert request["impact"].items() >= {"attestations": 1, "valid": 1, "active_keys": 1}.items()
    assert governance.minted().status_code == 201, "nothing has changed yet"

    approved = governance.do("approve", request["id"], who="reviewer").json()
    done = governance.do("execute", request["id"], who="admin").json()

    assert (approved["status"], len(approved["approvals"]), approved["impact"]["attestations"]) == ("APPROVED", 1, 2)
    assert done["status"] == "EXECUTED"
    entry = read_log_entries(governance.lab, done["log_index"])[0].members
    assert (entry["type"], entry["status"], entry["issuer_id"]) == (
        "issuer.status",
        "SUSPENDED",
        governance.issuer["id"],
    )
    assert [event["issuer_id"] for event in read_events_of_type(governance.lab, "issuer.suspended")] == [
        governance.issuer["id"]
    ]
    refused = governance.minted()
    assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "issuer_not_active")
    found = governance.verdict(minted)
    assert (found["verdict"], found["governance"]["issuer_status"], found["governance"]["snapshot_status"]) == (
        *("VALID", "SUSPENDED", "ACTIVE"),
    )
    assert "issuer_suspended" in found["reasons"]


def test_a_suspended_issuer_is_reinstated_and_mints_again(governance: GovernanceScenario) -> None:
    governance.decide("SUSPEND_ISSUER", "admin")

    governance.decide("REINSTATE_ISSUER", "reviewer")

    assert governance.minted().status_code == 201


def test_revoked_issuer_cannot_mint_and_earlier_attestations_are_flagged(governance: GovernanceScenario) -> None:
    before = governance.minted().json()["id"]

    governance.decide("REVOKE_ISSUER", "admin", "reviewer")

    found = governance.verdict(before)
    assert (found["verdict"], "issuer_revoked" in found["reasons"], "governance_ok" in found["reasons"]) == (
        *("VALID", True, False),
    )
    assert governance.minted().status_code == 403
    over = governance.ask("REINSTATE_ISSUER")
    assert (over.status_code, over.json()["details"]["issuer_status"]) == (409, "REVOKED")


def test_verification_shows_tier_and_rating_now_and_at_the_mint(governance: GovernanceScenario) -> None:
    minted = governance.minted().json()["id"]

    governance.decide("CHANGE_TRUST_TIER", "reviewer", **TIER)
    governance.decide("CHANGE_RISK_RATING", "reviewer", new_risk_rating="HIGH")

    shown = governance.verdict(minted)["governance"]
    assert (shown["issuer_trust_tier"], shown["snapshot_trust_tier"]) == ("VERIFIED", "SELF_SIGNED")
    assert (shown["issuer_risk_rating"], shown["snapshot_risk_rating"]) == ("HIGH", "LOW")
    assert governance.key.get(f"/v1/issuers/{governance.issuer['id']}").json()["trust_tier"] == "VERIFIED"


@pytest.mark.parametrize(
    ("kind", "more", "first", "second"),
    [
        ("REVOKE_ISSUER", {}, "admin", "reviewer"),
        ("CHANGE_TRUST_TIER", {"new_trust_tier": "ENTERPRISE"}, "reviewer", "second reviewer"),
    ],
)
def test_irreversible_change_needs_two_approvals(
    governance: GovernanceScenario, kind: str, more: dict[str, str], first: str, second: str
) -> None:
    request_id = governance.asked(kind, **more)
    one = governance.do("approve", request_id, who=first).json()
    again = governance.do("approve", request_id, who=first)
    early = governance.do("execute", request_id, who="owner")
    two = governance.do("approve", request_id, who=second).json()

    assert (one["status"], one["approvals_needed"], two["status"]) == ("PENDING", 2, "APPROVED")
    assert (again.status_code, again.json()["details"]["reason"]) == (409, "already_approved")
    assert early.status_code == 409
    assert early.json()["details"].items() >= {"status": "PENDING", "approvals": 1, "approvals_needed": 2}.items()
    assert governance.do("execute", request_id, who="owner").status_code == 200


def test_own_request_cannot_be_approved(governance: GovernanceScenario) -> None:
    request_id = governance.asked("SUSPEND_ISSUER", who="admin")

    refused = governance.do("approve", request_id, who="admin")

    assert (refused.status_code, refused.json()["details"]["reason"]) == (403, "own_request")
    assert governance.do("approve", request_id, who="owner").json()["status"] == "APPROVED"


@pytest.mark.parametrize(
    ("kind", "more"), [("CHANGE_TRUST_TIER", TIER), ("CHANGE_RISK_RATING", {"new_risk_rating": "HIGH"})]
)
def test_only_the_platform_approves_changes_that_raise_trust(
    governance: GovernanceScenario, kind: str, more: dict[str, str]
) -> None:
    request_id = governance.asked(kind, **more)

    refused = governance.do("approve", request_id, who="admin")

    assert (refused.status_code, refused.json()["details"]["required_roles"]) == (403, ["reviewer", "super_admin"])
    assert governance.do("approve", request_id, who="analyst").status_code == 403
    assert governance.do("approve", request_id, who="reviewer").status_code == 200


def test_rejected_request_is_final_and_requesters_may_withdraw(governance: GovernanceScenario) -> None:
    refused, withdrawn = governance.asked("SUSPEND_ISSUER"), governance.asked("REVOKE_ISSUER", who="admin")

    rejected = governance.do("reject", refused, who="reviewer", reason="no evidence").json()
    taken_back = governance.do("reject", withdrawn, who="admin", reason="a mistake").json()

    assert (rejected["status"], rejected["rejection_reason"]) == ("REJECTED", "no evidence")
    assert taken_back["status"] == "REJECTED"
    later = [governance.do(verb, refused, who="reviewer").status_code for verb in ("approve",)]
    later.append(governance.do("execute", refused, who="owner").status_code)
    later.append(governance.do("reject", refused, who="reviewer", reason="again").status_code)
    assert later == [409, 409, 409]
    assert governance.minted().status_code == 201


def test_request_overtaken_by_another_change_is_not_executed(governance: GovernanceScenario) -> None:
    first, second = governance.asked("SUSPEND_ISSUER"), governance.asked("SUSPEND_ISSUER")
    for request_id in (first, second):
        governance.do("approve", request_id, who="reviewer")
    assert governance.do("execute", first, who="owner").status_code == 200

    overtaken = governance.do("execute", second, who="owner")

    assert (overtaken.status_code, overtaken.json()["details"]["issuer_status"]) == (409, "SUSPENDED")
    assert governance.who("owner").get(f"{PATH}/{second}").json()["status"] == "APPROVED"


@pytest.mark.both_engines
def test_concurrent_executions_apply_once(governance: GovernanceScenario) -> None:
    request_id = governance.asked("SUSPEND_ISSUER")
    governance.do("approve", request_id, who="reviewer")
    before = len(read_log_entries(governance.lab))

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: governance.do("execute", request_id, who="owner").status_code, range(8)))

    assert sorted(statuses) == [200] + [409] * 7
    assert len(read_log_entries(governance.lab)) == before + 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "CHANGE_TRUST_TIER"}, "/new_trust_tier"),
        ({"type": "CHANGE_RISK_RATING", "new_trust_tier": "BASIC"}, "/new_trust_tier"),
        ({"type": "SUSPEND_ISSUER", "new_risk_rating": "HIGH"}, "/new_risk_rating"),
        ({"type": "SUSPEND_ISSUER", "reason": "   "}, "/reason"),
        ({"type": "ABOLISH_ISSUER"}, "/type"),
        ({"type": "SUSPEND_ISSUER", "status": "APPROVED"}, "/status"),
    ],
)
def test_request_with_missing_or_extra_values_is_rejected(
    governance: GovernanceScenario, body: dict[str, Any], field: str
) -> None:
    sent = {"target_issuer_id": governance.issuer["id"], "reason": "r", **body}

    refused = governance.who("owner").post(PATH, json=sent)

    assert refused.status_code == 400
    assert field in [fault["field"] for fault in refused.json()["details"]["fields"]]
    assert governance.who("owner").get(PATH).json()["items"] == []


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("REINSTATE_ISSUER", {}),
        ("CHANGE_TRUST_TIER", {"new_trust_tier": "SELF_SIGNED"}),
        ("CHANGE_RISK_RATING", {"new_risk_rating": "LOW"}),
    ],
)
def test_request_without_effect_is_rejected(governance: GovernanceScenario, kind: str, more: dict[str, str]) -> None:
    refused = governance.ask(kind, **more)

    assert (refused.status_code, refused.json()["details"]["issuer_status"]) == (409, "ACTIVE")


@pytest.mark.both_engines
@pytest.mark.own_world
def test_platform_sees_all_requests_and_other_tenants_none(governance: GovernanceScenario, clock: FixedClock) -> None:
    first = governance.asked("SUSPEND_ISSUER")
    clock.advance(timedelta(milliseconds=1))
    second = governance.asked("CHANGE_TRUST_TIER", **TIER)
    governance.do("reject", first, who="owner", reason="a mistake")

    def listed(who: str, **query: str) -> list[str]:
        return [item["id"] for item in governance.who(who).get(PATH, params=query).json()["items"]]

    assert listed("owner") == listed("analyst") == listed("reviewer") == [second, first]
    assert listed("reviewer", status="PENDING", issuer_id=governance.issuer["id"]) == [second]
    assert listed("reviewer", issuer_id=str(uuid4())) == listed("stranger") == []
    page = governance.who("owner").get(PATH, params={"limit": 1}).json()
    assert listed("owner", cursor=page["next_cursor"], limit="1") == [first]
    hidden = governance.who("stranger")
    assert hidden.get(f"{PATH}/{first}").status_code == 404
    assert hidden.post(f"{PATH}/{first}/execute").status_code == 404


def test_every_step_is_audited_in_the_issuers_tenant(governance: GovernanceScenario) -> None:
    governance.decide("SUSPEND_ISSUER", "reviewer")

    query = {"resource_type": "issuer_request"}
    lines = governance.who("owner").get("/v1/audit/events", params=query).json()["items"]

    assert [line["action"].partition(".")[2] for line in lines] == ["execute", "approve", "create"]
    assert len({line["actor_id"] for line in lines}) == 2


@pytest.mark.tampered
def test_profile_change_of_a_revoked_issuer_stays_consistent(governance: GovernanceScenario) -> None:
    revoked = governance.decide("REVOKE_ISSUER", "admin", "reviewer")
    moved = governance.key.patch(f"/v1/issuers/{governance.issuer['id']}", json={"jurisdiction": "FR"})
    assert moved.status_code == 200, moved.text

    with governance.lab.storage.read() as connection:
        assert list(integrity.find_inconsistencies(connection)) == []
    with governance.lab.storage.write() as tx:
        tx.exec(update(issuers).values(revoked_index=revoked["log_index"] + 1))
    with governance.lab.storage.read() as connection:
        assert [fault for _, fault in integrity.find_inconsistencies(connection)] == [
            "the row differs from the log in the index of the revocation"
        ]


def test_blast_radius_recipients_match_deliveries(
    governance: GovernanceScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/v1/issuers/{governance.issuer['id']}/blast-radius"
    monkeypatch.setattr(service, "MAX_RECIPIENTS", 1)
    for address in ("ÄB@people.example", "äb@people.example"):
        assert governance.minted(recipient_email=address).status_code == 201
    one = governance.key.get(path).json()
    assert governance.minted(recipient_email="another@people.example").status_code == 201
    two = governance.key.get(path).json()

    assert one["by_recipient"] == two["by_recipient"]
    assert one["by_recipient"] == [{"recipient": "äb@people.example", "attestations": 2, "valid": 2}]
    assert (one["truncated"], two["truncated"]) == (False, True)


@pytest.mark.both_engines
@pytest.mark.own_world
def test_the_blast_radius_of_an_issuer_and_of_a_key(governance: GovernanceScenario, clock: FixedClock) -> None:
    def mint(kid: str, schema: str, recipient: str | None, expires: bool = False) -> None:
        claims = {"student_name": "Ada Lovelace"} if schema == "degree" else {"recipient_name": "Ada Lovelace"}
        body: dict[str, Any] = {
            **{"issuer_id": governance.issuer["id"], "kid": kid, "schema": schema, "claims": claims},
            **{"recipient_email": recipient, "alg": "Ed25519"},
        }
        if expires:
            body["expiry_at"] = "2026-11-21T13:00:00Z"
        answer = governance.key.post("/v1/attestations/mint", json=body, headers={"Idempotency-Key": str(uuid4())})
        assert answer.status_code == 201, answer.text

    first = governance.issuer["keys"][0]["kid"]
    path = f"/v1/issuers/{governance.issuer['id']}"
    governance.key.post(f"{path}/keys", json={"kid": "second", "alg": "Ed25519"})
    mint(first, "degree", "Ada@people.example")
    mint(first, "degree", None, expires=True)
    clock.advance(timedelta(days=30))
    mint("second", "degree", "ada@people.example")

    whole = governance.key.get(f"{path}/blast-radius").json()
    of_second = governance.key.get(f"{path}/blast-radius", params={"kid": "second"}).json()

    assert (whole["attestations"], whole["valid"]) == (3, 2)
    assert whole["by_schema"] == [{"schema": "degree", "attestations": 3, "valid": 2}]
    assert whole["by_month"] == [
        {"month": "2026-11", "attestations": 2, "valid": 1},
        {"month": "2026-12", "attestations": 1, "valid": 1},
    ]
    assert whole["by_recipient"] == [{"recipient": "ada@people.example", "attestations": 2, "valid": 2}]
    assert (of_second["kid"], of_second["attestations"]) == ("second", 1)
    assert governance.key.get(f"{path}/blast-radius", params={"kid": "none"}).status_code == 404
    stolen = {"reason": "stolen", "compromised_at": "2026-11-22T00:00:00Z"}
    assert governance.key.post("/v1/issuers/keys/second/compromise", json=stolen).status_code == 200
    assert governance.key.get(f"{path}/blast-radius", params={"kid": "second"}).json()["valid"] == 0
    assert governance.key.get(f"{path}/blast-radius").json()["valid"] == 1
    assert register_issuer(governance.key)["id"] != governance.issuer["id"]
