"""A mailed link opens an account although a team invited the address later: an invitation is no account yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from attestlab.orgs.rules import Plan
from support.consumers import ADA, GRACE, ConsumerPortal, read_reason
from support.in_process_server import make_client
from support.lab_checks import check_lab
from support.orgs import accept_invitation, extract_token


@pytest.fixture
def team(portal: ConsumerPortal) -> Iterator[httpx.Client]:
    tenant = portal.lab.orgs.create_tenant("Team", plan=Plan.ENTERPRISE)
    with make_client(portal.url, key=tenant.api_key) as admin:
        admin.event_hooks = {"request": [portal.move_clock]}
        yield admin


def invite(team: httpx.Client, address: str) -> str:
    """Invite an address to the team; return the id of the person."""
    answer = team.post("/v1/users", json={"email": address, "role": "member"})
    assert answer.status_code == 201, answer.text
    user_id: str = answer.json()["id"]
    return user_id


def read_what_the_team_sees(team: httpx.Client) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what the team sees of its people, and its audit trail."""
    return team.get("/v1/users").json()["items"], team.get("/v1/audit/events").json()["items"]


@pytest.mark.both_engines
def test_a_sign_up_is_completed_although_a_team_invited_its_address(portal: ConsumerPortal, team: httpx.Client) -> None:
    portal.sign_up()
    token = portal.token_of()
    invite(team, ADA)
    to_the_team, seen = extract_token(portal.letters()[-1]), read_what_the_team_sees(team)

    verified = portal.verify(token)

    assert (verified.status_code, verified.json()["status"]) == (200, "ACTIVE"), verified.text
    assert portal.login().status_code == 200
    assert read_what_the_team_sees(team) == seen, "the team learns that the address has an account"
    assert accept_invitation(portal.anyone, to_the_team).status_code == 404
    check_lab(portal.lab)


def test_an_invitation_of_a_mint_is_accepted_although_a_team_invited_its_address(
    portal: ConsumerPortal, team: httpx.Client
) -> None:
    portal.lab.consumers.signups.invite(ADA)
    token = portal.token_of()
    invite(team, ADA)

    assert portal.sign_up(invitation_token=token).json()["status"] == "ACTIVE"


def test_a_further_address_is_verified_although_a_team_invited_it(portal: ConsumerPortal, team: httpx.Client) -> None:
    with portal.open_account() as ada:
        ada.post("/v1/consumer/emails", json={"email": GRACE}).raise_for_status()
        token = portal.token_of(GRACE)
        invite(team, GRACE)
        to_the_team = extract_token(portal.letters(GRACE)[-1])

        assert portal.verify(token).status_code == 200
        assert [each["email"] for each in ada.get("/v1/consumer/me").json()["emails"]] == [ADA, GRACE]
    assert accept_invitation(portal.anyone, to_the_team).status_code == 404
    check_lab(portal.lab)


def test_who_joined_the_team_has_an_account_so_the_link_is_dead(portal: ConsumerPortal, team: httpx.Client) -> None:
    portal.sign_up()
    token = portal.token_of()
    invite(team, ADA)

    assert accept_invitation(portal.anyone, extract_token(portal.letters()[-1])).status_code == 200
    assert portal.login().status_code == 200
    assert read_reason(portal.verify(token)) == (400, "token_invalid")


def test_a_team_that_invites_a_further_address_of_a_consumer_mails_no_link(
    portal: ConsumerPortal, team: httpx.Client
) -> None:
    with portal.open_account() as ada:
        ada.post("/v1/consumer/emails", json={"email": GRACE}).raise_for_status()
        portal.verify(portal.token_of(GRACE))

    invite(team, GRACE)

    assert "You cannot accept with this address" in portal.letters(GRACE)[-1]


def test_the_team_renews_an_invitation_that_an_account_ended(portal: ConsumerPortal, team: httpx.Client) -> None:
    portal.sign_up()
    token = portal.token_of()
    invited = invite(team, ADA)
    portal.verify(token)

    assert invite(team, ADA) == invited
    assert "You cannot accept with this address" in portal.letters()[-1]


def test_of_two_teams_that_invite_an_address_the_first_is_joined(portal: ConsumerPortal, team: httpx.Client) -> None:
    other = portal.lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
    invite(team, ADA)
    first = extract_token(portal.letters()[-1])
    with make_client(portal.url, key=other.api_key) as admin:
        portal.move_clock()
        invite(admin, ADA)
    second = extract_token(portal.letters()[-1])

    assert accept_invitation(portal.anyone, second).status_code == 200
    assert accept_invitation(portal.anyone, first).status_code == 404
    check_lab(portal.lab)
