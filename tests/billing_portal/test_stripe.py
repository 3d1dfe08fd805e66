"""Stripe: its portal and its events, against an account on this machine; nothing here reaches Stripe."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import httpx
import pytest
from sqlalchemy import select, update

from attestlab.billing.providers.service import StripeReading
from attestlab.billing.providers.store import customers, events
from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.plans import decode_addons
from attestlab.orgs.rules import AddOn, Scope
from support.billing_portal import PORTAL, RETURN_URL, open_portal, plan_of
from support.orgs import TenantClients, read_audit_trail
from support.stripe_account import StripeAccount, make_event, send_event, serve_stripe, sign


@pytest.fixture
def account(lab: Installation) -> Iterator[StripeAccount]:
    """An account whose keys the lab has."""
    with serve_stripe() as account:
        lab.payments.providers.stripe = account.provider()
        yield account


@pytest.fixture
def customer(account: StripeAccount, clients: TenantClients) -> str:
    """The tenant's customer, whom opening the portal made."""
    open_portal(clients)
    return f"cus_{clients.tenant.tenant_id}"


@pytest.fixture
def stripe(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.anonymous() as client:
        yield client


def test_the_first_visit_makes_a_customer_and_leads_to_the_checkout(
    account: StripeAccount, clients: TenantClients
) -> None:
    first, again = open_portal(clients), open_portal(clients)

    assert (first["portal_url"], first["embedded"]) == ("https://checkout.stripe.example/c", False)
    assert again == first
    made = [sent for path, sent in account.received if path == "/v1/customers"]
    assert made == [{"name": ["Northfield"], "metadata[tenant_id]": [str(clients.tenant.tenant_id)]}]
    assert f"attestlab-customer-{clients.tenant.tenant_id}" in account.idempotency_keys
    [bought, _] = [sent for path, sent in account.received if path == "/v1/checkout/sessions"]
    assert bought["line_items[0][price]"] == ["price_attestlab_starter"]


def test_who_pays_for_something_comes_to_the_portal(
    account: StripeAccount, clients: TenantClients, customer: str, clock: FixedClock
) -> None:
    account.subscribe(customer, starter=1)
    opened = [open_portal(clients, flow=flow)["portal_url"] for flow in ("plan", "addons", "invoices")]

    assert opened == ["https://billing.stripe.example/p"] * 3
    sessions = [sent for path, sent in account.received if path == "/v1/billing_portal/sessions"]
    assert [sent["return_url"] for sent in sessions] == [[RETURN_URL]] * 3
    assert ["flow_data[type]" in sent for sent in sessions] == [True, True, False]


def test_a_stripe_that_fails_is_a_503_and_nothing_is_kept(account: StripeAccount, clients: TenantClients) -> None:
    account.is_failing = True
    with clients.with_key(Scope.BILLING_WRITE) as key:
        answer = key.post(PORTAL, json={"return_url": RETURN_URL})

    assert answer.status_code == 503
    assert answer.json()["details"]["reason"] == "payment_provider_failed"


@pytest.mark.both_engines
def test_a_tenant_has_what_it_pays_for(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    now = lab.clock.now()
    steps = [
        ("active", {"starter": 1}, "STARTER", {}),
        ("active", {"professional": 1, "extra_issuers": 3, "other": 2}, "PROFESSIONAL", {AddOn.EXTRA_ISSUERS: 3}),
        ("past_due", {"professional": 1}, "PROFESSIONAL", {}),
        ("unpaid", {"professional": 1}, "FREE", {}),
        ("active", {"starter": 1}, "STARTER", {}),
        ("active", {}, "FREE", {}),
    ]
    seen = []
    for number, (status, units, _, _) in enumerate(steps):
        account.subscribe(customer, status, **units)
        sent = make_event(customer, f"evt_{number}")
        assert send_event(stripe, sent, sign(sent, now)).status_code == 200
        caller = lab.orgs.service_caller(clients.tenant.tenant_id)
        seen.append((caller.plan, decode_addons(caller.addons)))

    assert seen == [(plan, addons) for _, _, plan, addons in steps]


def test_stripe_alone_charges_who_pays_there(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    account.subscribe(customer, starter=1, extra_issuers=1)
    sent = make_event(customer)
    assert send_event(stripe, sent, sign(sent, lab.clock.now())).status_code == 200
    with clients.with_key(Scope.BILLING_WRITE, Scope.BILLING_READ) as key:
        answers = [
            key.post("/v1/billing/subscription", json={"plan": "PROFESSIONAL"}),
            key.post("/v1/billing/addons/attach", json={"addon_key": "extra_agents"}),
            key.post("/v1/billing/addons/detach", json={"addon_key": "extra_issuers"}),
        ]
        assert [answer.status_code for answer in answers] == [409, 409, 409]
        assert {answer.json()["details"]["reason"] for answer in answers} == {"change_in_portal"}
        assert key.get("/v1/billing/subscription").json()["provider"] == "stripe"

    lab.clock.advance(timedelta(days=40))  # type: ignore[attr-defined]
    with lab.storage.write() as tx:
        lab.billing.renew_due(tx)
    assert lab.billing.page_invoices(caller=lab.orgs.service_caller(clients.tenant.tenant_id)) == []


def test_a_customer_that_was_changed_outside_the_service_is_found(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    account.subscribe(customer, starter=1)
    sent = make_event(customer)
    assert send_event(stripe, sent, sign(sent, lab.clock.now())).status_code == 200
    place = f"{clients.tenant.tenant_id}/stripe"
    audited = [("billing_customer.create", "API_KEY"), ("billing_customer.read", "SERVICE")]
    assert read_audit_trail(lab, place) == audited
    assert list(fsck(lab)) == []

    with lab.storage.write() as tx:
        tx.exec(update(customers).values(customer_id="cus_of_another"))
    problems = list(fsck(lab))
    with lab.storage.write() as tx:
        tx.exec(update(customers).values(customer_id=customer))

    assert [(problem.kind, problem.where) for problem in problems] == [("billing_customer", place)]


def test_an_event_takes_effect_once_and_in_any_order(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    account.subscribe(customer, professional=1)
    created, updated = (
        make_event(customer, f"evt_{kind}", f"customer.subscription.{kind}") for kind in ("created", "updated")
    )
    for sent in (updated, created, updated, created):
        assert send_event(stripe, sent, sign(sent, lab.clock.now())).status_code == 200

    asked = [path for path, _ in account.received if path == "/v1/subscriptions"]
    with lab.storage.read() as connection:
        kept = {row.event_id for row in connection.execute(select(events))}
    assert plan_of(lab, clients.tenant) == "PROFESSIONAL"
    assert len(asked) == 1 + 2  # for the portal, and for each event once
    assert kept == {"evt_created", "evt_updated"}


def test_an_older_answer_of_stripe_does_not_undo_a_later_one(
    account: StripeAccount, clients: TenantClients, customer: str, lab: Installation, clock: FixedClock
) -> None:
    incoming = lab.payments.stripe_events
    first, second = (
        incoming.read(sent, sign(sent, clock.now()))
        for sent in (make_event(customer, "evt_1"), make_event(customer, "evt_2"))
    )
    account.subscribe(customer, starter=1)
    slow: StripeReading = incoming.ask(first, customer)
    clock.advance(timedelta(seconds=1))
    account.subscribe(customer, professional=1)
    incoming.apply(incoming.ask(second, customer))
    incoming.apply(slow)

    assert plan_of(lab, clients.tenant) == "PROFESSIONAL"


def test_an_unsigned_event_is_refused(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    account.subscribe(customer, professional=1)
    unsigned = (None, "", "x", "t=,v1=", "t=x,v1=y", "v1=00", f"t=1,v1={'0' * 64}", "t=9" * 400)
    answers = [send_event(stripe, make_event(customer), signature) for signature in unsigned]

    assert [answer.status_code for answer in answers] == [400] * len(unsigned)
    assert {answer.json()["details"]["fields"][0]["field"] for answer in answers} == {"/Stripe-Signature"}
    assert plan_of(lab, clients.tenant) == "FREE"


def test_what_was_signed_for_other_bytes_with_another_secret_or_long_ago_is_refused(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    account.subscribe(customer, professional=1)
    sent, now = make_event(customer), lab.clock.now()
    answers = [
        send_event(stripe, sent + b" ", sign(sent, now)),
        send_event(stripe, sent, sign(sent, now, secret="whsec_other")),
        send_event(stripe, sent, sign(sent, now - timedelta(minutes=5, seconds=1))),
        send_event(stripe, sent, sign(sent, now + timedelta(minutes=5, seconds=1))),
        send_event(stripe, b"\xff", sign(b"{}", now)),
        send_event(stripe, b"", sign(b"", now)),
    ]

    assert [answer.status_code for answer in answers] == [400] * len(answers)
    assert plan_of(lab, clients.tenant) == "FREE"
    assert send_event(stripe, sent, sign(sent, now - timedelta(minutes=5))).status_code == 200


def test_what_is_about_nothing_of_ours_changes_nothing(
    account: StripeAccount, clients: TenantClients, stripe: httpx.Client, lab: Installation
) -> None:
    now = lab.clock.now()
    taken = [
        make_event("cus_of_nobody"),
        make_event("cus_of_nobody", kind="invoice.paid"),
        b'{"id": "evt_1", "type": "ping", "data": {}}',
        b'{"id": "evt_1", "type": "ping", "data": null}',
        b'{"id": "evt_1", "type": "customer.subscription.updated", "data": {"object": {"customer": {"id": "x"}}}}',
    ]
    refused = [b"[]", b"{}", b'{"id": 7}', b'{"id": "' + b"x" * 300 + b'"}', b"7", b"{", b'{"id": "a", "id": "b"}']
    assert [send_event(stripe, sent, sign(sent, now)).status_code for sent in taken] == [200] * len(taken)
    assert [send_event(stripe, sent, sign(sent, now)).status_code for sent in refused] == [400] * len(refused)
    assert account.received == []


def test_without_a_key_no_event_counts(clients: TenantClients, stripe: httpx.Client, lab: Installation) -> None:
    sent = make_event("cus_1")
    assert send_event(stripe, sent, sign(sent, lab.clock.now())).status_code == 400


def test_a_subscription_without_prices_takes_nothing_from_the_tenant(
    account: StripeAccount, clients: TenantClients, customer: str, stripe: httpx.Client, lab: Installation
) -> None:
    """Servers that only resemble Stripe, such as localstripe, answer with plans in place of prices."""
    account.subscribe(customer, professional=1)
    now = lab.clock.now()
    assert send_event(stripe, make_event(customer), sign(make_event(customer), now)).status_code == 200
    del account.subscriptions[customer][0]["items"]["data"][0]["price"]
    later = make_event(customer, event_id="evt_without_price")

    answer = send_event(stripe, later, sign(later, now))

    assert (answer.status_code, answer.json()["details"]["reason"]) == (503, "payment_provider_failed")
    assert plan_of(lab, clients.tenant) == "PROFESSIONAL"
