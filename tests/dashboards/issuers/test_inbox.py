"""The pane of inbox deliveries: how many are delivered, waiting and declined, by issuer and week, and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

import pytest

import attestlab
from attestlab import Lab
from attestlab.attestations.inbox.shapes import DeliverIn
from attestlab.consumer.inbox import store as inbox_store
from attestlab.consumer.inbox.rules import ReadState
from attestlab.identity.sessions import caller_of
from attestlab.identity.store import find_person_by_address
from attestlab.installation import Installation
from attestlab_dashboards.issuers.page import PAGE
from attestlab_dashboards.issuers.panes.inbox import InboxDeliveries, IssuerDeliveries, list_weeks, load_inbox
from attestlab_dashboards.issuers.state import IssuerState
from support.dashboards.markup import read_words
from support.governance_story import sign_in

PANE = next(pane for pane in PAGE.panes if pane.key == "inbox")
GRACE, STRANGER, SECRET = "grace@people.example", "no-account@people.example", "not mine, and private"


@pytest.fixture(scope="module")
def delivered(caches: None) -> Iterator[Lab]:
    """Deliveries of two issuers: three to an account, of which one was read and one declined, and one that waits."""
    with attestlab.demo(history=False) as lab:
        installation: Installation = lab._door.installation  # type: ignore[attr-defined]  # that of this process
        installation.orgs.add_consumer(GRACE, "only for this test", name="Grace Hopper")
        owner = installation.operator_caller()
        for issuer in ("Maker Guild", "Maker Guild", "Delta Clinics"):
            minted = lab.mint(issuer=issuer, schema="custom", claims={"subject": "x", "type": "y", "details": "z"})
            installation.inbox.deliver(DeliverIn(attestation_id=minted.id, recipient_email=GRACE), caller=owner)
        installation.inbox.deliver(DeliverIn(attestation_id=minted.id, recipient_email=STRANGER), caller=owner)
        with installation.storage.read() as connection:
            person = find_person_by_address(connection, GRACE)
            assert person is not None
            items = inbox_store.list_items(connection.execute, person.id)
        grace = caller_of(person, person.id)
        installation.inbox.set_read_state(items[0].id, ReadState.READ, caller=grace)
        installation.inbox.decline(items[1].id, SECRET, caller=grace)
        yield lab


def draw(lab: Lab, state: IssuerState | None = None) -> str:
    state = state or IssuerState()
    return str(PANE.draw(PANE.load(lab, state), state))


def test_deliveries_are_counted_by_issuer_and_state(delivered: Lab) -> None:
    found = load_inbox(sign_in(delivered, "ann"), IssuerState())

    assert [(each.name, dict(each.states)) for each in found.issuers] == [
        ("Delta Clinics", {"DELIVERED": 1, "PENDING": 1}),
        ("Maker Guild", {"DELIVERED": 1, "DECLINED": 1}),
    ]
    assert found.states == {"DELIVERED": 2, "PENDING": 1, "DECLINED": 1}
    words = read_words(draw(delivered))
    assert "2 delivered 50 %, in the inbox of an account" in words
    assert "Maker Guild 2 1 0 1" in words


def test_nothing_of_a_recipient_is_shown(delivered: Lab) -> None:
    """Neither who they are, nor why they declined, nor what they read."""
    exported = PANE.export(delivered, IssuerState()).df()  # type: ignore[misc]  # it has one
    shown = (draw(delivered) + exported.to_csv()).lower()

    assert list(exported.columns) == ["issuer_id", "name", "day", "state", "deliveries"]
    assert not [text for text in (GRACE, "grace", STRANGER, SECRET, "unread", "archived") if text in shown]


def test_the_filters_of_the_page_narrow_it(delivered: Lab) -> None:
    found = load_inbox(delivered, IssuerState(tier="VERIFIED"))

    assert [each.name for each in found.issuers] == ["Delta Clinics"]
    assert sum(sum(counts.values()) for counts in found.days.values()) == 2
    assert "No delivery of these issuers" in draw(delivered, IssuerState(jurisdiction="BR"))


def test_without_a_delivery_the_pane_says_how_to_make_one(own_service: Lab) -> None:
    assert "lab.mint(..., recipient_email=address)" in draw(own_service)


def test_a_week_has_the_deliveries_of_its_seven_days() -> None:
    now, today = datetime(2026, 11, 2, 12, tzinfo=UTC), date(2026, 11, 2)
    days = {today - timedelta(days=ago): Counter(DELIVERED=ago + 1) for ago in (0, 6, 7, 20)}
    found = InboxDeliveries(now, (IssuerDeliveries("1", "One", now),), days)

    weeks = list_weeks(found)

    assert [(start, counts["DELIVERED"]) for start, counts in weeks] == [
        (today - timedelta(days=20), 21),
        (today - timedelta(days=13), 8),
        (today - timedelta(days=6), 8),
    ]
