"""What a person keeps private, declined or deleted is in no other's list, page, feed, data set or search.

And the entries of the log name no one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.db.tables import table_of
from attestlab.installation import Installation
from attestlab.log.tables import LogLeaf
from attestlab.server.app import all_routes
from support.access import PASSWORD, AccessScenario, PartyClients, open_access_scenario
from support.attestations import make_mint_body, mint
from support.in_process_server import serve_in_thread
from support.issuers import register_issuer
from support.protections import PORTFOLIO, protect

PRIVATE, UNLISTED, DECLINED, ERASED = "zqprivate", "zqunlisted", "zqdeclined", "zqerased"
MARKERS = (PRIVATE, UNLISTED, DECLINED, ERASED)
LOG = ("log_entries", "/v1/log/entries")  # the public log has the ids of all attestations
SEARCHED = ("/v1/receipts/search",)
QUERIES = {"/v1/receipts/export": {"format": "json"}, "/v1/risk/signals/export": {"format": "json"}}


class Hidden(NamedTuple):
    """What was hidden, and from whom: the ids of its attestations, and of the people."""

    attestations: dict[str, str]
    people: list[str]


@pytest.fixture
def access(lab: Installation) -> Iterator[AccessScenario]:
    with serve_in_thread(lab) as url, open_access_scenario(lab, url) as made:
        yield made


def hide_things(access: AccessScenario) -> Hidden:
    """Protect privately and unlisted, decline a credential, and delete an account that showed a protection."""
    ada, grace = access.account, access.stranger()
    for consumer, name in ((ada.consumer, "zqada"), (grace.consumer, "zqgrace")):
        consumer.put("/v1/consumer/me/username", json={"username": name}).raise_for_status()
        shown = {"portfolio_visibility": "public", "bio": f"{ERASED} bio" if name == "zqgrace" else ""}
        consumer.patch("/v1/consumer/me", json=shown).raise_for_status()
    made = {
        PRIVATE: protect(ada.consumer, PRIVATE),
        UNLISTED: protect(ada.consumer, UNLISTED, visibility="unlisted"),
        ERASED: protect(grace.consumer, ERASED, visibility="public"),
    }
    issuer = register_issuer(ada.with_key)
    credential = mint(ada.with_key, make_mint_body(issuer)).json()["id"]
    body = {"attestation_id": credential, "recipient_email": ada.consumer_email, "safe_metadata": {"title": DECLINED}}
    ada.with_key.post("/v1/consumer/inbox/deliver", json=body).raise_for_status()
    (item,) = ada.consumer.get("/v1/consumer/inbox").json()["items"]
    ada.consumer.post(f"/v1/consumer/inbox/{item['id']}/decline", json={}).raise_for_status()
    people = [client.get("/v1/consumer/me").json()["id"] for client in (ada.consumer, grace.consumer)]
    grace.consumer.post("/v1/consumer/me/delete", json={"password": PASSWORD}).raise_for_status()
    attestations = {name: protection["attestation_id"] for name, protection in made.items()}
    return Hidden({**attestations, DECLINED: credential}, people)


def read_everything(client: httpx.Client) -> Iterator[tuple[str, str]]:
    """Yield what a client reads at each address that names no object, and what its searches find."""
    for route in all_routes():
        if route.method == "GET" and "{" not in route.path:
            yield route.path, client.get(route.path, params=QUERIES.get(route.path)).text
    for marker in (*MARKERS, "zqgrace"):
        for path in SEARCHED:
            yield f"{path} {marker}", client.post(path, json={"q": marker}).text
        yield f"/ {marker}", client.get("/", params={"q": marker}).text.replace(f'value="{marker}"', "")


def read_lake(lab: Installation, account: PartyClients) -> Iterator[tuple[str, str]]:
    """Yield all rows of all data sets of a tenant."""
    lake = lab.lake(lab.orgs.service_caller(account.tenant.tenant_id))
    for dataset in account.with_key.get("/v1/lake/datasets").json()["items"]:
        yield dataset["name"], str(getattr(lake, dataset["name"]).arrow().to_pylist())


def test_others_do_not_find_what_is_hidden(access: AccessScenario) -> None:
    hidden, other = hide_things(access), access.stranger()
    markers = (*MARKERS, *hidden.attestations.values())
    readers = {
        "anyone": access.anonymous(),
        "another consumer": other.consumer,
        "another tenant": other.with_key,
        "its owner": other.signed_in,
        "an editor": other.editor,
    }
    read = [(who, *each) for who, client in readers.items() for each in read_everything(client)]
    read += [("lake", *each) for each in read_lake(access.lab, other)]
    found = {(who, where, marker) for who, where, text in read for marker in markers if marker in text}
    readers["anyone"].close()

    assert len(read) > 200
    assert {(who, where, text) for who, where, text in found if where not in LOG or text in MARKERS} == set()


def test_pages_and_portfolios_show_what_is_public_alone(access: AccessScenario) -> None:
    hide_things(access)
    with access.anonymous() as anyone:
        mine = [anyone.get(path).text for path in ("/u/zqada", f"{PORTFOLIO}/zqada")]
        gone = [anyone.get(path).status_code for path in ("/u/zqgrace", f"{PORTFOLIO}/zqgrace", f"{PORTFOLIO}/zqx")]

    assert not any(marker in text for text in mine for marker in (PRIVATE, UNLISTED, DECLINED))
    assert gone == [404] * 3


def test_the_entries_of_the_log_name_no_person(access: AccessScenario) -> None:
    hidden = hide_things(access)
    leaves = table_of(LogLeaf)
    with access.lab.storage.read() as connection:
        entries = b"\n".join(connection.execute(select(leaves.c.entry)).scalars())
    names = [PRIVATE, UNLISTED, DECLINED, ERASED, "zqada", "zqgrace", "@example.com", "@people.example", "A consumer"]

    assert all(attestation.encode() in entries for attestation in hidden.attestations.values())
    assert [name for name in (*names, *hidden.people) if name.encode() in entries] == []
