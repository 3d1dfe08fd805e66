"""Consumers over real HTTP: sign-ups, the mails about them, and accounts that are signed in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import httpx
from sqlalchemy import select

from attestlab.core.clock import FixedClock
from attestlab.installation import Installation
from attestlab.mail.service import LeasedMail
from attestlab.mail.store import mails
from support.in_process_server import make_client

PASSWORD = "correct horse battery staple"
ADA = "ada@people.example"
GRACE = "grace@people.example"
_TOKEN = re.compile(r"\?token=([A-Za-z0-9_-]{43})\s")


@dataclass
class ConsumerPortal:
    """A served installation, and a client without credentials.

    Each request moves the clock by a millisecond: mails are ordered by their ids, which begin with the time.
    """

    lab: Installation
    url: str
    anyone: httpx.Client

    def __post_init__(self) -> None:
        self.anyone.event_hooks = {"request": [self.move_clock]}

    def move_clock(self, _: httpx.Request | None = None) -> None:
        assert isinstance(self.lab.clock, FixedClock)
        self.lab.clock.advance(timedelta(milliseconds=1))

    def sign_up(self, email: str = ADA, **fields: Any) -> httpx.Response:
        return self.anyone.post("/v1/consumer/signup", json=make_signup(email, **fields))

    def verify(self, token: str) -> httpx.Response:
        return self.anyone.post("/v1/consumer/verify-email", json={"token": token})

    def login(self, email: str = ADA, password: str = PASSWORD) -> httpx.Response:
        return self.anyone.post("/v1/auth/login", json={"email": email, "password": password})

    def open_account(self, email: str = ADA, **fields: Any) -> httpx.Client:
        """Sign up, follow the mail and sign in; return a client of the account."""
        assert self.sign_up(email, **fields).status_code == 201
        assert self.verify(self.token_of(email)).status_code == 200
        return self.sign_in(email)

    def sign_in(self, email: str = ADA, password: str = PASSWORD) -> httpx.Client:
        answer = self.login(email, password)
        assert answer.status_code == 200, answer.text
        client = make_client(self.url, token=answer.json()["access_token"])
        client.event_hooks = {"request": [self.move_clock]}
        return client

    def letters(self, address: str = ADA) -> list[str]:
        """List the texts of the mails that wait for this address, oldest first."""
        with self.lab.storage.read() as connection:
            query = select(*mails.c).where(mails.c.recipient == address, mails.c.sealed != b"").order_by(mails.c.id)
            rows = connection.execute(query).all()
        return [
            self.lab.mails.text_of(LeasedMail(row.id, row.recipient, row.subject, row.created_at, row.sealed))
            for row in rows
        ]

    def token_of(self, address: str = ADA) -> str:
        """Return the token in the newest mail to this address."""
        return extract_token(self.letters(address)[-1])


def make_signup(email: str = ADA, **fields: Any) -> dict[str, Any]:
    """Make the body of a sign-up."""
    return {"email": email, "password": PASSWORD, "name": "Ada Lovelace", **fields}


def extract_token(text: str) -> str:
    """Return the token of the link in a mail."""
    found = _TOKEN.search(text)
    assert found is not None, text
    return found[1]


def read_reason(answer: httpx.Response) -> tuple[int, str]:
    """Return the status of a refusal and its reason."""
    return answer.status_code, answer.json()["details"]["reason"]
