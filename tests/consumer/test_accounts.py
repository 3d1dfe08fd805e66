"""Accounts of consumers: bio, username, addresses, export, deletion."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from attestlab.consumer.accounts import store
from attestlab.consumer.accounts.store import PersonalAccount
from attestlab.core.clock import FixedClock
from attestlab.core.db.tables import Execute
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import Conflict
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from attestlab.orgs.store import api_keys, orgs, tenants, users
from support.consumers import ADA, GRACE, PASSWORD, ConsumerPortal, read_reason
from support.in_process_server import make_client
from support.orgs import accept_invitation, read_mailed_token
from support.together import call_together

ME = "/v1/consumer/me"
EMAILS = "/v1/consumer/emails"
SECOND = "lovelace@people.example"


class Notes:
    """A part of accounts, as another capability would register it."""

    name = "notes"

    def __init__(self) -> None:
        self.erased: list[str] = []

    def export(self, execute: Execute, account: PersonalAccount) -> object:
        return {"of": account.email}

    def erase(self, tx: Transaction, account: PersonalAccount, at: datetime) -> None:
        self.erased.append(account.email)


def add_verified(portal: ConsumerPortal, client: httpx.Client, email: str = SECOND) -> None:
    assert client.post(EMAILS, json={"email": email}).status_code == 201
    assert portal.verify(portal.token_of(email)).status_code == 200


@pytest.mark.both_engines
def test_an_account_has_the_defaults_until_they_change(portal: ConsumerPortal) -> None:
    """An account of the command line, which never signed up, reads the same."""
    portal.lab.orgs.add_consumer(ADA, PASSWORD, name="Ada")
    with portal.sign_in() as ada:
        before = ada.get(ME).json()
        changed = ada.patch(
            ME, json={"name": " Ada King ", "bio": "Notes\non an engine", "portfolio_visibility": "private"}
        )
        after, person = ada.get(ME).json(), ada.get("/v1/me").json()
        partly = ada.patch(ME, json={"bio": ""}).json()

    assert before["emails"] == [{"email": ADA, "primary": True, "verified_at": before["created_at"]}]
    fields = ("name", "username", "bio", "portfolio_visibility", "portfolio_url", "unread", "protections")
    assert [before[name] for name in fields] == ["Ada", None, "", "public", None, 0, 0]
    assert changed.json() == after
    assert [after[name] for name in fields[:4]] == ["Ada King", None, "Notes\non an engine", "private"]
    assert (person["name"], person["tenant_name"]) == ("Ada King", "Ada King")
    assert partly == after | {"bio": ""}


@pytest.mark.parametrize(
    ("method", "path", "bodies", "field"),
    [
        ("PATCH", ME, [{"name": value} for value in (None, 1, "", " ", "A\nB", "x" * 201)], "/name"),
        ("PATCH", ME, [{"bio": value} for value in (None, 1, "x" * 501)], "/bio"),
        ("PATCH", ME, [{"portfolio_visibility": value} for value in (None, "unlisted", 1)], "/portfolio_visibility"),
        ("PATCH", ME, [{"email": GRACE}], "/email"),
        ("PUT", f"{ME}/username", [{"username": value} for value in (None, 1, "ad", "Ada", "x" * 31)], "/username"),
        ("PUT", f"{ME}/username", [{}], "/username"),
        ("POST", EMAILS, [{"email": value} for value in (None, 1, "ada", "x" * 300)], "/email"),
        ("PATCH", f"{EMAILS}/{ADA}", [{}, {"primary": False}, {"primary": None}], "/primary"),
        ("POST", f"{ME}/delete", [{"password": value} for value in (None, 1, "")], "/password"),
        ("POST", f"{ME}/delete", [{}], "/password"),
    ],
)
def test_each_field_is_validated(
    portal: ConsumerPortal, method: str, path: str, bodies: list[dict[str, Any]], field: str
) -> None:
    portal.lab.orgs.add_consumer(ADA, PASSWORD, name="Ada")
    with portal.sign_in() as ada:
        before = ada.get(ME).json()
        answers = [ada.request(method, path, json=body) for body in bodies]
        after = ada.get(ME).json()

    assert [answer.status_code for answer in answers] == [400] * len(bodies)
    assert {fault["field"] for answer in answers for fault in answer.json()["details"]["fields"]} == {field}
    assert after == before


def test_a_username_is_chosen_once_for_good(portal: ConsumerPortal) -> None:
    with portal.open_account() as ada, portal.open_account(GRACE) as grace:
        chosen = ada.put(f"{ME}/username", json={"username": "ada"})
        again = [ada.put(f"{ME}/username", json={"username": name}) for name in ("ada", "lovelace")]
        refused = [grace.put(f"{ME}/username", json={"username": name}) for name in ("ada", "admin", "support")]
        shown = ada.get(ME).json()

    url = f"{portal.lab.portal_url}/u/ada"
    assert (chosen.status_code, chosen.json()) == (200, {"username": "ada", "portfolio_url": url})
    assert (shown["username"], shown["portfolio_url"]) == ("ada", url)
    assert [read_reason(answer) for answer in again] == [(409, "username_chosen")] * 2
    reasons = [read_reason(answer)[1] for answer in refused]
    assert reasons == ["username_taken", "username_reserved", "username_reserved"]


@pytest.mark.both_engines
def test_one_of_those_who_want_a_username_at_once_has_it(portal: ConsumerPortal, is_long: bool) -> None:
    many = 50 if is_long else 6
    for number in range(many):
        portal.lab.orgs.add_consumer(f"{number}@people.example", PASSWORD, name="Ada")
    clients = [portal.sign_in(f"{number}@people.example") for number in range(many)]

    answers = call_together(lambda client: client.put(f"{ME}/username", json={"username": "ada"}), clients)
    for client in clients:
        client.close()

    assert sorted(answer.status_code for answer in answers) == [200] + [409] * (many - 1)
    assert {read_reason(answer)[1] for answer in answers if answer.status_code == 409} == {"username_taken"}


@pytest.mark.both_engines
def test_a_further_address_is_verified_made_primary_and_removed(portal: ConsumerPortal, clock: FixedClock) -> None:
    with portal.open_account() as ada:
        clock.advance(timedelta(minutes=30))
        added = ada.post(EMAILS, json={"email": "Lovelace@People.Example"})
        early = ada.patch(f"{EMAILS}/{SECOND}", json={"primary": True})
        text = portal.letters(SECOND)[-1]
        verified = portal.verify(portal.token_of(SECOND))
        again = portal.verify(portal.token_of(SECOND))
        primary = ada.patch(f"{EMAILS}/{SECOND.upper()}", json={"primary": True})
        shown = ada.get(ME).json()
        kept = ada.delete(f"{EMAILS}/{SECOND}")
        removed = ada.delete(f"{EMAILS}/{ADA}")
        left = ada.get(ME).json()["emails"]
        missing = [ada.delete(f"{EMAILS}/{ADA}"), ada.patch(f"{EMAILS}/{GRACE}", json={"primary": True})]

    assert (added.status_code, added.json()) == (201, {"email": SECOND, "primary": False, "verified_at": None})
    assert read_reason(early) == (409, "not_verified")
    assert f"{portal.lab.portal_url}/verify-email?token=" in text
    assert (verified.json()["id"], verified.json()["email"]) == (shown["id"], SECOND)
    assert verified.content == again.content
    assert (primary.status_code, primary.json()["primary"]) == (200, True)
    assert [(each["email"], each["primary"]) for each in shown["emails"]] == [(SECOND, True), (ADA, False)]
    assert shown["emails"][1]["verified_at"] == shown["created_at"]
    assert shown["emails"][0]["verified_at"] > shown["created_at"]
    assert (read_reason(kept), removed.status_code) == ((409, "primary_address"), 204)
    assert [each["email"] for each in left] == [SECOND]
    assert [answer.status_code for answer in missing] == [404, 404]
    assert (portal.login(ADA).status_code, portal.login(SECOND).status_code) == (401, 200)


def test_an_account_has_at_most_five_addresses_and_each_once(portal: ConsumerPortal) -> None:
    with portal.open_account() as ada:
        answers = [ada.post(EMAILS, json={"email": f"{number}@people.example"}) for number in range(5)]
        own, repeated = ada.post(EMAILS, json={"email": ADA}), ada.post(EMAILS, json={"email": "0@people.example"})
        shown = ada.get(ME).json()["emails"]

    assert [answer.status_code for answer in answers] == [201] * 4 + [409]
    assert (answers[4].json()["details"]["limit"], read_reason(own)) == (5, (409, "address_added"))
    assert (repeated.status_code, repeated.json()) == (201, answers[0].json())
    assert len(shown) == 5
    assert len(portal.letters("0@people.example")) == 2


@pytest.mark.both_engines
def test_an_address_of_another_account_has_the_same_answer_and_a_mail_that_says_so(portal: ConsumerPortal) -> None:
    with portal.open_account() as ada, portal.open_account(GRACE) as grace:
        add_verified(portal, grace)
        answers = [ada.post(EMAILS, json={"email": email}) for email in (GRACE, SECOND, "unknown@people.example")]
        listed = ada.get(ME).json()["emails"][1:]

    assert [answer.status_code for answer in answers] == [201] * 3
    assert [answer.json() | {"email": ""} for answer in answers] == [answers[0].json() | {"email": ""}] * 3
    assert listed == [answer.json() for answer in answers]
    for address in (GRACE, SECOND):
        assert "belongs to another account" in portal.letters(address)[-1]
        assert "token=" not in portal.letters(address)[-1]


def test_of_two_accounts_that_add_an_address_the_first_to_verify_has_it(portal: ConsumerPortal) -> None:
    with portal.open_account() as ada, portal.open_account(GRACE) as grace:
        ada.post(EMAILS, json={"email": SECOND})
        of_ada = portal.token_of(SECOND)
        grace.post(EMAILS, json={"email": SECOND})
        won, lost = portal.verify(portal.token_of(SECOND)), portal.verify(of_ada)

        assert (won.json()["id"], read_reason(lost)) == (grace.get(ME).json()["id"], (400, "token_invalid"))


def test_no_other_account_begins_with_an_address_that_is_a_further_one(portal: ConsumerPortal) -> None:
    tenant = portal.lab.orgs.create_tenant("Registry", plan=Plan.FREE)
    caller = portal.lab.orgs.service_caller(tenant.tenant_id)
    with portal.open_account() as ada:
        ada.post(EMAILS, json={"email": SECOND})
        portal.move_clock()  # the mail of the invitation is the newer one
        portal.lab.people.invite(UserIn(email=SECOND, role=Role.MEMBER), caller=caller)
        to_the_team = read_mailed_token(portal.lab, SECOND)
        add_verified(portal, ada)

    joined = accept_invitation(portal.anyone, to_the_team)
    portal.sign_up(SECOND)
    with pytest.raises(Conflict):
        portal.lab.orgs.add_consumer(SECOND, PASSWORD, name="Ada")

    assert joined.status_code == 404
    assert "You have an account already" in portal.letters(SECOND)[-1]


def test_a_page_asks_for_the_account_s_password_before_it_adds_an_address(portal: ConsumerPortal) -> None:
    verification, now = portal.lab.consumers.verification, portal.lab.clock.now()
    with portal.open_account() as ada:
        ada.post(EMAILS, json={"email": SECOND})
    token = portal.token_of(SECOND)

    assert verification.require_password(token, PASSWORD, peer="192.0.2.1", now=now) is None
    with pytest.raises(Exception, match="password is wrong"):
        verification.require_password(token, "another password", peer="192.0.2.1", now=now)


def test_an_account_is_found_by_username_and_by_each_verified_address(portal: ConsumerPortal) -> None:
    with portal.open_account(username="ada") as ada:
        add_verified(portal, ada)
        ada.post(EMAILS, json={"email": GRACE})
        me = ada.get(ME).json()
    tenant = portal.lab.orgs.create_tenant("Registry", plan=Plan.FREE)

    with portal.lab.storage.read() as connection:
        execute = connection.execute
        account = store.find_account_by_username(execute, "ada")
        assert account is not None
        assert str(account.id) == me["id"]
        assert store.get_account(execute, account.id) == account
        assert [store.find_account_by_address(execute, address) for address in (ADA, SECOND)] == [account] * 2
        unknown = (GRACE, "unknown@people.example", tenant.owner_email)
        assert [store.find_account_by_address(execute, address) for address in unknown] == [None] * 3
        assert store.list_addresses(execute, account.id) == [ADA, SECOND]
        assert store.find_account_by_username(execute, "lovelace") is None


@pytest.mark.both_engines
def test_an_export_has_all_parts_of_the_account(portal: ConsumerPortal) -> None:
    portal.lab.consumers.accounts.parts.append(Notes())
    portal.lab.consumers.accounts.counts["unread"] = lambda _execute, _account: 3
    with portal.open_account() as ada:
        key = ada.post("/v1/consumer/api-keys", json={"name": "My phone"}).json()
        exported, me = ada.get("/v1/consumer/export").json(), ada.get(ME).json()

    assert exported["account"] == me
    assert me["unread"] == 3
    assert [(each["name"], each["prefix"]) for each in exported["api_keys"]] == [("My phone", key["prefix"])]
    assert [each["ended_at"] for each in exported["sessions"]] == [None]
    assert exported["parts"] == {"inbox": [], "protections": [], "notes": {"of": ADA}}
    assert key["secret"] not in str(exported)


@pytest.mark.both_engines
def test_of_a_deleted_account_only_ids_remain_and_its_username_stays_taken(portal: ConsumerPortal) -> None:
    notes = Notes()
    portal.lab.consumers.accounts.parts.append(notes)
    with portal.open_account(username="ada") as ada, portal.sign_in() as elsewhere:
        key = ada.post("/v1/consumer/api-keys", json={"name": "Ada's phone"}).json()["secret"]
        add_verified(portal, ada)
        ada.post(EMAILS, json={"email": GRACE})
        ada.patch(ME, json={"bio": "Notes on an engine"})
        tenant_id = ada.get("/v1/me").json()["tenant_id"]
        wrong = ada.post(f"{ME}/delete", json={"password": "another password"})
        deleted = ada.post(f"{ME}/delete", json={"password": PASSWORD})
        after = [client.get(ME).status_code for client in (ada, elsewhere)]
    with make_client(portal.url, key=key) as client:
        after.append(client.get(ME).status_code)

    assert (read_reason(wrong), deleted.status_code, after) == ((403, "wrong_password"), 204, [401, 401, 401])
    assert notes.erased == [ADA]
    assert (portal.login().status_code, portal.login(SECOND).status_code) == (401, 401)
    with portal.lab.storage.read() as connection:
        for table in (users, tenants, orgs, api_keys, store.addresses, store.accounts, store.signups):
            rows = connection.execute(select(*table.c)).all()
            texts = [str(value) for row in rows for value in row if row[0] == tenant_id or tenant_id in map(str, row)]
            assert not [text for text in texts if "Ada" in text or "people.example" in text or "engine" in text]
        assert store.find_account_by_username(connection.execute, "ada") is None
        assert store.has_username(connection.execute, "ada")
    assert portal.sign_up(username="ada").status_code == 409
    with portal.open_account() as again:
        assert again.get(ME).json()["username"] is None


def test_only_a_consumer_in_person_changes_addresses_or_deletes(portal: ConsumerPortal) -> None:
    """Who holds a key of an account could otherwise take the account over."""
    tenant = portal.lab.orgs.create_tenant("Registry", plan=Plan.FREE)
    with portal.open_account() as ada:
        key = ada.post("/v1/consumer/api-keys", json={"name": "My phone"}).json()["secret"]
    with make_client(portal.url, key=key) as phone, make_client(portal.url, key=tenant.api_key) as other:
        own = phone.get(ME).status_code, phone.patch(ME, json={"bio": "x"}).status_code
        in_person = [
            phone.post(EMAILS, json={"email": SECOND}),
            phone.delete(f"{EMAILS}/{ADA}"),
            phone.patch(f"{EMAILS}/{ADA}", json={"primary": True}),
            phone.post(f"{ME}/delete", json={"password": PASSWORD}),
        ]
        foreign = [other.get(ME), other.patch(ME, json={"bio": "x"}), other.get("/v1/consumer/export")]

    assert own == (200, 200)
    assert [answer.json()["details"].get("required_credential") for answer in in_person] == ["jwt"] * 4
    assert [answer.json()["details"].get("required_realm") for answer in foreign] == ["consumer"] * 3
