"""Add-ons over HTTP: what they raise, what they cost, and who wins when fifty come at once."""

from __future__ import annotations

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import AddOn, Caller, Plan
from support.attestations import make_mint_body, mint
from support.billing import BILLING, amounts, attach, change_plan, detach, go_to_next_month, read
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import TenantClients
from support.outbox import read_events
from support.together import call_together

RAISED = {
    "extra_verifications": ("verifications_per_day", 100, 20_100),
    "extra_issuers": ("issuers", 2, 12),
    "extra_agents": ("agents", 3, 53),
    "webhook_pack": ("webhook_endpoints", 1, 11),
}


def register(client: httpx.Client, number: int) -> httpx.Response:
    return client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})


@pytest.mark.both_engines
def test_an_addon_raises_its_limit_until_it_is_detached(client: httpx.Client) -> None:
    assert [register(client, number).status_code for number in range(3)] == [201, 201, 402]

    attached = attach(client, "extra_issuers")

    assert attached.status_code == 201
    assert attached.json().items() >= {"addon_key": "extra_issuers", "quantity": 1, "status": "active"}.items()
    assert [register(client, number).status_code for number in range(3, 9)] == [201] * 5 + [402]
    gone = detach(client, "extra_issuers")
    assert (gone.status_code, gone.content, gone.headers.get("Content-Type")) == (200, b"", None)
    refused = register(client, 9)
    details = {"resource": "issuers", "limit": 2, "used": 7, "upgrade_url": f"{BILLING}/plans"}
    assert (refused.status_code, refused.json()["details"].items() >= details.items()) == (402, True)
    assert len(client.get("/v1/issuers").json()["items"]) == 7
    assert client.get(refused.json()["details"]["upgrade_url"]).status_code == 200


@pytest.mark.parametrize("key", [*RAISED])
def test_two_units_raise_a_limit_twice(client: httpx.Client, key: str) -> None:
    limit, before, after = RAISED[key]
    assert read(client, "entitlements")["limits"][limit] == before

    attach(client, key, 2)

    held = read(client, "entitlements")
    assert (held["limits"][limit], held["addons"]) == (after, {key: 2})


def test_priority_support_is_a_switch(client: httpx.Client) -> None:
    assert read(client, "entitlements")["features"] == {"priority_support": False}

    attach(client, "priority_support")

    assert read(client, "entitlements")["features"] == {"priority_support": True}


@pytest.mark.both_engines
def test_a_switch_is_not_charged_twice(client: httpx.Client) -> None:
    wanted = {"addons": {"priority_support": 2}}
    refused = [attach(client, "priority_support", 2), client.post(f"{BILLING}/subscription/preview", json=wanted)]

    assert [(each.status_code, each.json()["details"]["fields"][0]["field"]) for each in refused] == [
        (400, "/quantity"),
        (400, "/addons/priority_support"),
    ]
    assert (amounts(client), read(client, "entitlements")["addons"]) == ([], {})
    assert (attach(client, "priority_support").status_code, len(amounts(client))) == (201, 1)


def test_all_addons_with_the_most_units_fit(client: httpx.Client) -> None:
    most = {addon.value: 1 if addon is AddOn.PRIORITY_SUPPORT else 1000 for addon in AddOn}
    assert [attach(client, key, units).status_code for key, units in most.items()] == [201] * 5

    offered = read(client, "addons")["items"]
    assert [(each["addon_key"], each["attached"], each["quantity"]) for each in offered] == [
        (key, True, units) for key, units in most.items()
    ]
    assert read(client, "subscription")["amount_minor"] == 4_001 * 1_000


def test_only_more_units_are_charged_and_only_once_a_month(
    lab: Installation, client: httpx.Client, clock: FixedClock
) -> None:
    first = attach(client, "extra_agents", 2)
    again = attach(client, "extra_agents", 2)
    more = attach(client, "extra_agents", 3)
    fewer = attach(client, "extra_agents", 1)
    detach(client, "extra_agents")
    back = attach(client, "extra_agents", 3)

    assert [each.status_code for each in (first, again, more, fewer, back)] == [201, 200, 200, 200, 201]
    assert {each.json()["addon_id"] for each in (first, again, more, fewer, back)} == {first.json()["addon_id"]}
    assert amounts(client) == [1_000, 500]
    go_to_next_month(lab, clock)
    assert amounts(client)[2:] == [3_000]
    detach(client, "extra_agents")
    go_to_next_month(lab, clock)
    assert len(amounts(client)) == 3
    assert list(fsck(lab)) == []


def test_a_client_may_prefer_the_detached_addon(client: httpx.Client) -> None:
    made = attach(client, "webhook_pack").json()

    prefer = {"Prefer": "respond-async, return=representation"}
    gone = client.post(f"{BILLING}/addons/detach", json={"addon_key": "webhook_pack"}, headers=prefer)

    assert gone.status_code == 200
    shown = {"addon_id": made["addon_id"], "addon_key": "webhook_pack", "status": "detached"}
    assert gone.json() == {**shown, "detached_at": "2026-12-16T12:00:00.000Z"}


