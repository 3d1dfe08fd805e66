"""The page of a mailed invitation: it accepts with a form alone, and reading it changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlsplit

import httpx
import pytest
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from attestlab.orgs.rules import Caller, Plan, Role, Scope
from attestlab.orgs.service import TenantCreated
from attestlab.orgs.shapes import UserIn
from support.attestations import make_mint_body, mint
from support.browser import list_violations, needs_chromium, open_browser, open_profile
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.orgs import PASSWORD, TenantClients, read_mailed_token
from support.portal import ParsedPage
from support.server_process import ServerProcess

PAGE = "/invitations/accept"
ADA = "ada@people.example"


@pytest.fixture
def tenant(lab: Installation) -> TenantCreated:
    return lab.orgs.create_tenant("Northfield <b>University</b>", plan=Plan.ENTERPRISE)


@pytest.fixture
def keeper(lab: Installation, tenant: TenantCreated) -> Caller:
    return lab.orgs.service_caller(tenant.tenant_id)


@pytest.fixture
def token(lab: Installation, keeper: Caller) -> str:
    lab.people.invite(UserIn(email=ADA, role=Role.ANALYST, name="Ada"), caller=keeper)
    return read_mailed_token(lab, ADA)


@pytest.fixture
def clients(lab: Installation, tenant: TenantCreated) -> Iterator[TenantClients]:
    with serve_in_thread(lab) as url:
        yield TenantClients(lab, url, tenant)


@pytest.fixture
def visitor(clients: TenantClients) -> Iterator[httpx.Client]:
    with clients.anonymous() as client:
        client.headers["Accept"] = "text/html,*/*;q=0.8"
        yield client


def send(visitor: httpx.Client, token: str, *, origin: str | None = "own", **changes: str) -> httpx.Response:
    own = str(visitor.base_url).rstrip("/")
    headers = {} if origin is None else {"Origin": own if origin == "own" else origin}
    form = {"token": token, "name": "Ada Lovelace", "password": PASSWORD, **changes}
    return visitor.post(PAGE, data=form, headers=headers)


def read_mails(lab: Installation) -> list[str]:
    with lab.storage.read() as connection:
        rows = connection.execute(select(*mails.c).where(mails.c.sealed != b"")).all()
    leased = [LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed) for row in rows]
    return [lab.mails.text_of(mail) for mail in leased]


def is_open(lab: Installation, token: str) -> bool:
    return lab.people.find_invitation(token).email == ADA


def test_the_page_names_the_team_and_the_address(visitor: httpx.Client, token: str) -> None:
    answer = visitor.get(PAGE, params={"token": token, "utm_source": "mail"})

    page = ParsedPage(answer.text)
    assert answer.status_code == 200
    assert "Join Northfield <b>University</b>" in page.text
    assert ADA in page.text
    assert {field["name"]: field.get("value", "") for field in page.all("input") if "name" in field} == {
        "token": token,
        "name": "Ada",
        "password": "",
    }


def test_reading_the_page_changes_nothing(visitor: httpx.Client, lab: Installation, token: str) -> None:
    for method in ("GET", "HEAD", "GET"):
        assert visitor.request(method, PAGE, params={"token": token}).status_code == 200

    assert is_open(lab, token)


def test_the_form_accepts_and_the_person_signs_in(visitor: httpx.Client, clients: TenantClients, token: str) -> None:
    answer = send(visitor, token)

    assert (answer.status_code, "You have joined" in answer.text) == (200, True)
    with clients.sign_in(ADA) as ada:
        me = ada.get("/v1/me").json()
    assert (me["name"], me["roles"], me["tenant_id"]) == ("Ada Lovelace", ["analyst"], str(clients.tenant.tenant_id))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"password": "short"}, "The password must have at least 12 characters."),
        ({"password": ADA}, "The password must not be the e-mail address."),
        ({"name": " "}, "Name must be one line of 1 to 200 printable characters."),
        ({"name": "Ada\r\nLovelace"}, "Name must be one line of 1 to 200 printable characters."),
    ],
)
def test_the_page_states_what_is_wrong(
    visitor: httpx.Client, lab: Installation, token: str, changes: dict[str, str], problem: str
) -> None:
    answer = send(visitor, token, **changes)

    assert answer.status_code == 400
    assert problem in ParsedPage(answer.text).text
    assert changes.get("password", PASSWORD) not in re.sub(r'value="[^"]*"|[^<>]*@people[^<>]*', "", answer.text)
    assert is_open(lab, token)


def test_a_link_that_does_not_work_has_one_page(
    visitor: httpx.Client, lab: Installation, keeper: Caller, clock: FixedClock, token: str
) -> None:
    clock.advance(timedelta(seconds=1))  # so that the newer mail is the last one
    lab.people.invite(UserIn(email=ADA, role=Role.ANALYST), caller=keeper)
    current = read_mailed_token(lab, ADA)
    lab.people.invite(UserIn(email="eve@people.example", role=Role.MEMBER), caller=keeper)
    expired = read_mailed_token(lab, "eve@people.example")
    assert send(visitor, current).status_code == 200
    clock.advance(timedelta(days=7))

    pages = {
        (answer.status_code, answer.content)
        for wrong in ("", "x" * 43, token[:-1], token, current, expired)
        for answer in (visitor.get(PAGE, params={"token": wrong}), send(visitor, wrong))
    }

    ((status, content),) = pages
    assert (status, b"This invitation does not work" in content) == (404, True)


@pytest.mark.parametrize("origin", [None, "null", "http://[", "https://evil.example", "http://127.0.0.1:1"])
def test_another_page_cannot_send_the_form(
    visitor: httpx.Client, lab: Installation, token: str, origin: str | None
) -> None:
    answer = send(visitor, token, origin=origin)

    assert answer.status_code == 403
    assert "sent from another page" in answer.text
    assert is_open(lab, token)


def test_a_proxy_may_replace_the_host_of_the_portal(visitor: httpx.Client, lab: Installation, token: str) -> None:
    assert lab.portal_url != str(visitor.base_url).rstrip("/")

    assert send(visitor, token, origin=lab.portal_url).status_code == 200


@pytest.mark.parametrize("is_sent", [False, True])
def test_no_page_leaks_the_token(visitor: httpx.Client, token: str, is_sent: bool) -> None:
    answer = send(visitor, token, name="") if is_sent else visitor.get(PAGE, params={"token": token})

    expected = {"Cache-Control": "no-store", "Referrer-Policy": "strict-origin", "X-Frame-Options": "DENY"}
    assert {name: answer.headers.get(name) for name in expected} == expected
    assert "form-action 'self'" in answer.headers["Content-Security-Policy"]
    assert not {"Access-Control-Allow-Origin", "Set-Cookie", "Content-Encoding"} & {*map(str.title, answer.headers)}


@pytest.mark.parametrize(
    ("content", "media_type", "status"),
    [
        (b'{"token": "x"}', "application/json", 415),
        (b"token=x&token=y", "application/x-www-form-urlencoded", 400),
        (b"token=%FF", "application/x-www-form-urlencoded", 400),
        (b"token=%00", "application/x-www-form-urlencoded", 400),
        (b"token=x&roles=owner", "application/x-www-form-urlencoded", 400),
        (b"password=" + b"x" * 20_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"f%d=" % number for number in range(60)), "application/x-www-form-urlencoded", 400),
    ],
)
def test_a_body_that_the_form_does_not_send_is_refused(
    visitor: httpx.Client, content: bytes, media_type: str, status: int
) -> None:
    answer = visitor.post(PAGE, content=content, headers={"Content-Type": media_type, "Origin": str(visitor.base_url)})

    assert answer.status_code == status


def test_the_token_is_not_in_the_log_of_the_server(server: ServerProcess) -> None:
    secret = "a-token-that-is-in-no-log-of-the-server"
    with make_client(server.url) as client:
        for path in (PAGE, f"{PAGE}/x"):
            client.get(path, params={"token": secret}, headers={"Accept": "text/html"})
        client.post(PAGE, data={"token": secret}, headers={"Origin": server.url})
    server.stop()

    assert secret not in server.errors()


def test_every_link_in_a_mail_is_a_page(
    visitor: httpx.Client, clients: TenantClients, lab: Installation, token: str
) -> None:
    """Of invitations, and of attestations to a person with and without an account; an inbox asks for the sign-in."""
    lab.orgs.add_consumer("bob@people.example", PASSWORD, name="Bob")
    with clients.with_key(*Scope) as key:
        issuer = register_issuer(key)
        for recipient in ("bob@people.example", "eve@people.example"):
            assert mint(key, make_mint_body(issuer, recipient_email=recipient)).status_code == 201

    links = {link for text in read_mails(lab) for link in re.findall(rf"{re.escape(lab.portal_url)}\S*", text)}
    opened = {link: visitor.get(link.removeprefix(lab.portal_url), follow_redirects=True) for link in links}

    assert {answer.status_code for answer in opened.values()} == {200}
    assert {urlsplit(link).path.split("/")[1] for link in links} == {"invitations", "a", "signup", "inbox"}
    moved = {urlsplit(link).path.split("/")[1]: answer.url.path for link, answer in opened.items() if answer.history}
    assert moved == {"inbox": "/signin"}
    assert all(answer.headers["Content-Type"].startswith("text/html") for answer in opened.values())


@needs_chromium
def test_a_browser_without_scripts_accepts(clients: TenantClients, lab: Installation, token: str) -> None:
    """On a small phone; no request has the token in its Referer."""
    referers: list[str] = []
    with open_browser() as browser:
        with open_profile(browser, viewport={"width": 390, "height": 800}, bypass_csp=True) as context:
            page = context.new_page()
            page.goto(f"{clients.url}{PAGE}?token={token}")
            assert list_violations(page) == []
        with open_profile(browser, java_script_enabled=False, viewport={"width": 390, "height": 800}) as context:
            page = context.new_page()
            page.on("request", lambda request: referers.append(request.all_headers().get("referer", "")))
            page.goto(f"{clients.url}{PAGE}?token={token}")
            page.get_by_label("Your name").fill("Ada Lovelace")
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button").click()
            page.get_by_role("heading", name="You have joined").wait_for()

    assert len(referers) > 2
    assert [referer for referer in referers if token in referer] == []
    clients.sign_in(ADA).close()
