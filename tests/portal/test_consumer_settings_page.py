"""The page on which consumers change their account: profile, addresses, password, export and deletion."""

from __future__ import annotations

import pytest

from attestlab.installation import Installation
from support.consumer_pages import ADA, BrowserVisitor, read_cookie, read_link_token
from support.in_process_server import make_client
from support.orgs import PASSWORD
from support.portal import ParsedPage

OTHER = "ada@work.example"
ANOTHER_PASSWORD = "another long password"


def read_fields(consumer: BrowserVisitor) -> dict[str | None, str | None]:
    """The values of the named fields of the page; of fields with one name, that of the last."""
    return {field.get("name"): field.get("value") for field in ParsedPage(consumer.get("/settings").text).all("input")}


def change(consumer: BrowserVisitor, action: str, **form: str) -> int:
    return consumer.send_signed("/settings", action=action, **form).status_code


def test_the_profile_is_changed(consumer: BrowserVisitor) -> None:
    assert change(consumer, "save_profile", name="Ada King", bio="Engines", portfolio_visibility="private") == 303

    page = consumer.get("/settings").text
    assert read_fields(consumer)["name"] == "Ada King"
    assert (">Engines</textarea>" in page, '<option value="private" selected>' in page) == (True, True)


def test_a_username_is_chosen_once(consumer: BrowserVisitor, lab: Installation) -> None:
    assert change(consumer, "choose_username", username="ada") == 303

    assert f"{lab.portal_url}/u/ada" in consumer.get("/settings").text
    assert "username" not in read_fields(consumer)
    assert change(consumer, "choose_username", username="ida") == 409


def test_another_address_is_verified_made_primary_and_removed(consumer: BrowserVisitor, lab: Installation) -> None:
    assert change(consumer, "add_email", email=OTHER) == 303
    assert "not verified yet" in consumer.get("/settings").text
    token = read_link_token(lab, OTHER, "verify-email")
    assert consumer.send("/verify-email", token=token, password=PASSWORD).status_code == 200

    assert change(consumer, "make_primary", email=OTHER) == 303
    assert change(consumer, "remove_email", email=OTHER) == 409
    assert change(consumer, "remove_email", email=ADA) == 303
    assert consumer.sign_in(email=OTHER).status_code == 303


def test_a_new_password_ends_the_other_sessions(url: str, consumer: BrowserVisitor) -> None:
    with make_client(url) as client:
        elsewhere = BrowserVisitor(client)
        elsewhere.sign_in()
        wrong = change(consumer, "change_password", current_password="not the password", password=ANOTHER_PASSWORD)
        assert (wrong, elsewhere.is_signed_in()) == (403, True)
        form = {"current_password": PASSWORD, "password": ANOTHER_PASSWORD}
        assert change(consumer, "change_password", **form) == 303

        assert (consumer.is_signed_in(), elsewhere.is_signed_in()) == (True, False)


def test_all_that_is_kept_is_a_file(consumer: BrowserVisitor) -> None:
    answer = consumer.send_signed("/settings", action="export")

    assert answer.headers["Content-Disposition"] == 'attachment; filename="account.json"'
    assert answer.json()["account"]["email"] == ADA


def test_a_deleted_account_opens_nothing(consumer: BrowserVisitor) -> None:
    change(consumer, "choose_username", username="ada")
    cookie = read_cookie(consumer.client)
    assert change(consumer, "delete", current_password="not the password") == 403
    assert consumer.is_signed_in()

    answer = consumer.send_signed("/settings", action="delete", current_password=PASSWORD)

    assert "Your account is deleted" in answer.text
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert not consumer.is_signed_in(cookie)
    assert consumer.get("/u/ada").status_code == 404
    assert consumer.sign_in().status_code == 401


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        ({}, "one of its buttons"),
        ({"action": "own"}, "one of its buttons"),
        ({"action": "save_profile", "name": "", "portfolio_visibility": "public"}, "Name: "),
        ({"action": "save_profile", "name": "Ada\nKing", "portfolio_visibility": "public"}, "printable"),
        ({"action": "save_profile", "name": "Ada", "bio": "x" * 501, "portfolio_visibility": "public"}, "Bio: "),
        ({"action": "save_profile", "name": "Ada", "portfolio_visibility": ""}, "Portfolio visibility: "),
        ({"action": "choose_username", "username": ""}, "Username: "),
        ({"action": "choose_username", "username": "A"}, "Username: "),
        ({"action": "add_email", "email": ""}, "address"),
        ({"action": "add_email", "email": "nowhere"}, "address"),
        ({"action": "change_password", "current_password": PASSWORD, "password": "short"}, "at least 12"),
    ],
)
def test_the_page_states_what_is_wrong_and_changes_nothing(
    consumer: BrowserVisitor, form: dict[str, str], problem: str
) -> None:
    before = read_fields(consumer)
    answer = consumer.send_signed("/settings", **form)

    assert (answer.status_code, problem in ParsedPage(answer.text).text) == (400, True)
    assert read_fields(consumer) == before
    assert PASSWORD not in answer.text


@pytest.mark.parametrize(
    "action", ["save_profile", "choose_username", "add_email", "change_password", "export", "delete"]
)
def test_a_form_without_the_token_of_the_session_changes_nothing(consumer: BrowserVisitor, action: str) -> None:
    before = read_fields(consumer)
    answer = consumer.send("/settings", action=action, name="Eve", username="eve", current_password=PASSWORD)

    assert answer.status_code == 403
    assert read_fields(consumer) == before


def test_a_stranger_signs_in_first(url: str) -> None:
    with make_client(url) as client:
        stranger = BrowserVisitor(client)
        answers = [stranger.get("/settings"), stranger.send("/settings", action="export")]

    assert [answer.headers["Location"] for answer in answers] == ["signin?next=settings"] * 2
