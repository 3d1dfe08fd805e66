"""Stations of the tour for people and money: accounts, protections, receipts, billing, and the pages of consumers."""

from __future__ import annotations

import re
from contextlib import closing
from hashlib import sha256

import httpx

from attestlab.orgs.rules import Plan
from attestlab.portal.consumer_session import derive_form_token
from support.access import PASSWORD
from support.api_tour.recording import TourRecorder
from support.attestations import make_mint_body, mint
from support.billing_portal import find_form_token
from support.consumer_pages import read_cookie, read_link_token
from support.consumers import ConsumerPortal, make_signup
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.protections import make_protection_body, open_consumer

PICTURE = sha256(b"a comet").hexdigest()
RECEIPT_TYPE = {
    "name": "delivery",
    "version": "1.0.0",
    "display_name": "Delivery of a parcel",
    "schema": {"type": "object", "required": ["parcel"], "properties": {"parcel": {"type": "string"}}},
}


def visit_accounts(tour: TourRecorder) -> None:
    lab, url, ada = tour.access.lab, tour.access.url, "ada@people.example"
    with make_client(url) as anyone:
        portal = ConsumerPortal(lab, url, anyone)
        tour.call("sign_up_consumer", anyone, make_signup(ada, username="ada"))
        tour.call("resend_verification", anyone, {"email": ada})
        tour.call("verify_email", anyone, {"token": portal.token_of(ada)})
        with portal.sign_in(ada) as consumer:
            _change_account(tour, portal, consumer)
        tour.call("forget_password", anyone, {"email": ada})
        tour.call("reset_password", anyone, {"token": portal.token_of(ada), "password": PASSWORD})
        with portal.sign_in(ada, PASSWORD) as consumer:
            tour.call("delete_account", consumer, {"password": PASSWORD})


def _change_account(tour: TourRecorder, portal: ConsumerPortal, consumer: httpx.Client) -> None:
    further = "ada@analytical.example"
    tour.call("update_account", consumer, {"bio": "Notes on an engine.", "portfolio_visibility": "public"})
    consumer.post("/v1/consumer/emails", json={"email": "lovelace@people.example"}).raise_for_status()
    tour.call("add_email", consumer, {"email": further})
    portal.verify(portal.token_of(further)).raise_for_status()
    tour.call("make_email_primary", consumer, {"primary": True}, email=further)
    tour.call("make_email_primary", consumer, {"primary": True}, email="ada@people.example")
    tour.call("remove_email", consumer, email=further)
    tour.call("get_account", consumer)
    tour.call("export_account", consumer)
    with portal.open_account("grace@people.example") as other:
        tour.call("choose_username", other, {"username": "grace"})


def visit_protections(tour: TourRecorder) -> None:
    url = tour.access.url
    hedy = open_consumer(tour.access.lab, url, "hedy@consumers.example", "Hedy Lamarr")
    hedy.choose_profile("hedy")
    with closing(hedy.client) as consumer, make_client(url) as anyone:
        body = make_protection_body("sunset", content_type="image", category="photo", visibility="public")
        place = {"id": tour.call("create_protection", consumer, body)["id"]}
        tour.call("update_protection", consumer, {"description": "From the harbour."}, **place)
        tour.call("get_protection", consumer, **place)
        tour.call("list_protections", consumer, visibility="public", limit=1)
        tour.call("list_protection_verifications", consumer, days=2, **place)
        tour.call("get_portfolio", anyone, username="hedy", limit=1)
        tour.call("revoke_protection", consumer, {"reason": "The file was changed."}, **place)
        tour.call("remove_protection", consumer, **place)


def visit_billing(tour: TourRecorder) -> None:
    made = tour.access.lab.orgs.create_tenant("Payer", plan=Plan.FREE)
    with make_client(tour.access.url, key=made.api_key) as payer:
        tour.call("preview_subscription", payer, {"plan": "STARTER", "addons": {"extra_issuers": 2}})
        tour.call("change_subscription", payer, {"plan": "STARTER"})
        tour.call("attach_addon", payer, {"addon_key": "extra_issuers", "quantity": 2})
        tour.call("get_subscription", payer)
        tour.call("list_addons", payer)
        tour.call("get_usage", payer)
        tour.call("get_entitlements", payer)
        invoices = tour.call("list_invoices", payer, limit=1)
        tour.call("get_invoice", payer, id=invoices["items"][0]["id"])
        tour.call("preview_invoice", payer)
        tour.call("detach_addon", payer, {"addon_key": "extra_issuers"}, Prefer="return=representation")
        tour.fail(409, "change_subscription", payer, {"plan": "ENTERPRISE"})
    with make_client(tour.access.url) as reader:
        tour.call("list_plans", reader)


