"""Programs that follow the links of a mail before its recipient does change nothing, however often they come.

Filters of mail servers, previews of chats and prefetching browsers ask with GET and HEAD. Afterwards each link works.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlmodel import SQLModel

from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from attestlab.orgs.rules import Plan, Role
from attestlab.orgs.shapes import UserIn
from support.attestations import make_mint_body, mint
from support.billing_portal import make_tenant, open_portal
from support.consumer_pages import BrowserVisitor
from support.consumers import PASSWORD, make_signup
from support.in_process_server import make_client, serve_in_thread
from support.issuers import register_issuer
from support.orgs import TenantClients

VISITS = 20
SCANNERS: tuple[dict[str, str], ...] = (
    {},
    {"Accept": "text/html"},
    {"Accept": "*/*", "Sec-Purpose": "prefetch"},
    {"X-Purpose": "preview"},
)
ACCOUNT, OTHER = "bob@people.example", "bob.second@people.example"
SIGNED_UP, MINTED_TO, INVITED = "sofia@people.example", "nora@people.example", "tim@people.example"
PATHS = ("/verify-email", "/reset-password", "/signup", "/invitations/accept", "/a/", "/billing/portal")


class MailedLinks:
    """Every kind of link that the service mails or hands out, each to an address that waits for it."""

    def __init__(self, lab: Installation, url: str) -> None:
        self.lab, self.url = lab, url
        lab.orgs.add_consumer(ACCOUNT, PASSWORD, name="Bob")
        team = lab.orgs.create_tenant("Northfield", plan=Plan.ENTERPRISE)
        caller = lab.orgs.service_caller(team.tenant_id)
        lab.people.invite(UserIn(email=INVITED, role=Role.MEMBER), caller=caller)
        lab.consumers.signups.invite("operators.guest@people.example")
        with make_client(url) as anyone:
            self._ask_for_mails(anyone)
        with make_client(url, key=team.api_key) as registrar:
            issuer = register_issuer(registrar)
            for address in (ACCOUNT, MINTED_TO):
                assert mint(registrar, make_mint_body(issuer, recipient_email=address)).status_code == 201
        tenant = make_tenant(lab, "Southfield")
        self.portal_url = str(open_portal(TenantClients(lab, url, tenant))["portal_url"])

    def _ask_for_mails(self, anyone: httpx.Client) -> None:
        anyone.post("/v1/consumer/signup", json=make_signup(SIGNED_UP)).raise_for_status()
        anyone.post("/v1/auth/password/forgot", json={"email": ACCOUNT}).raise_for_status()
        login = anyone.post("/v1/auth/login", json={"email": ACCOUNT, "password": PASSWORD}).raise_for_status()
        with make_client(self.url, token=login.json()["access_token"]) as bob:
            bob.post("/v1/consumer/emails", json={"email": OTHER}).raise_for_status()

    def list_paths(self) -> list[str]:
        """List path and query of each link."""
        own = re.compile(rf"{re.escape(self.lab.portal_url)}(/\S*)")
        return [path for text in [*read_mails(self.lab), self.portal_url] for path in own.findall(text)]

    def token(self, address: str, page: str) -> str:
        """Return the token of the link to a page that was mailed to an address."""
        link = re.compile(rf"{page}\?token=([A-Za-z0-9_-]{{43}})\s")
        return next(found[1] for text in read_mails(self.lab, address) if (found := link.search(text)))


def read_mails(lab: Installation, recipient: str | None = None) -> list[str]:
    with lab.storage.read() as connection:
        rows = connection.execute(mails.select().where(mails.c.sealed != b"").order_by(mails.c.id)).all()
    leased = [LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed) for row in rows]
    return [lab.mails.text_of(mail) for mail in leased if recipient in (None, mail.recipient)]


def dump(lab: Installation) -> dict[str, list[str]]:
    """All rows of all tables of the records."""
    with lab.storage.read() as connection:
        tables = SQLModel.metadata.sorted_tables
        return {table.name: sorted(map(repr, connection.execute(table.select()))) for table in tables}


@pytest.fixture
def links(lab: Installation) -> Iterator[MailedLinks]:
    with serve_in_thread(lab) as url:
        yield MailedLinks(lab, url)


@pytest.mark.both_engines
def test_following_each_link_changes_no_row(links: MailedLinks, lab: Installation) -> None:
    paths, before = links.list_paths(), dump(lab)
    missing = [wanted for wanted in PATHS if not any(path.startswith(wanted) for path in paths)]
    statuses = set()
    for scanner in SCANNERS:
        with make_client(links.url) as client:
            for method in ("GET", "HEAD") * (VISITS // len(SCANNERS)):
                statuses |= {client.request(method, path, headers=scanner).status_code for path in paths}

    assert missing == []
    assert sum("token=" in path for path in paths) >= 7
    assert statuses == {200}
    assert dump(lab) == before


USES: dict[str, Callable[[MailedLinks, BrowserVisitor], Any]] = {
    "sign-up": lambda links, visitor: visitor.send(
        "/verify-email", token=links.token(SIGNED_UP, "/verify-email"), password=PASSWORD
    ),
    "further address": lambda links, visitor: visitor.send(
        "/verify-email", token=links.token(OTHER, "/verify-email"), password=PASSWORD
    ),
    "password": lambda links, visitor: visitor.send(
        "/reset-password", token=links.token(ACCOUNT, "/reset-password"), password="another long password"
    ),
    "invitation of a mint": lambda links, visitor: visitor.send(
        "/signup", **make_signup(MINTED_TO), invitation_token=links.token(MINTED_TO, "/signup")
    ),
    "invitation to a team": lambda links, visitor: visitor.send(
        "/invitations/accept", token=links.token(INVITED, "/invitations/accept"), name="Tim", password=PASSWORD
    ),
    "billing portal": lambda links, visitor: visitor.get(
        "/billing/portal", token=parse_qs(urlsplit(links.portal_url).query)["token"][0]
    ),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_link_works_after_scanners_followed_it(
    links: MailedLinks, use: Callable[[MailedLinks, BrowserVisitor], httpx.Response]
) -> None:
    with make_client(links.url) as scanner:
        for path in links.list_paths() * 3:
            scanner.get(path)
    with make_client(links.url) as client:
        answer = use(links, BrowserVisitor(client))

    assert answer.status_code in (200, 303), answer.text


@pytest.mark.both_engines
def test_who_signs_up_with_a_strangers_address_gets_nothing(links: MailedLinks, lab: Installation) -> None:
    """The stranger follows the mail, enters a password of her own, and later signs up herself."""
    mallory = make_signup(MINTED_TO, password="the password of mallory")
    with make_client(links.url) as client, make_client(links.url) as browser:
        client.post("/v1/consumer/signup", json=mallory).raise_for_status()
        theirs, visitor = links.token(MINTED_TO, "/verify-email"), BrowserVisitor(browser)
        refused = [
            visitor.get("/verify-email", token=theirs).status_code,
            visitor.send("/verify-email", token=theirs, password=PASSWORD).status_code,
        ]
        own = links.token(MINTED_TO, "/signup")
        opened = client.post("/v1/consumer/signup", json={**make_signup(MINTED_TO), "invitation_token": own})
        with make_client(links.url, token=opened.json()["tokens"]["access_token"]) as nora:
            waited = nora.get("/v1/consumer/inbox").json()["total"]
        late = client.post("/v1/consumer/verify-email", json={"token": theirs})
        login = {"email": MINTED_TO, "password": mallory["password"]}
        signed_in = client.post("/v1/auth/login", json=login)

    assert refused == [200, 403]
    assert (opened.json()["status"], waited) == ("ACTIVE", 1)
    assert late.json()["details"]["reason"] == "token_invalid"
    assert signed_in.status_code == 401
