"""The pages of consumers, as a browser without scripts uses them: cookies, origins, and forms with their tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass

import httpx
from sqlalchemy import select

from attestlab.core.ids import new_id
from attestlab.identity import store as identity_store
from attestlab.identity.sessions import caller_of
from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from attestlab.orgs.rules import Caller
from attestlab.orgs.service import ConsumerCreated
from attestlab.portal.consumer_session import COOKIE
from support.orgs import PASSWORD
from support.portal import ParsedPage

ADA = "ada@consumers.example"


@dataclass
class BrowserVisitor:
    """A browser without scripts in front of a served installation."""

    client: httpx.Client

    def __post_init__(self) -> None:
        self.client.headers["Accept"] = "text/html,*/*;q=0.8"

    def get(self, path: str, **query: str) -> httpx.Response:
        return self.client.get(path, params=query or None)

    def send(self, path: str, *, origin: str | None = "own", **form: str) -> httpx.Response:
        """Send a form from a page of ours, or of another origin."""
        own = str(self.client.base_url).rstrip("/")
        headers = {} if origin is None else {"Origin": own if origin == "own" else origin}
        return self.client.post(path, data=form, headers=headers)

    def send_signed(self, path: str, *, to: str | None = None, **form: str) -> httpx.Response:
        """Send a form with the token that the page at this address has, to it or to another one."""
        return self.send(to or path, form_token=self.find_form_tokens(path)[0], **form)

    def sign_in(
        self, *, email: str = ADA, password: str = PASSWORD, next: str = "", origin: str | None = "own"
    ) -> httpx.Response:
        return self.send("/signin", email=email, password=password, next=next, origin=origin)

    def is_signed_in(self, cookie: str | None = None) -> bool:
        """Whether the browser has a session, or would have one with this cookie."""
        headers = {} if cookie is None else {"Cookie": f"{COOKIE}={cookie}"}
        return self.client.get("/signin", headers=headers).status_code == 303

    def browser_cookies(self) -> list[dict[str, str]]:
        """The cookies, as a real browser takes them."""
        url = str(self.client.base_url)
        return [{"name": name, "value": value, "url": url} for name, value in self.client.cookies.items()]

    def find_form_tokens(self, path: str) -> list[str]:
        """The tokens of the forms of a page; all are the same."""
        fields = ParsedPage(self.get(path).text).all("input")
        return [str(field["value"]) for field in fields if field.get("name") == "form_token"]


def read_cookie(client: httpx.Client) -> str:
    """The value of the session's cookie."""
    return str(client.cookies[COOKIE])


def list_links(lab: Installation, address: str, page: str) -> list[str]:
    """The tokens of all links to a page that wait in mails to an address, oldest first."""
    with lab.storage.read() as connection:
        waiting = select(*mails.c).where(mails.c.recipient == address, mails.c.sealed != b"").order_by(mails.c.id)
        rows = connection.execute(waiting).all()
    texts = [
        lab.mails.text_of(LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed)) for row in rows
    ]
    link = re.compile(rf"/{page}\?token=([A-Za-z0-9_-]{{43}})\s")
    return [found for text in texts for found in link.findall(text)]


def read_link_token(lab: Installation, address: str, page: str) -> str:
    """The token of the last link to a page that was mailed to an address."""
    return list_links(lab, address, page)[-1]


def consumer_caller(lab: Installation, consumer: ConsumerCreated) -> Caller:
    """The caller that a signed-in consumer is."""
    with lab.storage.read() as connection:
        person = identity_store.find_person(connection, consumer.consumer_id)
    assert person is not None
    return caller_of(person, new_id(lab.clock.now()))
