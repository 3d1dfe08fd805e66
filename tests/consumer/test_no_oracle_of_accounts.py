"""No work of the server depends on whether an address has an account: the same statements, the same password hashes.

So no measurable time tells it: what a clock would measure is compared at its source, where noise cannot hide it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from attestlab.core.crypto import passwords
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from support.consumers import ADA, PASSWORD, ConsumerPortal, make_signup
from support.identity import add_user
from support.orgs import TenantClients

TEAM, UNKNOWN = "tim@people.example", "eve@people.example"  # as long as the address of the consumer
FRESH = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16}|\d{4}-\d\d-\d\dT[0-9:.]+Z")


@contextmanager
def record_work(lab: Installation, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Record each statement of the records, each commit, and each password that is hashed or verified."""
    work: list[str] = []

    def add_statement(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        work.append(statement)

    def add_commit(_connection: object) -> None:
        work.append("commit")

    engine = lab.storage.engine
    event.listen(engine, "before_cursor_execute", add_statement)
    event.listen(engine, "commit", add_commit)
    with monkeypatch.context() as patch:
        for name in ("matches", "hash_password"):
            original = getattr(passwords, name)

            def watched(*arguments: Any, _original: Callable[..., Any] = original, _name: str = name) -> Any:
                work.append(_name)
                return _original(*arguments)

            patch.setattr(passwords, name, watched)
        yield work
    event.remove(engine, "before_cursor_execute", add_statement)
    event.remove(engine, "commit", add_commit)


Ask = Callable[[ConsumerPortal, str], httpx.Response]
ASKS: dict[str, Ask] = {
    "sign-up": lambda portal, email: portal.sign_up(email),
    "sign-in": lambda portal, email: portal.login(email, "the password of none"),
    "password": lambda portal, email: portal.anyone.post("/v1/auth/password/forgot", json={"email": email}),
    "resend": lambda portal, email: portal.anyone.post("/v1/consumer/verify-email/resend", json={"email": email}),
    "page of sign-up": lambda portal, email: send_form(portal, "/signup", **make_signup(email)),
    "page of sign-in": lambda portal, email: send_form(portal, "/signin", email=email, password="of none at all"),
    "page of password": lambda portal, email: send_form(portal, "/reset-password", email=email),
    "page of resend": lambda portal, email: send_form(portal, "/verify-email", email=email),
}


def send_form(portal: ConsumerPortal, path: str, **form: str) -> httpx.Response:
    headers = {"Origin": portal.url, "Accept": "text/html"}
    return portal.anyone.post(path, data=form, headers=headers)


def describe(answer: httpx.Response, email: str) -> tuple[object, ...]:
    """Describe all that goes over the wire, without the address, the ids and the times of the answer."""
    of_the_moment = ("date", "x-request-id", "x-ratelimit-remaining", "x-ratelimit-reset", "etag")
    headers = {name: FRESH.sub("...", value) for name, value in answer.headers.items() if name not in of_the_moment}
    return answer.status_code, headers, FRESH.sub("...", answer.text.replace(email, "address"))


def add_accounts(portal: ConsumerPortal) -> None:
    """Add an account of a consumer, and one of a person of a team."""
    portal.lab.orgs.add_consumer(ADA, PASSWORD, name="Ada")
    tenant = portal.lab.orgs.create_tenant("Northfield", plan=Plan.FREE)
    add_user(portal.lab, tenant, TEAM, PASSWORD, roles="member")


@pytest.mark.both_engines
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_answer_and_work_are_the_same(portal: ConsumerPortal, monkeypatch: pytest.MonkeyPatch, ask: Ask) -> None:
    add_accounts(portal)
    ask(portal, "bob@people.example")  # the first answer of a process prepares what the others use
    works, answers = [], []
    for email in (ADA, TEAM, UNKNOWN):
        with record_work(portal.lab, monkeypatch) as work:
            answers.append(describe(ask(portal, email), email))
        works.append(work)

    assert answers[:2] == [answers[2]] * 2
    assert works[:2] == [works[2]] * 2
    assert "commit" in works[2]


@pytest.mark.both_engines
def test_who_invites_does_not_learn_who_has_an_account_elsewhere(
    portal: ConsumerPortal, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_accounts(portal)
    tenant = portal.lab.orgs.create_tenant("Southfield", plan=Plan.ENTERPRISE)
    works, answers = [], []
    with TenantClients(portal.lab, portal.url, tenant).owner() as owner:
        owner.post("/v1/users", json={"email": "bob@people.example", "role": "member"}).raise_for_status()
        for email in (ADA, TEAM, UNKNOWN):
            with record_work(portal.lab, monkeypatch) as work:
                answer = owner.post("/v1/users", json={"email": email, "role": "member"})
            answers.append(describe(answer, email))
            works.append(work)

    assert answers[:2] == [answers[2]] * 2
    assert works[:2] == [works[2]] * 2
