"""The subscription over HTTP: larger plans now, smaller ones later, previews, and what each costs."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Caller, Plan, Scope
from attestlab.orgs.service import TenantCreated
from support.billing import BILLING, amounts, attach, change_plan, go_to_next_month, read, sweep
from support.orgs import TenantClients, read_audit_trail
from support.outbox import read_events


@pytest.mark.both_engines
def test_a_larger_plan_holds_with_the_next_request_and_is_charged_for_the_rest_of_the_month(
    lab: Installation, client: httpx.Client, payer: Caller
) -> None:
    free = read(client, "subscription")

    changed = change_plan(client, "STARTER")

    assert (free["plan"], free["amount_minor"], free["id"]) == ("FREE", 0, str(payer.tenant_id))
    assert (changed["plan"], changed["amount_minor"], changed["pending_plan"]) == ("STARTER", 2_900, None)
    assert changed == read(client, "subscription")
    assert client.get("/v1/me").json()["plan"] == "STARTER"
    assert read(client, "entitlements")["limits"]["issuers"] == 10
    (invoice,) = read(client, "invoices")["items"]
    assert (invoice["status"], invoice["amount_minor"], invoice["currency"]) == ("open", 1_450, "USD")
    assert (invoice["period_start"], invoice["period_end"]) == ("2026-12-16T12:00:00.000Z", "2027-01-01T00:00:00.000Z")
    assert [line["amount_minor"] for line in invoice["lines"]] == [1_450]
    assert read(client, f"invoices/{invoice['id']}") == invoice
    assert [kind for kind, _ in read_events(lab, payer)] == ["billing.invoice.created", "billing.subscription.created"]
    assert list(fsck(lab)) == []


def test_the_second_paid_plan_is_an_update_and_costs_the_difference(
    lab: Installation, client: httpx.Client, payer: Caller
) -> None:
    change_plan(client, "STARTER")
    change_plan(client, "PROFESSIONAL")

    assert amounts(client) == [1_450, 8_500]
    kind, data = read_events(lab, payer)[-1]
    assert (kind, data["plan"], data["changed"]) == ("billing.subscription.updated", "PROFESSIONAL", "plan")


@pytest.mark.both_engines
def test_a_smaller_plan_waits_for_the_end_of_the_period(
    lab: Installation, client: httpx.Client, clock: FixedClock, payer: Caller
) -> None:
    change_plan(client, "PROFESSIONAL")

    waiting = change_plan(client, "STARTER")

    assert (waiting["plan"], waiting["pending_plan"]) == ("PROFESSIONAL", "STARTER")
    assert waiting["pending_at"] == waiting["current_period_end"] == "2027-01-01T00:00:00.000Z"
    assert read(client, "entitlements")["limits"]["issuers"] == 50
    assert read(client, "invoices/preview")["amount_minor"] == 2_900
    go_to_next_month(lab, clock)
    after = read(client, "subscription")
    assert (after["plan"], after["pending_plan"], after["pending_at"]) == ("STARTER", None, None)
    assert after["current_period_start"] == "2027-01-01T00:00:00.000Z"
    assert read(client, "entitlements")["limits"]["issuers"] == 10
    assert amounts(client) == [9_950, 2_900]
    assert ("tenant.plan", "SERVICE") in read_audit_trail(lab, str(payer.tenant_id))


def test_the_current_plan_cancels_a_pending_one(lab: Installation, client: httpx.Client, clock: FixedClock) -> None:
    change_plan(client, "STARTER")
    change_plan(client, "FREE")

    kept = change_plan(client, "STARTER")

    assert (kept["plan"], kept["pending_plan"], kept["pending_at"]) == ("STARTER", None, None)
    go_to_next_month(lab, clock)
    assert read(client, "subscription")["plan"] == "STARTER"
    assert amounts(client) == [1_450, 2_900]


def test_the_same_plan_twice_changes_and_publishes_nothing(
    lab: Installation, client: httpx.Client, payer: Caller
) -> None:
    change_plan(client, "STARTER")
    before = read_events(lab, payer), read_audit_trail(lab, str(payer.tenant_id))

    change_plan(client, "STARTER")

    assert (read_events(lab, payer), read_audit_trail(lab, str(payer.tenant_id))) == before


def test_a_larger_plan_cancels_a_pending_smaller_one(client: httpx.Client) -> None:
    change_plan(client, "STARTER")
    change_plan(client, "FREE")

    assert change_plan(client, "PROFESSIONAL")["pending_plan"] is None


@pytest.mark.parametrize("path", ["subscription", "subscription/preview"])
def test_enterprise_is_agreed_with_the_operator(client: httpx.Client, path: str) -> None:
    refused = client.post(f"{BILLING}/{path}", json={"plan": "ENTERPRISE"})

    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "contact_operator")
    assert read(client, "subscription")["plan"] == "FREE"


def test_a_preview_says_what_the_change_then_does(client: httpx.Client) -> None:
    change = {"plan": "STARTER", "addons": {"extra_issuers": 2}}

    shown = client.post(f"{BILLING}/subscription/preview", json=change).json()

    assert (shown["effective_at"], shown["due_now_minor"]) == ("2026-12-16T12:00:00.000Z", 2_450)
    assert (shown["next_invoice"]["amount_minor"], shown["next_invoice"]["status"]) == (4_900, "draft")
    assert (shown["next_invoice"]["id"], shown["next_invoice"]["number"]) == (None, None)
    issuers = next(each for each in shown["effects"] if each["resource"] == "issuers")
    assert issuers == {"resource": "issuers", "limit_before": 2, "limit_after": 20, "used": 0, "over": False}
    assert read(client, "subscription")["plan"] == "FREE"
    change_plan(client, "STARTER")
    attach(client, "extra_issuers", 2)
    assert sum(amounts(client)) == shown["due_now_minor"]
    drafted, announced = read(client, "invoices/preview"), shown["next_invoice"]
    assert (drafted["lines"], drafted["amount_minor"]) == (announced["lines"], announced["amount_minor"])
    assert read(client, "entitlements")["limits"]["issuers"] == issuers["limit_after"]


def test_a_preview_of_a_smaller_plan_says_what_would_be_over_its_limit(client: httpx.Client) -> None:
    change_plan(client, "STARTER")
    for number in range(3):
        made = client.post("/v1/issuers", json={"name": f"Issuer {number}", "domain": f"i{number}.example"})
        assert made.status_code == 201

    shown = client.post(f"{BILLING}/subscription/preview", json={"plan": "FREE"}).json()

    assert (shown["effective_at"], shown["due_now_minor"]) == ("2027-01-01T00:00:00.000Z", 0)
    assert [each["resource"] for each in shown["effects"] if each["over"]] == ["issuers"]


def test_an_empty_preview_is_the_next_invoice(client: httpx.Client) -> None:
    change_plan(client, "STARTER")
    change_plan(client, "FREE")

    shown = client.post(f"{BILLING}/subscription/preview", json={}).json()

    assert (shown["due_now_minor"], shown["effects"], shown["next_invoice"]["amount_minor"]) == (0, [], 0)


def test_months_without_a_sweep_are_charged_one_by_one(
    lab: Installation, client: httpx.Client, clock: FixedClock
) -> None:
    change_plan(client, "STARTER")

    clock.advance(timedelta(days=80))
    sweep(lab)
    sweep(lab)

    starts = [each["period_start"][:7] for each in reversed(read(client, "invoices")["items"])]
    assert (starts, amounts(client)) == (["2026-12", "2027-01", "2027-02", "2027-03"], [1_450, 2_900, 2_900, 2_900])
    assert [each["number"][-5:] for each in read(client, "invoices")["items"]] == ["-0004", "-0003", "-0002", "-0001"]


def test_invoices_are_listed_by_pages(lab: Installation, client: httpx.Client, clock: FixedClock) -> None:
    change_plan(client, "STARTER")
    clock.advance(timedelta(days=80))
    sweep(lab)

    first = read(client, "invoices", limit="3")
    rest = read(client, "invoices", limit="3", cursor=first["next_cursor"])

    assert [*first["items"], *rest["items"]] == read(client, "invoices")["items"]
    assert (len(first["items"]), rest["next_cursor"]) == (3, None)


def test_a_change_before_the_sweep_sees_the_new_month(
    lab: Installation, client: httpx.Client, clock: FixedClock
) -> None:
    change_plan(client, "PROFESSIONAL")
    change_plan(client, "FREE")
    clock.advance(timedelta(days=16))

    changed = change_plan(client, "STARTER")

    assert (changed["plan"], changed["pending_plan"]) == ("STARTER", None)
    assert len(amounts(client)) == 2
    sweep(lab)
    assert read(client, "subscription")["plan"] == "STARTER"


def test_the_operator_changes_a_subscription_too(
    lab: Installation, client: httpx.Client, tenant: TenantCreated, payer: Caller
) -> None:
    lab.billing.set_plan(tenant.tenant_id, Plan.PROFESSIONAL, {"issuers": 7})
    lab.billing.set_plan(tenant.tenant_id, Plan.FREE, {})
    lab.billing.set_plan(tenant.tenant_id, Plan.PROFESSIONAL, {})

    assert amounts(client) == [9_950]
    assert read(client, "subscription")["plan"] == "PROFESSIONAL"
    kinds = [kind for kind, _ in read_events(lab, payer) if "subscription" in kind]
    assert kinds == ["billing.subscription.created", *["billing.subscription.updated"] * 2]
    assert list(fsck(lab)) == []


def test_the_operators_choice_of_the_current_plan_cancels_a_pending_one(
    lab: Installation, client: httpx.Client, tenant: TenantCreated
) -> None:
    change_plan(client, "STARTER")
    change_plan(client, "FREE")

    lab.billing.set_plan(tenant.tenant_id, Plan.STARTER, {})

    assert read(client, "subscription")["pending_plan"] is None


def test_plans_are_public_and_have_their_prices(clients: TenantClients) -> None:
    with clients.anonymous() as anyone:
        plans = anyone.get(f"{BILLING}/plans").json()["items"]

    prices = {each["plan"]: each["amount_minor"] for each in plans}
    assert prices == {"FREE": 0, "STARTER": 2_900, "PROFESSIONAL": 19_900, "ENTERPRISE": None}
    assert plans[1]["limits"]["verifications_per_day"] == 1_000


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("subscription", {}, "/plan"),
        ("subscription", {"plan": None}, "/plan"),
        ("subscription", {"plan": "starter"}, "/plan"),
        ("subscription", {"plan": 1}, "/plan"),
        ("subscription", {"plan": "STARTER", "tenant_id": "x"}, "/tenant_id"),
        ("subscription/preview", {"plan": "GOLD"}, "/plan"),
        ("subscription/preview", {"addons": {"extra_isuers": 1}}, "/addons/extra_isuers"),
        ("subscription/preview", {"addons": {"extra_issuers": 1001}}, "/addons/extra_issuers"),
        ("subscription/preview", {"addons": {"extra_issuers": -1}}, "/addons/extra_issuers"),
        ("subscription/preview", {"addons": {"extra_issuers": True}}, "/addons/extra_issuers"),
        ("subscription/preview", {"addons": []}, "/addons"),
        ("addons/attach", {}, "/addon_key"),
        ("addons/attach", {"addon_key": None}, "/addon_key"),
        ("addons/attach", {"addon_key": "x" * 65}, "/addon_key"),
        ("addons/attach", {"addon_key": "extra_isuers"}, "/addon_key"),
        ("addons/attach", {"addon_key": "extra_issuers", "quantity": 0}, "/quantity"),
        ("addons/attach", {"addon_key": "extra_issuers", "quantity": 1001}, "/quantity"),
        ("addons/attach", {"addon_key": "extra_issuers", "quantity": 1.5}, "/quantity"),
        ("addons/attach", {"addon_key": "extra_issuers", "quantity": "2"}, "/quantity"),
        ("addons/attach", {"addon_key": "extra_issuers", "quantity": None}, "/quantity"),
        ("addons/detach", {"addon_key": ""}, "/addon_key"),
        ("addons/detach", {"addon_key": 7}, "/addon_key"),
    ],
)
def test_a_wrong_field_is_named_and_changes_nothing(
    client: httpx.Client, path: str, body: dict[str, Any], field: str
) -> None:
    refused = client.post(f"{BILLING}/{path}", json=body)

    assert refused.status_code == 400, refused.text
    assert [each["field"] for each in refused.json()["details"]["fields"]] == [field]
    assert (read(client, "subscription")["amount_minor"], amounts(client)) == (0, [])


def test_who_may_read_and_who_may_change(clients: TenantClients) -> None:
    callers = {
        "reader": clients.with_key(Scope.BILLING_READ),
        "narrow": clients.with_key(Scope.ISSUERS_READ),
        "member": clients.person("member")[1],
        "admin": clients.person("admin")[1],
    }
    reads, writes = {}, {}
    for name, caller in callers.items():
        with caller:
            reads[name] = caller.get(f"{BILLING}/subscription").status_code
            writes[name] = caller.post(f"{BILLING}/subscription", json={"plan": "STARTER"}).status_code

    assert reads == {"reader": 200, "narrow": 403, "member": 200, "admin": 200}
    assert writes == {"reader": 403, "narrow": 403, "member": 403, "admin": 200}


def test_an_invoice_of_another_tenant_is_unknown(lab: Installation, clients: TenantClients) -> None:
    other = lab.orgs.create_tenant("Another", plan=Plan.FREE)
    lab.billing.change(Plan.STARTER, caller=lab.orgs.service_caller(other.tenant_id))
    (invoice,) = lab.billing.list_invoices(other.tenant_id)

    with clients.owner() as client:
        assert client.get(f"{BILLING}/invoices/{invoice.id}").status_code == 404
        assert read(client, "invoices")["items"] == []
