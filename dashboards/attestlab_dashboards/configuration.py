"""What the server tells the process of the dashboards when it starts it: one line of JSON on standard input."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Self


@dataclass(frozen=True, kw_only=True)
class DemoPerson:
    """A person of the demo, whom a visitor can sign in as with one click."""

    name: str
    role: str
    email: str
    password: str = field(repr=False)


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """The sockets of both processes, and what pages show.

    `api_socket` is the Unix socket of the HTTP API, `own_socket` the one to serve pages on, and
    `address_requests_per_minute` the API's limit of requests without a credential. `cookie_key` seals cookies, in hex.
    """

    api_socket: str
    own_socket: str
    public_url: str
    stage: str
    address_requests_per_minute: int
    people: tuple[DemoPerson, ...] = ()
    cookie_key: str = field(default="", repr=False)

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Read the line that `to_json` wrote."""
        values = json.loads(line)
        people = tuple(DemoPerson(**person) for person in values.pop("people"))
        return cls(**values, people=people)

    def to_json(self) -> str:
        """Write the configuration as one line."""
        return json.dumps(asdict(self))

    @property
    def is_secure(self) -> bool:
        """Whether people reach the service over https, so that cookies are for https alone."""
        return self.public_url.startswith("https:")
