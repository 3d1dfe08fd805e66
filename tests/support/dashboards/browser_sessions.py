"""What a browser session is made of, for tests that begin one without a sign-in."""

from __future__ import annotations

from typing import cast

from attestlab_dashboards.pages import Facts
from attestlab_dashboards.service import PersonalDoor
from attestlab_dashboards.sessions import BrowserSession, BrowserSessions

FACTS = Facts("Ann", "ann@x.example", "Demo", "", "demo", frozenset(), frozenset())


class Door:
    """The door of a person whose session the service accepts while `accepted`."""

    def __init__(self, *, accepted: bool = True) -> None:
        self.accepted = accepted
        self.closed = self.signed_out = False
        self.refresh_token = "rt_of_this_door"

    def sign_out(self) -> None:
        self.signed_out = True

    def is_open(self) -> bool:
        return self.accepted

    def close(self) -> None:
        self.closed = True


class QuietDoor(Door):
    """The door of a page whose browser does not say hello: nothing is asked of its lab."""

    def cancellable_lab(self) -> None:
        return None

    lab = unattended_lab = cancellable_lab


def begin(sessions: BrowserSessions, door: Door) -> BrowserSession:
    """Begin a session, as a sign-in does."""
    cookie = sessions.begin(cast(PersonalDoor, door), FACTS, address="127.0.0.1")
    found = sessions.find(cookie)
    assert found is not None
    return found