@pytest.mark.parametrize("key", ["extra_issuers", "extra_isuers", "😀", "priority_support"])
def test_what_is_not_attached_cannot_be_detached(client: httpx.Client, key: str) -> None:
    assert detach(client, key).status_code == 404


def test_an_unknown_addon_names_the_nearest(client: httpx.Client) -> None:
    assert "extra_issuers" in attach(client, "extra_isuers").json()["message"]
    assert "webhook_pack" in attach(client, "zzzzzz").json()["message"]


def test_an_addon_raises_the_operators_limit_and_leaves_no_limit_unlimited(
    lab: Installation, client: httpx.Client, payer: Caller
) -> None:
    attach(client, "extra_issuers")
    attach(client, "extra_agents")

    lab.billing.set_plan(payer.tenant_id, lab.billing.subscription(caller=payer).plan, {"issuers": 7, "agents": None})

    limits = read(client, "entitlements")["limits"]
    assert (limits["issuers"], limits["agents"]) == (12, None)


def test_a_verification_that_the_plan_refuses_is_possible_with_an_addon(
    lab: Installation, client: httpx.Client, payer: Caller
) -> None:
    lab.billing.set_plan(payer.tenant_id, Plan.FREE, {"verifications_per_day": 1, "requests_per_minute": None})
    attestation_id = mint(client, make_mint_body(register_issuer(client))).json()["id"]

    def verify() -> httpx.Response:
        return client.post("/v1/verify", json={"attestation_id": attestation_id})

    assert verify().status_code == 200
    refused = verify()
    assert (refused.status_code, refused.json()["details"]["upgrade_url"]) == (402, f"{BILLING}/plans")
    attach(client, "extra_verifications")
    assert verify().status_code == 200
    detach(client, "extra_verifications")
    assert verify().status_code == 402


def test_addons_survive_a_change_of_plan(client: httpx.Client) -> None:
    attach(client, "extra_issuers")
    change_plan(client, "STARTER")

    assert read(client, "entitlements")["limits"]["issuers"] == 15
    assert read(client, "invoices/preview")["amount_minor"] == 3_900


@pytest.mark.both_engines
def test_fifty_that_attach_at_once_attach_it_once(lab: Installation, clients: TenantClients, payer: Caller) -> None:
    key = clients.tenant.api_key

    def attach_alone(_: int) -> int:
        with make_client(clients.url, key=key) as client:
            return attach(client, "extra_issuers", 2).status_code

    statuses = sorted(call_together(attach_alone, range(50)))

    assert statuses == [200] * 49 + [201]
    assert [each.amount_minor for each in lab.billing.list_invoices(payer.tenant_id)] == [1_000]
    assert [kind for kind, _ in read_events(lab, payer)].count("billing.subscription.updated") == 1


@pytest.mark.both_engines
def test_fifty_that_detach_at_once_detach_it_once(clients: TenantClients) -> None:
    key = clients.tenant.api_key

    def detach_alone(_: int) -> int:
        with make_client(clients.url, key=key) as client:
            return detach(client, "extra_issuers").status_code

    with make_client(clients.url, key=key) as client:
        attach(client, "extra_issuers")
    statuses = sorted(call_together(detach_alone, range(50)))

    assert statuses == [200] + [404] * 49


@pytest.mark.both_engines
def test_fifty_that_attach_and_detach_at_once_lose_no_count(
    lab: Installation, clients: TenantClients, payer: Caller
) -> None:
    def change_alone(number: int) -> int:
        with make_client(clients.url, key=clients.tenant.api_key) as client:
            return (detach if number % 2 else attach)(client, "extra_issuers").status_code

    statuses = call_together(change_alone, range(50))
    attached, detached = statuses[::2], statuses[1::2]
    with make_client(clients.url, key=clients.tenant.api_key) as client:
        is_attached = "extra_issuers" in read(client, "entitlements")["addons"]
        limit = read(client, "entitlements")["limits"]["issuers"]

    assert set(attached) <= {200, 201}
    assert set(detached) <= {200, 404}
    assert attached.count(201) - detached.count(200) == is_attached
    assert limit == (7 if is_attached else 2)
    assert [each.amount_minor for each in lab.billing.list_invoices(payer.tenant_id)] == [500]
    changes = [kind for kind, _ in read_events(lab, payer)].count("billing.subscription.updated")
    assert changes == attached.count(201) + detached.count(200)


@pytest.mark.both_engines
def test_one_of_fifty_gets_the_last_issuer_of_a_plan(lab: Installation, clients: TenantClients, payer: Caller) -> None:
    key = clients.tenant.api_key
    lab.orgs.set_plan(payer.tenant_id, Plan.ENTERPRISE, {"issuers": 2})  # whose requests are not limited

    def register_alone(number: int) -> int:
        with make_client(clients.url, key=key) as client:
            return register(client, number).status_code

    register_alone(0)
    statuses = sorted(call_together(register_alone, range(1, 51)))

    assert statuses == [201] + [402] * 49
