"""Received credentials that a consumer shows beside their own content."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from sqlalchemy import select

from attestlab.consumer.inbox.rules import DeliveryState
from attestlab.consumer.inbox.store import items
from attestlab.consumer.inbox.tables import InboxItemRecord
from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.core.records import audited_write
from attestlab.core.records.actors import UserActor
from attestlab.core.records.audited_write import AuditContext
from attestlab.installation import Installation
from attestlab.integrity.fsck import fsck
from attestlab.orgs.rules import Plan
from support.attestations import make_mint_body, mint
from support.in_process_server import make_client
from support.issuers import register_issuer
from support.orgs import create_api_key
from support.outbox import read_events_of_type
from support.protections import PORTFOLIO, PROTECTIONS, Consumer, hash_of


@dataclass
class Registry:
    """A tenant that issues degrees."""

    client: httpx.Client
    issuer: dict[str, Any]

    def mint_for(self, address: str, **fields: Any) -> dict[str, Any]:
        answer = mint(self.client, make_mint_body(self.issuer, recipient_email=address, **fields))
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def registry(lab: Installation, url: str) -> Iterator[Registry]:
    tenant = lab.orgs.create_tenant("Example Registry", plan=Plan.ENTERPRISE)
    with make_client(url, key=create_api_key(lab, tenant)) as client:
        yield Registry(client, register_issuer(client))


def show(consumer: Consumer, attestation_id: str, **fields: Any) -> httpx.Response:
    body = {"attestation_id": attestation_id, "title": "My degree", "visibility": "public", **fields}
    return consumer.client.post(PROTECTIONS, json=body)


def decline(lab: Installation, consumer: Consumer, attestation_id: str) -> None:
    """What `POST /v1/consumer/inbox/{id}/decline` does to the records."""
    now = lab.clock.now()
    with lab.storage.write() as tx:
        row = InboxItemRecord._make(
            tx.exec(select(*items.c).where(items.c.attestation_id == UUID(attestation_id))).one()
        )
        context = AuditContext(row.tenant_id, UserActor(str(consumer.user_id)), "delivery.decline", now)
        changes = {"state": DeliveryState.DECLINED.value, "declined_at": now}
        audited_write.change(tx, items, row, changes, context)


@pytest.mark.both_engines
def test_a_received_credential_is_shown_and_nothing_is_minted(
    ada: Consumer, registry: Registry, lab: Installation, url: str
) -> None:
    ada.choose_profile("ada")
    degree = registry.mint_for("ada@consumers.example", document_hash=hash_of("degree"))

    answer = show(ada, degree["id"], category="degrees")

    shown = answer.json()
    assert (answer.status_code, shown["source"], shown["attestation_id"]) == (201, "received", degree["id"])
    assert (shown["content_hash"], shown["content_type"]) == (hash_of("degree"), "other")
    with make_client(url) as anyone:
        (entry,) = anyone.get(f"{PORTFOLIO}/ada").json()["protections"]
    assert (entry["title"], entry["attestation_status"]) == ("My degree", "VALID")
    assert ada.protect("degree")["source"] == "own", "its own attestation of the same document"
    assert [event["protection_id"] != shown["id"] for event in read_events_of_type(lab, "consumer.content.protected")]
    assert list(fsck(lab)) == []


def test_it_is_shown_once_and_only_its_issuer_revokes_it(ada: Consumer, registry: Registry) -> None:
    degree = registry.mint_for("ada@consumers.example")
    shown = show(ada, degree["id"]).json()
    place = f"{PROTECTIONS}/{shown['id']}"

    again, refused = show(ada, degree["id"]), ada.client.post(f"{place}/revoke", json={"reason": "Not mine"})

    assert (again.status_code, again.json()["details"]["protection_id"]) == (409, shown["id"])
    assert (refused.status_code, refused.json()["details"]["reason"]) == (409, "received")
    registry.client.post(f"/v1/attestations/{degree['id']}/revoke", json={"reason": "An error"})
    assert ada.client.get(place).json()["attestation_status"] == "REVOKED"
    assert ada.client.delete(place).status_code == 204
    assert show(ada, degree["id"]).status_code == 201, "it can be shown again"


def test_the_portfolio_shows_each_credential_as_expired_from_that_moment(
    ada: Consumer, registry: Registry, clock: FixedClock
) -> None:
    """Nothing is written between the reads, so only time changes what was rendered before."""
    ada.choose_profile("ada")
    for hours in (1, 2):
        expiry = format_time(clock.now() + timedelta(hours=hours))
        assert show(ada, registry.mint_for(ada.email, expiry_at=expiry)["id"]).status_code == 201
        clock.advance(timedelta(seconds=1))  # so that they have an order
    seen = []
    for hours in (0, 1, 1):
        clock.advance(timedelta(hours=hours))
        with make_client(str(ada.client.base_url)) as anyone:
            entries = anyone.get(f"{PORTFOLIO}/ada").json()["protections"]
            page = anyone.get("/u/ada", headers={"Accept": "text/html"}).text
        seen.append(([entry["attestation_status"] for entry in reversed(entries)], page.count("EXPIRED")))

    assert [statuses for statuses, _ in seen] == [["VALID", "VALID"], ["EXPIRED", "VALID"], ["EXPIRED", "EXPIRED"]]
    assert [marks for _, marks in seen] == [0, 1, 2]


def test_what_was_not_received_is_unknown(ada: Consumer, grace: Consumer, registry: Registry) -> None:
    theirs, pending = registry.mint_for("grace@consumers.example"), registry.mint_for("unknown@consumers.example")

    for attestation_id in (theirs["id"], pending["id"], str(uuid4())):
        answer = show(ada, attestation_id)
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert ada.client.get(PROTECTIONS).json()["total"] == 0
    assert show(grace, theirs["id"]).status_code == 201


def test_a_declined_one_is_shown_no_longer(ada: Consumer, registry: Registry, lab: Installation, url: str) -> None:
    ada.choose_profile("ada")
    degree = registry.mint_for("ada@consumers.example")
    shown = show(ada, degree["id"]).json()

    decline(lab, ada, degree["id"])

    with make_client(url) as anyone:
        assert anyone.get(f"{PORTFOLIO}/ada").json()["protections"] == []
    assert ada.client.get(f"{PROTECTIONS}/{shown['id']}").status_code == 404
    assert ada.client.get(PROTECTIONS).json() == {"items": [], "total": 0, "next_cursor": None}
    assert show(ada, degree["id"]).status_code == 404


def test_a_wrong_attestation_is_named(ada: Consumer) -> None:
    bodies = [{"attestation_id": wrong, "title": "Mine"} for wrong in ("", "x", 7, "0" * 32)]
    answers = [ada.client.post(PROTECTIONS, json=body) for body in bodies]

    assert {answer.status_code for answer in answers} == {400}
    assert {answer.json()["details"]["fields"][0]["field"] for answer in answers} == {"/attestation_id"}
