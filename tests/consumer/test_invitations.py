"""The invitation in the mail of a mint: one link, a password, and what was issued is there."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from attestlab.core.clock import FixedClock
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.consumers import ADA, GRACE, ConsumerPortal, read_reason
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import accept_invitation, read_mailed_token


def mint_for(portal: ConsumerPortal, *addresses: str) -> list[str]:
    """Mint an attestation for each address, by a new tenant; return their delivery states."""
    tenant = portal.lab.orgs.create_tenant("Registry", plan=Plan.ENTERPRISE)
    with make_client(portal.url, key=tenant.api_key) as registrar:
        issuer = register_issuer(registrar)
        minted = [mint(registrar, make_mint_body(issuer, recipient_email=address)) for address in addresses]
        return [read_state(registrar, answer.json()["id"]) for answer in minted]


def read_state(registrar: httpx.Client, attestation_id: str) -> str:
    state: str = registrar.get(f"/v1/attestations/{attestation_id}/delivery").json()["delivery_state"]
    return state


@pytest.mark.both_engines
def test_the_mail_of_a_mint_opens_an_account_that_has_what_waited(portal: ConsumerPortal) -> None:
    states = mint_for(portal, ADA, ADA, GRACE)

    opened = portal.sign_up(invitation_token=portal.token_of())

    assert states == ["PENDING"] * 3
    text = portal.letters()[-1]
    assert f"{portal.lab.portal_url}/signup?token=" in text
    assert f"{portal.lab.portal_url}/a/" in text
    assert (opened.status_code, opened.json()["status"]) == (201, "ACTIVE")
    assert mint_for(portal, ADA) == ["DELIVERED"]
    assert "/signup?token=" not in portal.letters()[-1]


@pytest.mark.both_engines
def test_someone_invited_to_a_team_gets_no_link_that_cannot_work(portal: ConsumerPortal) -> None:
    """Only the invitation to the team opens an account for this address, and what waited is delivered with it."""
    team = portal.lab.orgs.create_tenant("Team", plan=Plan.ENTERPRISE)
    with make_client(portal.url, key=team.api_key) as admin:
        assert admin.post("/v1/users", json={"email": ADA, "role": "member"}).status_code == 201
    token = read_mailed_token(portal.lab, ADA)

    assert mint_for(portal, ADA) == ["PENDING"]
    assert [text.count("/signup?token=") for text in portal.letters()] == [0, 0]
    assert sum(text.count(f"{portal.lab.portal_url}/a/") for text in portal.letters()) == 1
    assert accept_invitation(portal.anyone, token).status_code == 200
    assert mint_for(portal, ADA) == ["DELIVERED"]


def test_a_verified_address_claims_what_waited_for_it(portal: ConsumerPortal) -> None:
    mint_for(portal, ADA, ADA, GRACE)
    portal.sign_up()
    claimed = portal.verify(portal.token_of()).json()["claimed"]
    with portal.sign_in() as ada:
        ada.post("/v1/consumer/emails", json={"email": GRACE})
        further = portal.verify(portal.token_of(GRACE))

    assert claimed == 2
    assert (further.json()["claimed"], portal.verify(portal.token_of(GRACE)).content) == (1, further.content)


def test_an_invitation_of_a_mint_lasts_thirty_days(portal: ConsumerPortal, clock: FixedClock) -> None:
    mint_for(portal, ADA)
    clock.advance(timedelta(days=30))

    assert read_reason(portal.sign_up(invitation_token=portal.token_of())) == (400, "invitation_invalid")