def visit_billing_portal(tour: TourRecorder) -> None:
    wanted = {"return_url": "http://127.0.0.1:3000/settings", "flow": "addons"}
    opened = tour.call("create_billing_portal_link", tour.account.with_key, wanted)
    with make_client(tour.access.url) as browser:
        tour.call("get_billing_page", browser, token=opened["portal_url"].rpartition("token=")[2])
        change = {"addon_key": "extra_issuers", "quantity": 2}
        tour.call("get_billing_change_page", browser, **change)
        token = find_form_token(tour.responses["get_billing_change_page"].text)
        tour.call("send_billing_change", browser, {**change, "form_token": token})


def visit_receipts(tour: TourRecorder) -> None:
    key = tour.account.with_key
    tour.call("create_receipt_type", key, RECEIPT_TYPE)
    tour.call("list_receipt_types", key, status="active", limit=1)
    tour.call("get_receipt_type", key, name="delivery")
    receipt = {"receipt_type": "delivery", "issuer_id": register_issuer(key)["id"], "subject": "parcel 7"}
    minted = tour.call("mint_receipt", key, {**receipt, "payload": {"parcel": "7"}, "metadata": {"route": "R-1"}})
    place = {"id": minted["receipt_id"]}
    tour.call("list_receipts", key, receipt_type="delivery", limit=1)
    tour.call("search_receipts", key, {"q": "parcel 7", "limit": 1})
    tour.call("export_receipts", key, format="json", receipt_type="delivery")
    tour.call("get_receipt", key, **place)
    with make_client(tour.access.url) as anyone:
        tour.call("verify_receipt", anyone, {"receipt_id": minted["receipt_id"], "payload": {"parcel": "7"}})
    tour.call("get_receipt_bundle", key, **place)
    tour.call("revoke_receipt", key, {"reason": "delivered to another address"}, **place)
    tour.call("redact_receipt", key, {"reason": "asked to"}, **place)
    tour.call("deprecate_receipt_type", key, {"version": "1.0.0", "reason": "replaced by 2.0.0"}, name="delivery")


def visit_consumer_pages(tour: TourRecorder) -> None:
    with make_client(tour.access.url) as browser:
        browser.headers["Origin"] = tour.access.url
        tour.call("get_signup_page", browser)
        person = {"email": "maria@consumers.example", "password": PASSWORD}
        tour.call("send_signup_form", browser, {**person, "name": "Maria Mitchell", "username": "maria"})
        token = {"token": read_link_token(tour.access.lab, person["email"], "verify-email")}
        tour.call("get_verify_page", browser, **token)
        tour.call("send_verify_form", browser, {**token, "password": PASSWORD})
        tour.call("get_signin_page", browser, next="settings")
        tour.call("send_signin_form", browser, {**person, "next": "settings"})
        _use_consumer_pages(tour, browser, person["email"])
        tour.call("get_reset_page", browser)
        tour.call("send_reset_form", browser, {"email": person["email"]})


def _use_consumer_pages(tour: TourRecorder, browser: httpx.Client, email: str) -> None:
    """Call what needs a session, and end it."""
    issuer = register_issuer(tour.account.with_key)
    assert mint(tour.account.with_key, make_mint_body(issuer, recipient_email=email)).status_code == 201
    session = {"form_token": derive_form_token(read_cookie(browser))}
    page = tour.call("get_inbox_page", browser)
    [item] = set(re.findall(r'href="inbox/([0-9a-f-]{36})"', page or browser.get("/inbox").text))
    tour.call("get_inbox_item_page", browser, id=item)
    tour.call("download_inbox_record", browser, id=item)
    tour.call("download_inbox_sd_jwt", browser, id=item)
    tour.call("send_inbox_item_form", browser, {**session, "action": "ARCHIVED"}, id=item)
    picture = {"content_hash": PICTURE, "title": "A comet", "content_type": "image", "category": "photo"}
    tour.call("send_protect_form", browser, {**session, "action": "create", **picture, "visibility": "public"})
    tour.call("get_protect_page", browser)
    tour.call("get_portfolio_page", browser, username="maria")
    tour.call("get_settings_page", browser)
    tour.call("send_settings_form", browser, {**session, "action": "export"})
    tour.call("send_signout_form", browser, session)
