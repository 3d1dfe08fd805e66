"""Deliveries over HTTP: recipients get an e-mail; without an account, a delivery is pending until they open one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.consumer.inbox.store import items
from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.orgs import accept_invitation, create_api_key, extract_token, read_audit_trail

PASSWORD = "correct horse battery staple"


@dataclass
class Registry:
    """A tenant with an issuer, served by the real application."""

    lab: Installation
    client: httpx.Client
    issuer: dict[str, Any]

    def mint_for(self, address: str | None) -> dict[str, Any]:
        answer = mint(self.client, make_mint_body(self.issuer, recipient_email=address))
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def delivery_of(self, attestation: dict[str, Any]) -> httpx.Response:
        return self.client.get(f"/v1/attestations/{attestation['id']}/delivery")

    def letters(self) -> list[tuple[str, str, str]]:
        """Returns recipient, subject and text of every queued mail."""
        with self.lab.storage.read() as connection:
            waiting = connection.execute(select(*mails.c).order_by(mails.c.id)).all()
        claimed = [LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed) for row in waiting]
        return [(mail.recipient, mail.subject, self.lab.mails.text_of(mail)) for mail in claimed]


@pytest.fixture
def registry(lab: Installation) -> Iterator[Registry]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with serve_in_thread(lab) as url, make_client(url, key=create_api_key(lab, tenant)) as client:
        yield Registry(lab, client, register_issuer(client))


@pytest.mark.both_engines
def test_a_recipient_with_an_account_gets_it_immediately_with_a_mail(registry: Registry) -> None:
    registry.lab.orgs.add_consumer("ada@people.example", PASSWORD, name="Ada")

    minted = registry.mint_for("Ada@People.Example")

    shown = registry.delivery_of(minted).json()
    ((recipient, subject, text),) = registry.letters()
    assert (shown["delivery_state"], shown["recipient_email"]) == ("DELIVERED", "ada@people.example")
    assert shown["delivered_at"] == shown["created_at"]
    assert (recipient, subject) == ("ada@people.example", "Northfield University has issued an attestation to you")
    assert f"{registry.lab.portal_url}/a/{minted['id']}?k=" in text
    assert minted["share_url"] in text
    assert "/signup?token=" not in text


@pytest.mark.both_engines
def test_the_mail_leads_a_consumer_to_the_item_of_their_inbox(registry: Registry) -> None:
    ada = registry.lab.orgs.add_consumer("ada@people.example", PASSWORD, name="Ada")

    item = registry.delivery_of(registry.mint_for(ada.email)).json()["items"][0]

    ((_, _, text),) = registry.letters()
    (path,) = re.findall(rf"^{re.escape(registry.lab.portal_url)}(/inbox/[0-9a-f-]{{36}})$", text, re.M)
    opened = registry.client.get(path)
    assert path == f"/inbox/{item['id']}"
    assert (opened.status_code, opened.headers["location"]) == (303, f"../signin?next=inbox/{item['id']}")


def test_the_mail_to_a_person_of_a_team_names_no_inbox_which_they_do_not_have(registry: Registry) -> None:
    team = registry.lab.orgs.create_tenant("Other", plan=Plan.FREE)

    shown = registry.delivery_of(registry.mint_for(team.owner_email)).json()

    ((_, _, text),) = registry.letters()
    assert shown["delivery_state"] == "DELIVERED"
    assert "inbox" not in text
    assert "Anyone with this link can see" in text


@pytest.mark.both_engines
def test_a_delivery_is_pending_until_the_recipient_opens_an_account(registry: Registry) -> None:
    minted, other = registry.mint_for("ada@people.example"), registry.mint_for("grace@people.example")
    before = registry.delivery_of(minted).json()

    registry.lab.orgs.add_consumer("ADA@people.example", PASSWORD, name="Ada")

    after = registry.delivery_of(minted).json()
    assert (before["delivery_state"], before["delivered_at"]) == ("PENDING", None)
    assert (after["delivery_state"], after["delivered_at"] is not None) == ("DELIVERED", True)
    assert registry.delivery_of(other).json()["delivery_state"] == "PENDING"
    texts = {recipient: text for recipient, _, text in registry.letters()}
    assert set(texts) == {"ada@people.example", "grace@people.example"}
    assert "with the address ada@people.example" in texts["ada@people.example"]
    assert f"{registry.lab.portal_url}/signup?token=" in texts["ada@people.example"]


def test_an_invited_or_removed_person_has_no_account(registry: Registry) -> None:
    caller = registry.lab.orgs.service_caller(registry.lab.orgs.create_tenant("Other", plan=Plan.FREE).tenant_id)
    registry.lab.people.invite(UserIn(email="ada@people.example", role=Role.MEMBER), caller=caller)

    assert registry.delivery_of(registry.mint_for("ada@people.example")).json()["delivery_state"] == "PENDING"


def test_accepting_an_invitation_delivers_pending_attestations(registry: Registry) -> None:
    """Also attestations from before the invitation, issued by another tenant than the inviting one."""
    early = registry.mint_for("ada@people.example")
    caller = registry.lab.orgs.service_caller(registry.lab.orgs.create_tenant("Other", plan=Plan.FREE).tenant_id)
    registry.lab.people.invite(UserIn(email="Ada@people.example", role=Role.MEMBER), caller=caller)
    late, other = registry.mint_for("ADA@people.example"), registry.mint_for("grace@people.example")

    with make_client(str(registry.client.base_url)) as client:
        joined = accept_invitation(client, extract_token(invitation_of(registry)))

    assert joined.status_code == 200, joined.text
    shown = [registry.delivery_of(minted).json() for minted in (early, late)]
    assert [one["delivery_state"] for one in shown] == ["DELIVERED"] * 2
    assert {one["delivered_at"] for one in shown} == {joined.json()["joined_at"]}
    assert read_audit_trail(registry.lab, shown[0]["items"][0]["id"])[-1] == ("delivery.claim", "SERVICE")
    assert registry.delivery_of(other).json()["delivery_state"] == "PENDING"


def invitation_of(registry: Registry) -> str:
    """Returns the text of the one mailed invitation to a tenant."""
    (text,) = (text for _, subject, text in registry.letters() if subject.startswith("Invitation to"))
    return text


def test_a_new_tenants_owner_gets_pending_attestations(registry: Registry) -> None:
    minted = registry.mint_for("owner@later.example")

    registry.lab.orgs.create_tenant("Later", plan=Plan.FREE)

    assert registry.delivery_of(minted).json()["delivery_state"] == "DELIVERED"


def test_a_missing_and_a_foreign_delivery_answer_alike(registry: Registry) -> None:
    without_recipient = registry.mint_for(None)
    for_ada = registry.mint_for("ada@people.example")
    stranger = registry.lab.orgs.create_tenant("Stranger", plan=Plan.FREE)
    path = f"/v1/attestations/{for_ada['id']}/delivery"

    with make_client(str(registry.client.base_url), key=stranger.api_key) as client:
        hidden = client.get(path)

    assert (registry.delivery_of(without_recipient).status_code, hidden.status_code) == (404, 404)
    assert registry.client.get(f"/v1/attestations/{uuid4()}/delivery").status_code == 404
    assert [recipient for recipient, _, _ in registry.letters()] == ["ada@people.example"]


@pytest.mark.parametrize("address", ["nonsense", "a@b", "ada@people.example\nBcc: eve@evil.example", "@people.example"])
def test_an_invalid_recipient_address_mints_nothing(registry: Registry, address: str) -> None:
    refused = mint(registry.client, make_mint_body(registry.issuer, recipient_email=address))

    assert refused.status_code == 400
    assert [fault["field"] for fault in refused.json()["details"]["fields"]] == ["/recipient_email"]
    assert registry.letters() == []
    assert registry.client.get("/v1/attestations").json()["items"] == []


def test_an_issuer_name_cannot_inject_headers(registry: Registry) -> None:
    path = f"/v1/issuers/{registry.issuer['id']}"
    assert registry.client.patch(path, json={"name": "Evil\r\nBcc: eve@evil.example"}).status_code == 400


@pytest.mark.both_engines
def test_mail_and_delivery_are_stored_only_with_the_attestation(registry: Registry) -> None:
    """In a batch, a failed item leaves nothing behind, and the others are delivered."""
    good = make_mint_body(registry.issuer, recipient_email="ada@people.example")
    bad = {**good, "kid": "unknown", "recipient_email": "grace@people.example"}

    answer = registry.client.post("/v1/attestations/batch", json={"items": [good, bad, good]}).json()

    assert [item["http_status"] for item in answer["items"]] == [201, 404, 201]
    assert [recipient for recipient, _, _ in registry.letters()] == ["ada@people.example"] * 2
    with registry.lab.storage.read() as connection:
        assert len(connection.execute(select(items.c.attestation_id)).all()) == 2
