"""Sign-up, verification and forgotten passwords on pages: what a link does, and what it never does by itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.browser import needs_chromium, open_browser, open_profile
from support.consumer_pages import ADA, BrowserVisitor, list_links, read_link_token
from support.orgs import PASSWORD
from support.portal import ParsedPage

ANOTHER = "another long password"
FORMS = ("signup", "signin", "verify-email", "verify-email?token=x", "reset-password", "reset-password?token=x")


def sign_up(visitor: BrowserVisitor, **changes: str) -> str:
    """Send the form of the sign-up page; the text of the page that answers."""
    form = {"email": ADA, "name": "Ada Lovelace", "password": PASSWORD, **changes}
    return ParsedPage(visitor.send("/signup", **form).text).text


def test_a_person_signs_up_verifies_and_signs_in(visitor: BrowserVisitor, lab: Installation) -> None:
    assert "Look into your mail" in sign_up(visitor, username="ada")
    assert visitor.sign_in().status_code == 401

    token = read_link_token(lab, ADA, "verify-email")
    assert "Enter the password" in visitor.get("/verify-email", token=token).text
    answer = visitor.send("/verify-email", token=token, password=PASSWORD)

    assert (answer.status_code, "Your address is verified" in answer.text) == (200, True)
    assert visitor.sign_in().headers["Location"] == "inbox"
    assert "/u/ada" in visitor.get("/settings").text


def test_reading_a_link_changes_nothing(visitor: BrowserVisitor, lab: Installation) -> None:
    sign_up(visitor)
    token = read_link_token(lab, ADA, "verify-email")
    for _ in range(3):
        visitor.get("/verify-email", token=token)

    assert visitor.sign_in().status_code == 401


def test_a_stranger_cannot_complete_a_sign_up_by_its_link(visitor: BrowserVisitor, lab: Installation) -> None:
    """Someone signed up with her address; she follows the mail, and does not know their password."""
    sign_up(visitor)
    token = read_link_token(lab, ADA, "verify-email")
    answer = visitor.send("/verify-email", token=token, password="her own password")

    assert (answer.status_code, "The password is wrong" in answer.text) == (403, True)
    assert f'value="{token}"' in answer.text
    assert visitor.sign_in().status_code == 401


def test_a_known_address_has_the_same_page(visitor: BrowserVisitor, lab: Installation) -> None:
    fresh = sign_up(visitor)
    lab.orgs.add_consumer("bob@consumers.example", PASSWORD, name="Bob")

    assert sign_up(visitor, email="bob@consumers.example") == fresh.replace(ADA, "bob@consumers.example")
    assert list_links(lab, "bob@consumers.example", "verify-email") == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"email": ""}, "Email: "),
        ({"email": "nowhere"}, "address"),
        ({"name": ""}, "Name: "),
        ({"name": "x" * 201}, "Name: "),
        ({"name": "Ada\r\nLovelace"}, "printable"),
        ({"password": ""}, "Password: "),
        ({"password": "short"}, "at least 12 characters"),
        ({"password": "x" * 129}, "Password: "),
        ({"username": "Ada!"}, "Username: "),
        ({"username": "admin"}, "reserved"),
        ({"invitation_token": "x" * 43}, "This invitation was used or has expired"),
    ],
)
def test_the_page_states_what_is_wrong_and_keeps_the_rest(
    visitor: BrowserVisitor, lab: Installation, changes: dict[str, str], problem: str
) -> None:
    form = {"email": ADA, "name": "Ada Lovelace", "password": PASSWORD, **changes}
    answer = visitor.send("/signup", **form)

    assert 400 <= answer.status_code < 410
    assert problem in ParsedPage(answer.text).text
    assert f'value="{PASSWORD}"' not in answer.text
    assert list_links(lab, ADA, "verify-email") == []


def test_a_link_that_does_not_work_offers_another_mail(visitor: BrowserVisitor) -> None:
    for token in ("x", "x" * 43, "x" * 256):
        answer = visitor.send("/verify-email", token=token, password=PASSWORD)

        assert (answer.status_code, "Send the mail again" in answer.text) == (400, True)


def test_the_mail_is_sent_again(visitor: BrowserVisitor, lab: Installation, clock: FixedClock) -> None:
    sign_up(visitor)
    clock.advance(timedelta(minutes=1))
    answer = visitor.send("/verify-email", email=ADA)

    assert "Look into your mail" in answer.text
    assert len(list_links(lab, ADA, "verify-email")) == 2


def test_a_forgotten_password_is_replaced(visitor: BrowserVisitor, lab: Installation) -> None:
    lab.orgs.add_consumer(ADA, PASSWORD, name="Ada")
    visitor.sign_in()
    assert "Look into your mail" in visitor.send("/reset-password", email=ADA).text
    token = read_link_token(lab, ADA, "reset-password")
    assert "New password" in visitor.get("/reset-password", token=token).text

    assert "at least 12" in visitor.send("/reset-password", token=token, password="short").text
    answer = visitor.send("/reset-password", token=token, password=ANOTHER)

    assert "Your password is replaced" in answer.text
    assert not visitor.is_signed_in()
    assert visitor.sign_in(password=ANOTHER).status_code == 303
    assert "Send the mail" in visitor.send("/reset-password", token=token, password=ANOTHER).text


def test_a_member_of_a_team_replaces_theirs(visitor: BrowserVisitor, lab: Installation) -> None:
    tenant = lab.orgs.create_tenant("Northfield", plan=Plan.FREE)
    visitor.send("/reset-password", email=tenant.owner_email)
    token = read_link_token(lab, tenant.owner_email, "reset-password")

    answer = visitor.send("/reset-password", token=token, password=ANOTHER)

    assert (answer.status_code, "Your password is replaced" in answer.text) == (200, True)


def test_an_unknown_address_has_the_same_page(visitor: BrowserVisitor, lab: Installation) -> None:
    lab.orgs.add_consumer(ADA, PASSWORD, name="Ada")
    for path in ("/reset-password", "/verify-email"):
        known, unknown = (visitor.send(path, email=email) for email in (ADA, "eve@consumers.example"))

        assert known.status_code == unknown.status_code == 200
        assert known.text == unknown.text.replace("eve@consumers.example", ADA)


def test_another_page_cannot_send_a_form(visitor: BrowserVisitor, lab: Installation) -> None:
    person = {"name": "Ada", "password": PASSWORD}
    for path, more in (("/signup", person), ("/verify-email", {}), ("/reset-password", {})):
        answer = visitor.send(path, origin="https://evil.example", email=ADA, **more)

        assert (answer.status_code, "sent from another page" in answer.text) == (403, True)
    assert list_links(lab, ADA, "verify-email") == []


@needs_chromium
def test_a_browser_without_scripts_signs_up_and_signs_out(url: str, lab: Installation) -> None:
    """On a phone of 360 px: sign-up, verification, sign-in, sign-out; no request leaves the host."""
    asked: list[str] = []
    with (
        open_browser() as browser,
        open_profile(browser, java_script_enabled=False, viewport={"width": 360, "height": 740}) as profile,
    ):
        page = profile.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{url}/signup")
        page.get_by_label("E-mail address").fill(ADA)
        page.get_by_label("Your name").fill("Ada Lovelace")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign up").click()
        page.get_by_role("heading", name="Look into your mail").wait_for()
        page.goto(f"{url}/verify-email?token={read_link_token(lab, ADA, 'verify-email')}")
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Verify the address").click()
        page.get_by_role("heading", name="Your address is verified").wait_for()
        page.get_by_role("link", name="Sign in", exact=True).click()
        page.get_by_label("E-mail address").fill(ADA)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Inbox", level=1).wait_for()
        assert [cookie["httpOnly"] for cookie in profile.cookies()] == [True]
        page.get_by_role("button", name="Sign out").click()
        page.get_by_role("heading", name="Sign in to your inbox").wait_for()
        page.goto(f"{url}/inbox")
        page.get_by_role("heading", name="Sign in to your inbox").wait_for()

    assert {address.split("/")[2] for address in asked} == {url.split("/")[2]}
