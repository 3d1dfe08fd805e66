"""The pages of an inbox: what was delivered, what opening one changes, and what its forms do."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from attestlab.attestations.inbox.shapes import DeliverIn, InboxFilter
from attestlab.attestations.minting import MintRequest
from attestlab.consumer.inbox.rules import ReadState
from attestlab.core.clock import FixedClock
from attestlab.core.crypto.signing import Algorithm
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.orgs.service import ConsumerCreated
from support.consumer_pages import ADA, BrowserVisitor, consumer_caller
from support.in_process_server import make_client
from support.orgs import PASSWORD
from support.portal import CLAIMS, ParsedPage, mint_document

DOWNLOADS = ("record.json", "sd-jwt")


@pytest.fixture
def attestation(lab: Installation, caller: Caller, ada: ConsumerCreated) -> UUID:
    return mint_document(lab, caller, recipient_email=ADA)


def find_item(lab: Installation, ada: ConsumerCreated) -> tuple[str, str, str]:
    """The id, the read state and the delivery state of the only item."""
    [entry] = lab.inbox.page(InboxFilter.ALL, caller=consumer_caller(lab, ada)).entries
    return str(entry.id), entry.read_state, entry.state


@pytest.mark.both_engines
def test_opening_an_item_marks_it_as_read(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated, attestation: UUID
) -> None:
    item, *_ = find_item(lab, ada)
    listed = consumer.get("/inbox")
    assert f'href="inbox/{item}"' in listed.text
    consumer.client.head(f"/inbox/{item}")
    consumer.client.get(f"/inbox/{item}", headers={"Sec-Purpose": "prefetch"})
    assert find_item(lab, ada)[1] == ReadState.UNREAD

    opened = consumer.get(f"/inbox/{item}")

    key = lab.links.share_key(attestation)
    assert (opened.status_code, f"../a/{attestation}?k={key}" in opened.text) == (200, True)
    assert find_item(lab, ada)[1] == ReadState.READ
    assert f"inbox/{item}" not in consumer.get("/inbox").text
    assert f"inbox/{item}" in consumer.get("/inbox", read_state="ALL").text


def test_the_links_of_an_item_work(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated, attestation: UUID
) -> None:
    item, *_ = find_item(lab, ada)
    page = consumer.get(f"/inbox/{item}")
    hrefs = [str(each["href"]) for each in ParsedPage(page.text).all("a")]
    links = [href for href in hrefs if f"/a/{attestation}" in href or href.startswith(item)]

    names = [link.partition("?")[0].rpartition("/")[2] for link in links]
    assert names == [str(attestation), "record.json", "bundle.json", "sd-jwt", "open-badge"]
    answers = [consumer.client.get(page.url.join(link)) for link in links]
    assert {answer.status_code for answer in answers} == {200}
    assert answers[1].json()["payload"]["claims"] == CLAIMS
    assert answers[3].text.count("~") > len(CLAIMS)  # a disclosure follows each


def test_a_revoked_attestation_has_no_credential_to_download(
    consumer: BrowserVisitor, lab: Installation, caller: Caller, ada: ConsumerCreated, attestation: UUID
) -> None:
    item, *_ = find_item(lab, ada)
    lab.attestations.revoke(attestation, reason="in error", caller=caller)
    page = ParsedPage(consumer.get(f"/inbox/{item}").text)

    assert {f"{item}/sd-jwt", f"{item}/record.json"} & {each["href"] for each in page.all("a")} == {
        f"{item}/record.json"
    }
    assert consumer.get(f"/inbox/{item}/record.json").json()["status"] == "REVOKED"
    assert consumer.get(f"/inbox/{item}/sd-jwt").status_code == 409


def test_a_stranger_signs_in_first(url: str, lab: Installation, ada: ConsumerCreated, attestation: UUID) -> None:
    item, *_ = find_item(lab, ada)
    with make_client(url) as client:
        stranger = BrowserVisitor(client)
        answers = [
            stranger.get("/inbox"),
            stranger.get(f"/inbox/{item}"),
            stranger.send(f"/inbox/{item}", action="READ"),
            *(stranger.get(f"/inbox/{item}/{name}") for name in DOWNLOADS),
        ]

    assert [answer.status_code for answer in answers] == [303] * 5
    there = f"../signin?next=inbox/{item}"
    assert [answer.headers["Location"] for answer in answers] == [
        *("signin?next=inbox", there, there),
        *[f"../{there}"] * 2,
    ]
    assert find_item(lab, ada)[1] == ReadState.UNREAD


def test_another_consumer_finds_nothing(url: str, lab: Installation, ada: ConsumerCreated, attestation: UUID) -> None:
    lab.orgs.add_consumer("eve@consumers.example", PASSWORD, name="Eve")
    item, *_ = find_item(lab, ada)
    with make_client(url) as client:
        eve = BrowserVisitor(client)
        eve.sign_in(email="eve@consumers.example")
        answers = [eve.get(f"/inbox/{item}"), eve.send_signed("/settings", to=f"/inbox/{item}", action="decline")]
        answers += [eve.get(f"/inbox/{item}/{name}") for name in DOWNLOADS]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert "This is not in your inbox" in answers[0].text
    assert find_item(lab, ada)[1:] == (ReadState.UNREAD, "DELIVERED")


@pytest.mark.parametrize(
    ("form", "states"),
    [
        ({"action": "ARCHIVED"}, (ReadState.ARCHIVED, "DELIVERED")),
        ({"action": "UNREAD"}, (ReadState.UNREAD, "DELIVERED")),
        ({"action": "decline"}, (ReadState.ARCHIVED, "DECLINED")),
        ({"action": "decline", "reason": "Not mine"}, (ReadState.ARCHIVED, "DECLINED")),
    ],
)
def test_the_forms_file_an_item(
    consumer: BrowserVisitor,
    lab: Installation,
    ada: ConsumerCreated,
    attestation: UUID,
    form: dict[str, str],
    states: tuple[str, str],
) -> None:
    item, *_ = find_item(lab, ada)
    answer = consumer.send_signed(f"/inbox/{item}", **form)

    assert (answer.status_code, answer.headers["Location"]) == (303, "../inbox")
    assert find_item(lab, ada)[1:] == states


def test_a_declined_item_has_no_links_and_no_forms(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated, attestation: UUID
) -> None:
    item, *_ = find_item(lab, ada)
    consumer.send_signed(f"/inbox/{item}", action="decline")
    page = consumer.get(f"/inbox/{item}").text

    assert "declined" in page
    assert (str(attestation) in page, 'name="action"' in page) == (False, False)
    refused = consumer.send_signed(f"/inbox/{item}", action="READ")
    assert (refused.status_code, "You declined this attestation" in refused.text) == (409, True)


@pytest.mark.parametrize(
    ("form", "status", "problem"),
    [
        ({"action": "x"}, 400, "one of its buttons"),
        ({}, 400, "one of its buttons"),
        ({"action": "decline", "reason": "x" * 1001}, 400, "Reason: "),
        ({"action": "show", "title": "", "visibility": "public"}, 400, "Title: "),
        ({"action": "show", "title": "x" * 201, "visibility": "public"}, 400, "Title: "),
        ({"action": "show", "title": "A degree", "visibility": "all"}, 400, "Visibility: "),
    ],
)
def test_the_page_states_what_is_wrong(
    consumer: BrowserVisitor,
    lab: Installation,
    ada: ConsumerCreated,
    attestation: UUID,
    form: dict[str, str],
    status: int,
    problem: str,
) -> None:
    item, *_ = find_item(lab, ada)
    answer = consumer.send_signed(f"/inbox/{item}", **form)

    assert (answer.status_code, problem in ParsedPage(answer.text).text) == (status, True)
    assert find_item(lab, ada)[2] == "DELIVERED"


def test_a_form_without_the_token_of_the_session_changes_nothing(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated, attestation: UUID
) -> None:
    item, *_ = find_item(lab, ada)
    for token, origin in (
        ("", "own"),
        ("x" * 43, "own"),
        (consumer.find_form_tokens("/inbox")[0], "https://evil.example"),
    ):
        answer = consumer.send(f"/inbox/{item}", origin=origin, form_token=token, action="decline")

        assert (answer.status_code, "not sent from its page" in answer.text) == (403, True)
    assert find_item(lab, ada)[2] == "DELIVERED"


def test_a_received_credential_is_shown(
    consumer: BrowserVisitor, lab: Installation, ada: ConsumerCreated, attestation: UUID
) -> None:
    item, *_ = find_item(lab, ada)
    consumer.send_signed("/settings", action="choose_username", username="ada")
    answer = consumer.send_signed(f"/inbox/{item}", action="show", title="My degree", visibility="public")

    assert (answer.status_code, answer.headers["Location"]) == (303, "../protect")
    shown = consumer.get("/u/ada").text
    assert ("My degree" in shown, f"../a/{attestation}" in shown, "k=" in shown) == (True, True, False)
    again = consumer.send_signed(f"/inbox/{item}", action="show", title="Again", visibility="public")
    assert (again.status_code, "already" in again.text) == (409, True)


def test_the_list_has_fifty_items_a_page(
    consumer: BrowserVisitor, lab: Installation, caller: Caller, ada: ConsumerCreated, clock: FixedClock
) -> None:
    made = lab.issuers.create({"name": "Registrar", "domain": "r.example"}, caller=caller, alg=Algorithm.ED25519)
    for number in range(51):
        clock.advance(timedelta(milliseconds=1))
        deliver_title(lab, caller, made.issuer.id, made.keys[0].kid, f"Title {number:02}")
    first = ParsedPage(consumer.get("/inbox").text)
    [older] = [str(each["href"]) for each in first.all("a") if "cursor=" in str(each["href"])]
    second = ParsedPage(consumer.get("/" + older).text)

    assert [("Title 00" in page.text, "Title 50" in page.text) for page in (first, second)] == [
        (False, True),
        (True, False),
    ]


def deliver_title(lab: Installation, caller: Caller, issuer_id: UUID, kid: str, title: str) -> None:
    """Mint an attestation, and deliver it under its own title."""
    request = MintRequest(issuer_id=issuer_id, kid=kid, schema="degree", claims=CLAIMS)
    minted = lab.attestations.mint(request, caller=caller)
    body = DeliverIn(attestation_id=minted.id, recipient_email=ADA, safe_metadata={"title": title})
    lab.inbox.deliver(body, caller=caller)
