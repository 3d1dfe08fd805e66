"""Programs that follow the links of a mail before its recipient does change nothing, however often they come.

Filters of mail servers, previews of chats and prefetching browsers ask with GET and HEAD. Afterwards each link works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlmodel import SQLModel

from attestlab.installation import Installation
from support.consumer_pages import BrowserVisitor
from support.consumers import PASSWORD, make_signup
from support.in_process_server import make_client, serve_in_thread
from support.mailed_links import ACCOUNT, INVITED, MINTED_TO, OTHER, SIGNED_UP, MailedLinks

VISITS = 20
SCANNERS: tuple[dict[str, str], ...] = (
    {},
    {"Accept": "text/html"},
    {"Accept": "*/*", "Sec-Purpose": "prefetch"},
    {"X-Purpose": "preview"},
)
INBOX = "/inbox/"  # the one link that leads to the sign-in
PATHS = ("/verify-email", "/reset-password", "/signup", "/invitations/accept", "/a/", "/billing/portal", INBOX)


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
                answers = ((path, client.request(method, path, headers=scanner)) for path in paths)
                statuses |= {(path.startswith(INBOX), answer.status_code) for path, answer in answers}

    assert missing == []
    assert sum("token=" in path for path in paths) >= 7
    assert statuses == {(False, 200), (True, 303)}
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
