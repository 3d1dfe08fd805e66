"""Sign-up of consumers: nothing exists before the address is verified, and nothing tells who has an account."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import httpx
import pytest
from sqlalchemy import func, select

from attestlab.consumer.accounts import invitations, store
from attestlab.consumer.accounts.rules import RESERVED_USERNAMES
from attestlab.core.clock import FixedClock
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.core.records.actors import COMMAND_LINE
from attestlab.identity.store import mailed_tokens
from attestlab.installation import Installation
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from attestlab.orgs.store import users
from support import patient_http
from support.consumers import ADA, GRACE, PASSWORD, ConsumerPortal, extract_token, make_signup, read_reason
from support.in_process_server import make_client
from support.together import call_together


def count_rows(lab: Installation) -> dict[str, int]:
    with lab.storage.read() as connection:
        return {
            table.name: connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (users, store.signups, mailed_tokens, mails)
        }


def make_invitation(lab: Installation, address: str) -> str:
    """Return the token of an invitation that a mint would mail."""
    tenant = lab.orgs.create_tenant("Registry", plan=Plan.FREE).tenant_id
    with lab.storage.write() as tx:
        now = lab.clock.now()
        link = invitations.invite(tx, address, portal_url=lab.portal_url, tenant_id=tenant, actor=COMMAND_LINE, at=now)
    assert link.startswith(f"{lab.portal_url}/signup?token=")
    return extract_token(f"{link}\n")


@pytest.mark.both_engines
def test_an_account_begins_with_the_verification_of_its_address(portal: ConsumerPortal) -> None:
    signed_up = portal.sign_up("Ada@People.Example", username="ada")
    before, text = portal.login(), portal.letters()[0]

    verified = portal.verify(extract_token(text))

    shown = signed_up.json()
    assert (signed_up.status_code, shown["status"], shown["username"]) == (201, "PENDING_VERIFICATION", None)
    assert (shown["email"], shown["name"], set(shown)) == (
        ADA,
        "Ada Lovelace",
        {"id", "email", "name", "username", "status", "created_at"},
    )
    assert before.status_code == 401
    assert "not verified yet" in before.json()["message"]
    assert f"{portal.lab.portal_url}/verify-email?token=" in text
    assert "Ada" not in text
    assert verified.status_code == 200
    assert verified.json() == {"id": shown["id"], "email": ADA, "status": "ACTIVE", "claimed": 0}
    with portal.sign_in() as ada:
        me = ada.get("/v1/consumer/me").json()
    assert (me["id"], me["username"], me["email"]) == (shown["id"], "ada", ADA)


@pytest.mark.both_engines
def test_a_known_address_has_the_same_answer_and_a_mail_that_says_so(portal: ConsumerPortal) -> None:
    portal.open_account(username="ada").close()
    rows = count_rows(portal.lab)

    known = portal.sign_up(name="Eve", username="eve")
    growth = {name: count - rows[name] for name, count in count_rows(portal.lab).items()}
    rows = count_rows(portal.lab)
    unknown = portal.sign_up(GRACE, name="Eve", username="eve")

    assert {name: count - rows[name] for name, count in count_rows(portal.lab).items()} == growth
    assert known.status_code == unknown.status_code == 201
    assert list(known.json()) == list(unknown.json())
    own = {"id": "", "email": "", "created_at": ""}
    assert known.json() | own == unknown.json() | own
    assert {*known.headers} == {*unknown.headers}
    text = portal.letters()[-1]
    assert "You have an account already" in text
    assert "token=" not in text
    with portal.sign_in() as ada:
        assert ada.get("/v1/consumer/me").json()["name"] == "Ada Lovelace"


def test_a_person_of_a_team_has_an_account(portal: ConsumerPortal) -> None:
    tenant = portal.lab.orgs.create_tenant("Registry", plan=Plan.FREE)

    assert portal.sign_up(tenant.owner_email).status_code == 201
    assert "You have an account already" in portal.letters(tenant.owner_email)[-1]


def test_a_person_who_is_only_invited_to_a_team_can_sign_up(portal: ConsumerPortal) -> None:
    tenant = portal.lab.orgs.create_tenant("Registry", plan=Plan.FREE)
    caller = portal.lab.orgs.service_caller(tenant.tenant_id)
    portal.lab.people.invite(UserIn(email=GRACE, role=Role.MEMBER), caller=caller)

    portal.open_account(GRACE).close()


def test_the_same_token_again_has_the_same_answer(portal: ConsumerPortal) -> None:
    portal.sign_up()
    token = portal.token_of()

    first, again = portal.verify(token), portal.verify(token)

    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert count_rows(portal.lab)["users"] == 2


def test_a_token_expires_with_the_sign_up_after_a_day(portal: ConsumerPortal, clock: FixedClock) -> None:
    portal.sign_up()
    clock.advance(timedelta(hours=24))

    late = portal.verify(portal.token_of())
    with portal.lab.storage.write() as tx:
        portal.lab.sweep(tx)

    assert read_reason(late) == (400, "token_invalid")
    assert late.json()["details"]["fields"][0]["field"] == "/token"
    with portal.lab.storage.read() as connection:
        (row,) = connection.execute(select(*store.signups.c)).all()
    assert (row.name, row.password_hash, row.username, row.ended_at) == ("", "", None, clock.now())
    assert row.email.endswith("@removed.invalid")


def test_a_token_of_another_purpose_is_refused(portal: ConsumerPortal) -> None:
    portal.open_account().close()
    portal.anyone.post("/v1/auth/password/forgot", json={"email": ADA})
    invitation = make_invitation(portal.lab, GRACE)

    for token in (portal.token_of(), invitation, "x" * 43, "x"):
        assert read_reason(portal.verify(token)) == (400, "token_invalid")


@pytest.mark.both_engines
def test_of_several_sign_ups_for_one_address_the_first_token_wins(portal: ConsumerPortal) -> None:
    portal.sign_up(password="the password of a stranger")
    stranger = portal.token_of()
    portal.sign_up(username="ada")

    won, lost = portal.verify(portal.token_of()), portal.verify(stranger)

    assert (won.status_code, read_reason(lost)) == (200, (400, "token_invalid"))
    assert portal.login(password="the password of a stranger").status_code == 401
    assert portal.login().status_code == 200


@pytest.mark.both_engines
def test_concurrent_verifications_open_one_account(portal: ConsumerPortal) -> None:
    portal.sign_up()
    token = portal.token_of()

    def verify(_: int) -> tuple[int, bytes]:
        with make_client(portal.url) as client:
            answer = client.post("/v1/consumer/verify-email", json={"token": token})
        return answer.status_code, answer.content

    answers = set(call_together(verify, range(50)))

    assert [status for status, _ in answers] == [200]
    assert count_rows(portal.lab)["users"] == 2


def test_a_page_completes_the_sign_up_whose_password_is_entered(portal: ConsumerPortal) -> None:
    """A stranger's sign-up, made later, is what a resent mail is about; the password finds the person's own."""
    own = portal.sign_up().json()["id"]
    portal.sign_up(password="the password of a stranger")
    verification, now = portal.lab.consumers.verification, portal.lab.clock.now()
    token = portal.token_of()

    with pytest.raises(PermissionDenied):
        verification.require_password(token, "neither of the two", peer="192.0.2.1", now=now)
    chosen = verification.require_password(token, PASSWORD, peer="192.0.2.1", now=now)
    verified = verification.verify(token, signup_id=chosen)

    assert (str(chosen), str(verified.id)) == (own, own)
    assert portal.login().status_code == 200
    assert verification.require_password(token, PASSWORD, peer="192.0.2.1", now=now) is None
    assert verification.verify(token).id == UUID(own)


def test_a_sign_up_is_completed_with_a_token_of_its_own_address_only(portal: ConsumerPortal) -> None:
    portal.sign_up()
    other = UUID(portal.sign_up(GRACE).json()["id"])

    with pytest.raises(ValidationFailed):
        portal.lab.consumers.verification.verify(portal.token_of(), signup_id=other)


@pytest.mark.both_engines
def test_an_invitation_opens_an_account_at_once(portal: ConsumerPortal) -> None:
    token = make_invitation(portal.lab, ADA)
    letters = portal.letters()

    answer = portal.sign_up(invitation_token=token, username="ada")

    shown = answer.json()
    assert (answer.status_code, shown["status"], shown["username"]) == (201, "ACTIVE", "ada")
    with make_client(portal.url, token=shown["tokens"]["access_token"]) as ada:
        assert ada.get("/v1/consumer/me").json()["id"] == shown["id"]
    assert portal.letters() == letters
    again = portal.sign_up(invitation_token=token)
    assert read_reason(again) == (400, "invitation_invalid")
    assert again.json()["details"]["fields"][0]["field"] == "/invitation_token"


def test_an_invitation_is_bound_to_its_address_and_expires_after_thirty_days(
    portal: ConsumerPortal, clock: FixedClock
) -> None:
    token, rows = make_invitation(portal.lab, ADA), count_rows(portal.lab)

    assert portal.lab.consumers.signups.find_invited(token) == ADA
    assert read_reason(portal.sign_up(GRACE, invitation_token=token)) == (400, "invitation_invalid")
    assert read_reason(portal.sign_up(invitation_token="x" * 43)) == (400, "invitation_invalid")
    clock.advance(timedelta(days=30))
    assert read_reason(portal.sign_up(invitation_token=token)) == (400, "invitation_invalid")
    assert count_rows(portal.lab) == rows


def test_the_operator_invites_an_address_without_an_account(portal: ConsumerPortal) -> None:
    invited = portal.lab.consumers.signups.invite("Ada@People.Example")

    assert (invited.email, invited.link in portal.letters()[0]) == (ADA, True)
    assert portal.sign_up(invitation_token=portal.token_of()).status_code == 201
    with pytest.raises(Conflict):
        portal.lab.consumers.signups.invite(ADA)


@pytest.mark.both_engines
def test_one_of_concurrent_sign_ups_has_the_invitation(portal: ConsumerPortal) -> None:
    token = make_invitation(portal.lab, ADA)

    def sign_up(number: int) -> int:
        network = httpx.HTTPTransport(local_address=f"127.0.0.{1 + number // 10}")  # ten from each address
        with patient_http.open_client(base_url=portal.url, transport=network) as client:
            return client.post("/v1/consumer/signup", json=make_signup(invitation_token=token)).status_code

    statuses = sorted(call_together(sign_up, range(50)))

    assert statuses == [201] + [400] * 49


def test_a_username_of_an_account_is_refused_and_one_that_was_only_asked_for_is_free(portal: ConsumerPortal) -> None:
    portal.open_account(username="ada").close()
    taken = portal.sign_up(GRACE, username="ada")
    reserved = portal.sign_up(GRACE, username=min(RESERVED_USERNAMES))
    portal.sign_up(GRACE, username="grace")
    portal.sign_up("hopper@people.example", username="grace")

    first, second = portal.verify(portal.token_of("hopper@people.example")), portal.verify(portal.token_of(GRACE))

    assert (read_reason(taken), read_reason(reserved)) == ((409, "username_taken"), (409, "username_reserved"))
    assert (first.status_code, second.status_code) == (200, 200)
    with portal.sign_in(GRACE) as grace, portal.sign_in("hopper@people.example") as hopper:
        names = [client.get("/v1/consumer/me").json()["username"] for client in (grace, hopper)]
    assert names == [None, "grace"]


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("email", [None, 1, "", "ada", "a@b@c.example", "ada@localhost\n", f"{'a' * 250}@example.org"]),
        ("password", [None, 1, "", "elevenchars", "x" * 129, ADA]),
        ("name", [None, 1, "", " ", "A\nB", "x" * 201, "A\u202eB"]),
        ("username", [1, "", "ad", "x" * 31, "Ada", "a da", "ada\n", "ädä"]),
        ("invitation_token", [1, "", "x" * 257]),
    ],
)
def test_each_field_of_a_sign_up_is_validated(portal: ConsumerPortal, field: str, values: list[Any]) -> None:
    rows, missing = count_rows(portal.lab), make_signup()
    bodies = [make_signup() | {field: value} for value in values]
    if field in missing:
        del missing[field]
        bodies.append(missing)

    answers = [portal.anyone.post("/v1/consumer/signup", json=body) for body in bodies]

    assert [answer.status_code for answer in answers] == [400] * len(bodies)
    assert {fault["field"] for answer in answers for fault in answer.json()["details"]["fields"]} == {f"/{field}"}
    assert count_rows(portal.lab) == rows
    assert portal.sign_up().status_code == 201  # none of them counted


def test_ten_people_an_hour_sign_up_from_one_network_address(portal: ConsumerPortal, clock: FixedClock) -> None:
    statuses = [portal.sign_up(f"{number}@people.example").status_code for number in range(11)]
    refused = portal.sign_up()
    clock.advance(timedelta(hours=1))

    assert statuses == [201] * 10 + [429]
    assert (refused.json()["details"]["limit"], refused.json()["details"]["window_seconds"]) == (10, 3600)
    assert portal.sign_up().status_code == 201


def test_an_address_is_sent_three_mails_an_hour_whether_it_has_an_account_or_not(
    portal: ConsumerPortal, clock: FixedClock
) -> None:
    portal.open_account().close()
    clock.advance(timedelta(hours=1))
    paths = ("/v1/consumer/verify-email/resend", "/v1/auth/password/forgot")

    answers = {
        address: [portal.anyone.post(paths[turn % 2], json={"email": address}) for turn in range(4)]
        for address in (ADA, "Unknown@people.example")
    }

    for each in answers.values():
        assert [answer.status_code for answer in each] == [202, 202, 202, 429]
        assert [answer.json() for answer in each[:3]] == [{}] * 3
        assert each[3].json()["details"]["limit"] == 3
    assert len(portal.letters("unknown@people.example")) == 3
    assert portal.sign_up().status_code == 429
    clock.advance(timedelta(hours=1))
    assert portal.sign_up().status_code == 201


def test_a_mail_is_sent_again_as_the_address_needs_it(portal: ConsumerPortal) -> None:
    portal.sign_up()
    portal.open_account(GRACE).close()

    for address in (ADA, GRACE, "unknown@people.example"):
        assert portal.anyone.post("/v1/consumer/verify-email/resend", json={"email": address}).status_code == 202

    assert "You have an account already" in portal.letters(GRACE)[-1]
    assert "no sign-up" in portal.letters("unknown@people.example")[-1]
    assert len(portal.letters()) == 2
    assert portal.verify(portal.token_of()).status_code == 200


def test_an_address_is_verified_by_no_get(portal: ConsumerPortal) -> None:
    portal.sign_up()
    rows = count_rows(portal.lab)

    answer = portal.anyone.get("/v1/consumer/verify-email", params={"token": portal.token_of()})

    assert answer.status_code == 405
    assert count_rows(portal.lab) == rows
