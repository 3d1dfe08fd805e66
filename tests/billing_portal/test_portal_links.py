"""Links to the billing portal: who may ask, where visitors may return to, how long a link opens."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from attestlab.billing.portal_page.service import BillingPortal
from attestlab.billing.portal_page.shapes import PROVIDERS, BillingPortalIn
from attestlab.billing.portal_page.store import links
from attestlab.billing.providers.choice import PaymentProviders
from attestlab.billing.service import Billing
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan, Scope
from attestlab.settings import Settings, Stage
from support.billing_portal import PAGE, PORTAL, RETURN_URL, make_tenant, open_portal, path_of
from support.in_process_server import make_client, serve_in_thread
from support.orgs import TenantClients, create_api_key, read_audit_trail

HOSTILE = [
    "",
    "/billing",
    "//app.example.com/",
    "app.example.com",
    "http://app.example.com/billing",
    "ftp://app.example.com/",
    "javascript:alert(1)",
    "javascript://app.example.com/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "https:app.example.com",
    "https:/app.example.com",
    "https:///app.example.com",
    "https:\\\\app.example.com",
    "https://app.example.com\\@evil.example",
    "https://app.example.com\\.evil.example",
    "https://evil.example/https://app.example.com",
    "https://evil.example?https://app.example.com",
    "https://evil.example#https://app.example.com",
    "https://evil.example",
    "https://app.example.com.evil.example/",
    "https://evil-app.example.com/",
    "https://sub.app.example.com/",
    "https://app.example.com:8443/",
    "https://app.example.com:/",
    "https://app.example.com:0/",
    "https://app.example.com:99999/",
    "https://user@app.example.com/",
    "https://app.example.com@evil.example/",
    "https://app.example.com:443@evil.example/",
    "https://app.example.com%2eevil.example/",
    "https://app.example.com%00.evil.example/",
    "https://app.example.com\u3002evil.example/",
    "https://\u0430pp.example.com/",
    "https://app.example.com./",
    "https://app\t.example.com/",
    "https://app.example.com/\nX: y",
    " https://app.example.com/",
    "https://app.example.com/ ",
    'https://app.example.com/"onmouseover="alert(1)',
    "https://app.example.com/<script>",
    "https://[::1/",
    "https://app.example.com/" + "x" * 2048,
    "http://10.0.0.1/",
    "http://localhost.evil.example/",
    "http://127.0.0.1.evil.example/",
    "http://evil.example@localhost/",
]


@pytest.mark.both_engines
def test_a_link_opens_the_portal_of_its_tenant_for_five_minutes(
    clients: TenantClients, visitor: httpx.Client, lab: Installation, clock: FixedClock
) -> None:
    opened = open_portal(clients)
    assert (opened["provider"], opened["embedded"]) == ("stripe", True)
    assert opened["expires_at"] == format_time(clock.now() + timedelta(minutes=5))
    assert str(opened["portal_url"]).startswith(f"{lab.portal_url}{PAGE}?token=")

    clock.advance(timedelta(minutes=5) - timedelta(seconds=1))
    page = visitor.get(path_of(opened))
    assert (page.status_code, "Billing of Northfield" in page.text) == (200, True)
    assert "app.example.com" in page.text
    clock.advance(timedelta(seconds=1))
    closed = visitor.get(path_of(opened))
    assert (closed.status_code, "Northfield" in closed.text) == (410, False)
    assert read_audit_trail(lab, str(clients.tenant.tenant_id))[1:] == [("billing_portal.open", "API_KEY")]


def test_a_token_is_stored_as_its_hash_and_old_links_are_deleted(
    clients: TenantClients, lab: Installation, clock: FixedClock
) -> None:
    tokens = []
    for _ in range(2):
        tokens.append(str(open_portal(clients)["portal_url"]).partition("token=")[2])
        clock.advance(timedelta(minutes=36))
    with lab.storage.read() as connection:
        [row] = connection.execute(select(links)).all()

    assert len({*tokens}) == 2
    assert all(token.encode() not in row.token_sha256 for token in tokens)


def test_hostile_return_urls_are_refused_and_make_no_link(clients: TenantClients, lab: Installation) -> None:
    lab.orgs.set_plan(clients.tenant.tenant_id, Plan.PROFESSIONAL, {})  # FREE allows few requests at once
    with clients.with_key(Scope.BILLING_WRITE) as key:
        answers = {url: key.post(PORTAL, json={"return_url": url}) for url in HOSTILE}

    assert len(answers) >= 40
    assert [url for url, answer in answers.items() if answer.status_code != 400] == []
    assert {answer.json()["details"]["fields"][0]["field"] for answer in answers.values()} == {"/return_url"}
    with lab.storage.read() as connection:
        assert connection.execute(select(links)).all() == []


def test_a_return_url_of_a_listed_origin_or_of_this_machine_is_accepted(clients: TenantClients) -> None:
    accepted = ("https://app.example.com", "HTTPS://App.Example.COM:443/a?b=c#d", "http://localhost:3000/x")
    for url in (*accepted, "http://[::1]/"):
        assert open_portal(clients, return_url=url)["embedded"] is True


def test_the_origins_of_another_tenant_do_not_count(clients: TenantClients, lab: Installation) -> None:
    stranger = lab.orgs.create_tenant("Southfield", plan=Plan.FREE)
    with make_client(clients.url, key=stranger.api_key) as foreign:
        assert foreign.post(PORTAL, json={"return_url": RETURN_URL}).status_code == 400


def test_a_wrong_field_is_named(clients: TenantClients, lab: Installation) -> None:
    lab.orgs.set_plan(clients.tenant.tenant_id, Plan.PROFESSIONAL, {})
    faults: list[tuple[dict[str, object], str]] = [
        ({}, "/return_url"),
        *(({"return_url": value}, "/return_url") for value in (None, 7, [RETURN_URL], {})),
        *(({"return_url": RETURN_URL, "provider": value}, "/provider") for value in ("paypal", "embedded", 7)),
        *(({"return_url": RETURN_URL, "flow": value}, "/flow") for value in ("cancel", 7, [])),
        ({"return_url": RETURN_URL, "tenant_id": "x"}, "/tenant_id"),
    ]
    with clients.with_key(Scope.BILLING_WRITE) as key:
        for body, field in faults:
            answer = key.post(PORTAL, json=body)
            named = [fault["field"] for fault in answer.json()["details"]["fields"]]
            assert (answer.status_code, named) == (400, [field]), body


def test_owners_admins_and_keys_with_the_scope_ask_for_links(clients: TenantClients, lab: Installation) -> None:
    body = {"return_url": RETURN_URL}
    _, admin = clients.person("admin")
    _, member = clients.person("member")
    _, analyst = clients.person("analyst")
    _, consumer = clients.consumer()
    with (
        clients.owner() as owner,
        admin,
        member,
        analyst,
        consumer,
        clients.with_key(Scope.BILLING_READ) as reader,
        clients.anonymous() as anyone,
    ):
        statuses = [
            client.post(PORTAL, json=body).status_code
            for client in (owner, admin, member, analyst, consumer, reader, anyone)
        ]

    assert statuses == [200, 200, 403, 403, 403, 403, 401]


def test_the_embedded_portal_stands_in_for_each_provider_in_the_sandbox(clients: TenantClients) -> None:
    for name in ("stripe", "paystack", "flutterwave"):
        opened = open_portal(clients, provider=name, flow="invoices")
        assert (opened["provider"], opened["embedded"]) == (name, True)


def test_nothing_stands_in_for_a_provider_in_production(lab: Installation) -> None:
    caller = lab.orgs.service_caller(make_tenant(lab, "Northfield").tenant_id)
    settings = Settings(env=Stage.PRODUCTION)
    portal = BillingPortal(
        storage=lab.storage,
        clock=lab.clock,
        keyring=lab.keyring,
        providers=PaymentProviders(settings, portal_url=lab.portal_url),
        settings=settings,
        portal_url=lab.portal_url,
    )
    for name in PROVIDERS:
        with pytest.raises(Conflict) as refused:
            portal.order(BillingPortalIn(return_url=RETURN_URL, provider=name), caller=caller)
        assert refused.value.details == {"reason": "provider_not_configured", "provider": name.value}
    with pytest.raises(ValidationFailed, match="Invalid origin"):
        portal.order(BillingPortalIn(return_url="http://localhost/"), caller=caller)


@pytest.mark.parametrize(
    ("stripe", "reason"),
    [({}, "provider_not_configured"), ({"stripe_api_key": "k", "stripe_webhook_secret": "s"}, "change_in_portal")],
)
def test_in_production_nothing_is_bought_that_no_provider_collects(
    lab: Installation, stripe: dict[str, Any], reason: str
) -> None:
    tenant = make_tenant(lab, "Northfield")
    settings = Settings(env=Stage.PRODUCTION, **stripe)
    lab.billing = Billing(storage=lab.storage, clock=lab.clock, orgs=lab.orgs, settings=settings)
    with serve_in_thread(lab) as url, make_client(url, key=create_api_key(lab, tenant)) as key:
        bought = [
            key.post("/v1/billing/subscription", json={"plan": "STARTER"}),
            key.post("/v1/billing/addons/attach", json={"addon_key": "extra_issuers"}),
        ]
        lab.billing.set_plan(tenant.tenant_id, Plan.PROFESSIONAL, {})
        smaller = key.post("/v1/billing/subscription", json={"plan": "STARTER"})
        (invoice,) = key.get("/v1/billing/invoices").json()["items"]

    assert [(answer.status_code, answer.json()["details"]["reason"]) for answer in bought] == [(409, reason)] * 2
    assert (smaller.status_code, smaller.json()["pending_plan"]) == (200, "STARTER")
    assert "PROFESSIONAL" in invoice["lines"][0]["description"]


def test_a_repeated_request_gets_the_same_link_and_another_one_a_new_link(clients: TenantClients) -> None:
    with clients.with_key(Scope.BILLING_WRITE) as key:
        first, again = (
            key.post(PORTAL, json={"return_url": RETURN_URL}, headers={"Idempotency-Key": "once"}).json()
            for _ in range(2)
        )
        other = key.post(PORTAL, json={"return_url": RETURN_URL}).json()

    assert first == again
    assert other["portal_url"] != first["portal_url"]
