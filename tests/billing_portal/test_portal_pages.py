"""The pages of the embedded billing portal: what they say before a change, who is admitted, and which forms count."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Browser, Page

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Scope
from attestlab.orgs.service import TenantCreated
from support.billing_portal import (
    CHANGE,
    PAGE,
    PORTAL,
    RETURN_URL,
    confirm,
    enter,
    make_tenant,
    open_portal,
    path_of,
    plan_of,
    read_form_token,
)
from support.browser import find_right_edge, list_violations, needs_chromium, open_browser, open_profile
from support.dashboards.hostile import PAYLOADS, TRACES
from support.issuers import register_issuer
from support.orgs import TenantClients
from support.portal import ParsedPage


def text_of(answer: httpx.Response) -> str:
    return " ".join(ParsedPage(answer.text).text.split())


@pytest.mark.both_engines
def test_a_visitor_upgrades_after_reading_what_it_costs(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    enter(clients, visitor)
    asked = visitor.get(CHANGE, params={"plan": "STARTER"})
    said = text_of(asked)
    # Noon of the 21st: 9.5 of 30 days are left.
    assert "Change from Free to Starter?" in said
    assert "Due now 9.18 USD" in said
    assert "Takes effect At once" in said
    assert "Next invoice 29.00 USD on 1 December 2026" in said
    assert plan_of(lab, clients.tenant) == "FREE"

    done = visitor.post(CHANGE, data={"plan": "STARTER", "form_token": read_form_token(asked)})
    assert (done.status_code, done.headers["Location"]) == (303, f"{PAGE}?flow=plan")
    assert plan_of(lab, clients.tenant) == "STARTER"
    assert "Starter · 29.00 USD a month" in text_of(visitor.get(PAGE))
    assert "9.18 USD" in text_of(visitor.get(PAGE, params={"flow": "invoices"}))


def test_a_downgrade_says_when_it_comes_and_what_would_be_over(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    enter(clients, visitor)
    confirm(visitor, plan="STARTER")
    with clients.with_key(*Scope) as key:
        for number in range(3):
            register_issuer(key, name=f"Issuer {number}")

    said = text_of(visitor.get(CHANGE, params={"plan": "FREE"}))
    assert "Due now 0.00 USD" in said
    assert "Takes effect 1 December 2026, 00:00 UTC" in said
    assert "issuers 10 2 3 over" in said
    assert "What exists keeps working; nothing more can be made" in said

    confirm(visitor, plan="FREE")
    page = text_of(visitor.get(PAGE))
    assert (plan_of(lab, clients.tenant), "The plan becomes Free on 1 December 2026" in page) == ("STARTER", True)
    assert "Keep Starter?" in text_of(visitor.get(CHANGE, params={"plan": "STARTER"}))
    confirm(visitor, plan="STARTER")
    assert "The plan becomes" not in text_of(visitor.get(PAGE))


def test_a_visitor_adds_and_removes_units_of_an_addon(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    enter(clients, visitor)
    said = text_of(visitor.get(CHANGE, params={"addon_key": "extra_issuers", "quantity": 2}))
    assert "Extra issuers: 2 units?" in said
    assert "issuers 2 12 0" in said

    done = confirm(visitor, addon_key="extra_issuers", quantity=2)
    assert (done.status_code, done.headers.get("Location")) == (303, f"{PAGE}?flow=addons"), done.text
    assert "you have 2" in text_of(visitor.get(PAGE, params={"flow": "addons"}))
    assert "Remove Extra issuers?" in text_of(visitor.get(CHANGE, params={"addon_key": "extra_issuers", "quantity": 0}))
    for _ in range(2):
        assert confirm(visitor, addon_key="extra_issuers", quantity=0).status_code == 303
    assert "you have" not in text_of(visitor.get(PAGE, params={"flow": "addons"}))


def test_what_needs_the_operator_is_refused_with_a_page(clients: TenantClients, visitor: httpx.Client) -> None:
    enter(clients, visitor)
    refused = visitor.get(CHANGE, params={"plan": "ENTERPRISE"})
    assert (refused.status_code, "This change was not made" in refused.text) == (409, True)
    token = read_form_token(visitor.get(CHANGE, params={"plan": "STARTER"}))
    assert visitor.post(CHANGE, data={"plan": "ENTERPRISE", "form_token": token}).status_code == 409


def test_a_form_without_the_token_of_its_page_changes_nothing(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    enter(clients, visitor)
    token = read_form_token(visitor.get(CHANGE, params={"plan": "STARTER"}))
    other = make_tenant(lab, "Southfield")
    with clients.anonymous() as stranger:
        enter(clients, stranger, other)
        foreign = read_form_token(stranger.get(CHANGE, params={"plan": "STARTER"}))
    forged = [{}, {"form_token": ""}, {"form_token": foreign}, {"form_token": token[:-1]}, {"form_token": "é" * 43}]
    answers = [visitor.post(CHANGE, data={"plan": "STARTER", **more}) for more in forged]
    with clients.anonymous() as without_cookie:
        assert without_cookie.post(CHANGE, data={"plan": "STARTER", "form_token": token}).status_code == 410

    assert [answer.status_code for answer in answers] == [403] * len(forged)
    assert [plan_of(lab, tenant) for tenant in (clients.tenant, other)] == ["FREE", "FREE"]


def test_a_browser_sees_the_tenant_of_the_link_that_it_opened_last(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    other = make_tenant(lab, "Southfield")
    enter(clients, visitor)
    token = read_form_token(visitor.get(CHANGE, params={"plan": "STARTER"}))
    enter(clients, visitor, other)

    page = visitor.get(PAGE).text
    assert ("Southfield" in page, "Northfield" in page) == (True, False)
    assert visitor.post(CHANGE, data={"plan": "STARTER", "form_token": token}).status_code == 403


def test_reading_a_link_changes_nothing_and_uses_nothing_up(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    path = path_of(open_portal(clients))
    with clients.anonymous() as scanner:
        for _ in range(3):
            page = scanner.get(path)
            links = {str(part["href"]) for tag, part in ParsedPage(page.text).elements if tag == "a"}
            for link in links:
                if link.startswith("portal"):
                    assert scanner.get(f"/billing/{link}").status_code in (200, 409)
        assert scanner.head(path).status_code == 200

    assert plan_of(lab, clients.tenant) == "FREE"
    assert visitor.get(path).status_code == 200


def test_a_session_lasts_half_an_hour_and_its_cookie_cannot_be_forged(
    clients: TenantClients, visitor: httpx.Client, clock: FixedClock
) -> None:
    first = visitor.get(path_of(open_portal(clients)))
    cookie = first.headers["Set-Cookie"]
    assert ("HttpOnly" in cookie, "SameSite=Lax" in cookie, f"Path={PAGE};" in cookie) == (True, True, True)
    value = visitor.cookies["attestlab_billing"]
    forged = [value[:-1], value + "A", "x", "..", value.replace(".", "", 1), "é", value.partition(".")[0] + ".99.x"]
    with clients.anonymous() as thief:
        for each in forged:
            headers = {"Cookie": f"attestlab_billing={each}".encode()}
            assert thief.get(PAGE, headers=headers).status_code == 410, each

    clock.advance(timedelta(minutes=30) - timedelta(seconds=1))
    assert visitor.get(PAGE).status_code == 200
    clock.advance(timedelta(seconds=1))
    closed = visitor.get(PAGE)
    assert (closed.status_code, visitor.get(CHANGE, params={"plan": "STARTER"}).status_code) == (410, 410)
    assert "This billing portal has closed" in closed.text


def test_who_may_no_longer_change_what_is_paid_has_no_page(
    clients: TenantClients, visitor: httpx.Client, lab: Installation
) -> None:
    caller = lab.orgs.service_caller(clients.tenant.tenant_id)
    person_id, admin = clients.person("admin")
    with admin:
        opened = admin.post(PORTAL, json={"return_url": RETURN_URL}).json()
    assert visitor.get(path_of(opened)).status_code == 200
    lab.people.remove(UUID(person_id), caller=caller)
    assert [visitor.get(path).status_code for path in (path_of(opened), PAGE)] == [410, 410]

    enter(clients, visitor)
    for key in lab.api_keys.list_page(caller=caller, limit=100):
        lab.api_keys.revoke(key.id, reason="lost", caller=caller)
    assert visitor.get(PAGE).status_code == 410


def test_a_wrong_change_is_refused(clients: TenantClients, visitor: httpx.Client) -> None:
    enter(clients, visitor)
    wrong: list[dict[str, str]] = [
        {},
        {"plan": "GOLD"},
        {"plan": "STARTER", "addon_key": "extra_issuers"},
        {"addon_key": "gold"},
        *({"addon_key": "extra_issuers", "quantity": quantity} for quantity in ("-1", "1001", "x", "")),
    ]
    for query in wrong:
        assert visitor.get(CHANGE, params=query).status_code == 400, query
        assert visitor.post(CHANGE, data={**query, "form_token": "x"}).status_code == 400, query
    assert visitor.get(CHANGE, params={"addon_key": "priority_support", "quantity": "2"}).status_code == 400


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


def visit(page: Page, clients: TenantClients, tenant: TenantCreated) -> None:
    page.goto(clients.url + path_of(open_portal(clients, tenant)))


@needs_chromium
def test_the_portal_works_in_a_browser_without_a_script(
    browser: Browser, clients: TenantClients, lab: Installation
) -> None:
    asked: list[str] = []
    with open_profile(browser, java_script_enabled=False, viewport={"width": 360, "height": 740}) as context:
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        visit(page, clients, clients.tenant)
        page.get_by_role("link", name="Choose Starter").click()
        page.get_by_role("button", name="Confirm").click()
        page.get_by_text("Starter · 29.00 USD a month").wait_for()
        page.get_by_role("link", name="Add-ons").click()
        page.get_by_label("Units of Extra agents").fill("3")
        page.get_by_role("button", name="See the change of Extra agents").click()
        page.get_by_role("button", name="Confirm").click()
        page.get_by_text("you have 3").wait_for()

    assert plan_of(lab, clients.tenant) == "STARTER"
    assert [address for address in asked if not address.startswith(f"{clients.url}/")] == []


@needs_chromium
def test_the_pages_are_accessible_narrow_and_dark_and_run_nothing_that_a_tenant_is_called(
    browser: Browser, clients: TenantClients, lab: Installation
) -> None:
    name = " ".join(PAYLOADS)[:190].replace("\n", " ").strip()
    tenant = make_tenant(lab, name)
    with open_profile(browser, bypass_csp=True, color_scheme="dark", viewport={"width": 360, "height": 740}) as context:
        page = context.new_page()
        visit(page, clients, tenant)
        for path in (PAGE, f"{PAGE}?flow=addons", f"{PAGE}?flow=invoices", f"{CHANGE}?plan=STARTER"):
            page.goto(f"{clients.url}{path}")
            assert page.evaluate("window.hit") is None
            assert page.locator(TRACES).count() == 0
            assert find_right_edge(page) <= 360, path
            assert list_violations(page) == [], path
        page.goto(f"{clients.url}{PAGE}?token=x")
        assert list_violations(page) == []
