"""Sign-in and sign-out of consumers: a form, a cookie that scripts cannot read, and a session that ends at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from attestlab.core.clock import FixedClock
from attestlab.identity.rules import REFRESH_TOKEN_TTL
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.orgs.service import ConsumerCreated, TenantCreated
from attestlab.portal.consumer_session import derive_form_token
from support.consumer_pages import ADA, BrowserVisitor, read_cookie
from support.in_process_server import make_client, serve_in_thread
from support.orgs import PASSWORD, read_audit_trail
from support.portal import ParsedPage


def test_the_form_begins_a_session_that_scripts_cannot_read(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    answer = visitor.sign_in()

    assert (answer.status_code, answer.headers["Location"]) == (303, "inbox")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.split("; ")[1:] == ["Path=/", "Max-Age=2592000", "HttpOnly", "SameSite=Lax"]
    assert visitor.is_signed_in()


def test_the_cookie_is_for_https_alone_where_the_portal_is(lab: Installation, ada: ConsumerCreated) -> None:
    lab.page_sessions.portal_url = "https://lab.example"
    with serve_in_thread(lab) as url, make_client(url) as client:
        answer = BrowserVisitor(client).sign_in()

    assert answer.headers["Set-Cookie"].endswith("; HttpOnly; SameSite=Lax; Secure")


@pytest.mark.parametrize(
    ("wanted", "target"),
    [
        ("settings", "settings"),
        ("inbox/0193b5a0-7f3c-7abc-8def-0123456789ab", "inbox/0193b5a0-7f3c-7abc-8def-0123456789ab"),
        ("//evil.example", "inbox"),
        ("https://evil.example", "inbox"),
        ("inbox\n", "inbox"),
        ("\x00", "inbox"),
    ],
)
def test_a_session_begins_with_a_page_of_ours(
    visitor: BrowserVisitor, ada: ConsumerCreated, wanted: str, target: str
) -> None:
    if "\x00" not in wanted:  # which no query may have
        page = ParsedPage(visitor.get("/signin", next=wanted).text)
        assert [field["value"] for field in page.all("input") if field.get("name") == "next"] == [target]

        assert visitor.sign_in(next=wanted).headers["Location"] == target
    assert visitor.client.get("/signin", params={"next": wanted}).status_code in (303, 400)


def test_a_wrong_password_and_an_unknown_address_have_the_same_answer(
    visitor: BrowserVisitor, lab: Installation, ada: ConsumerCreated
) -> None:
    answers = [visitor.sign_in(password="not the password"), visitor.sign_in(email="eve@consumers.example")]

    assert [answer.status_code for answer in answers] == [401, 401]
    assert answers[0].text == answers[1].text.replace("eve@consumers.example", ADA)
    assert "not verified yet" in answers[0].text
    assert not visitor.is_signed_in()
    assert read_audit_trail(lab, str(ada.consumer_id))[-1] == ("session.create", "SERVICE")


def test_repeated_failures_are_refused_for_a_while(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    for _ in range(10):
        visitor.sign_in(password="x" * 12)

    answer = visitor.sign_in()
    assert (answer.status_code, "Too many failed sign-ins" in answer.text) == (429, True)


@pytest.mark.parametrize("origin", [None, "null", "https://evil.example", "http://127.0.0.1:1"])
def test_another_page_cannot_send_the_form(visitor: BrowserVisitor, ada: ConsumerCreated, origin: str | None) -> None:
    answer = visitor.sign_in(origin=origin)

    assert (answer.status_code, "sent from another page" in answer.text) == (403, True)
    assert "Set-Cookie" not in answer.headers


def test_a_member_of_a_team_has_no_session_here(visitor: BrowserVisitor, lab: Installation) -> None:
    tenant: TenantCreated = lab.orgs.create_tenant("Northfield", plan=Plan.FREE)
    answer = visitor.sign_in(email=tenant.owner_email, password=tenant.owner_password)

    assert (answer.status_code, "account of a team" in answer.text) == (403, True)
    assert "Set-Cookie" not in answer.headers


def test_sign_out_ends_the_session_at_once(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    visitor.sign_in()
    kept = read_cookie(visitor.client)

    assert {visitor.send("/signout", form_token=token).status_code for token in ("", "x" * 43)} == {403}
    assert visitor.is_signed_in()
    answer = visitor.send("/signout", form_token=derive_form_token(kept))

    assert (answer.status_code, answer.headers["Location"]) == (303, "signin")
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert not visitor.is_signed_in()
    assert not visitor.is_signed_in(kept)


def test_another_sign_in_takes_the_place_of_the_session(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    visitor.sign_in()
    earlier = read_cookie(visitor.client)
    visitor.sign_in()

    assert not visitor.is_signed_in(earlier)
    assert visitor.is_signed_in()


def test_a_new_password_ends_the_session(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    visitor.sign_in()
    tokens = visitor.client.post("/v1/auth/login", json={"email": ADA, "password": PASSWORD}).json()
    bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
    body = {"current_password": PASSWORD, "new_password": "another long password"}
    assert visitor.client.post("/v1/me/password", json=body, headers=bearer).status_code == 204

    assert not visitor.is_signed_in()


def test_a_session_ends_after_thirty_days(visitor: BrowserVisitor, ada: ConsumerCreated, clock: FixedClock) -> None:
    visitor.sign_in()
    cookie = read_cookie(visitor.client)
    clock.advance(REFRESH_TOKEN_TTL - timedelta(seconds=1))
    assert visitor.is_signed_in(cookie)

    clock.advance(timedelta(seconds=1))
    assert not visitor.is_signed_in(cookie)


def test_a_cookie_that_was_spent_as_a_token_opens_nothing(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    visitor.sign_in()
    cookie = read_cookie(visitor.client)
    assert visitor.client.post("/v1/auth/refresh", json={"refresh_token": cookie}).status_code == 200

    assert not visitor.is_signed_in()


@pytest.mark.parametrize("cookie", ["", "x", "alr_" + "x" * 43, '"', "a" * 4000, "x; attestlab_session=y"])
def test_a_cookie_of_no_session_is_ignored(visitor: BrowserVisitor, cookie: str) -> None:
    assert not visitor.is_signed_in(cookie)


def test_cookies_of_other_applications_do_not_hide_ours(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    visitor.sign_in()
    cookie = f'theme={{"a": 1, "b"}}; =; x; attestlab_session={read_cookie(visitor.client)}; z="'

    assert visitor.client.get("/signin", headers={"Cookie": cookie}).status_code == 303


def test_no_other_origin_reads_a_page(visitor: BrowserVisitor, ada: ConsumerCreated) -> None:
    visitor.sign_in()
    answer = visitor.get("/signin")

    assert "Access-Control-Allow-Origin" not in answer.headers
    assert answer.headers["Cache-Control"] == "no-store"
