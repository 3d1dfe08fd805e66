"""Browser sessions: from sign-in to sign-out, in the memory of this process.

A browser holds a random cookie and no token of the service. The session ends with sign-out, after a time without use,
or when the service no longer accepts it, which is checked while pages are open. Then its websockets are closed.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from attestlab_dashboards.pages import Facts
from attestlab_dashboards.service import PersonalDoor

IDLE_S: Final = 8 * 3600.0
CHECK_INTERVAL_S: Final = 20.0
MAX_SESSIONS: Final = 10_000
MAX_SOCKETS: Final = 32  # pages that one session may have open at once
_COOKIE_BYTES = 32


class OpenPage(Protocol):
    """An open page of a browser."""

    def end(self) -> None:
        """Close its websocket; the browser then shows the sign-in page."""
        ...


@dataclass(eq=False)
class BrowserSession:
    """A signed-in browser. `handle` names the session in pages; unlike the cookie it opens nothing by itself."""

    handle: str
    door: PersonalDoor = field(repr=False)
    facts: Facts
    address: str
    used_at: float = field(default_factory=time.monotonic)
    views: set[OpenPage] = field(default_factory=set, repr=False)
    sockets: set[OpenPage] = field(default_factory=set, repr=False)

    @property
    def pages(self) -> set[OpenPage]:
        """Everything that is open: views, and the websockets that show them."""
        return self.views | self.sockets


class BrowserSessions:
    """All browser sessions. Its methods run on the event loop."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._by_cookie: dict[bytes, BrowserSession] = {}
        self._by_handle: dict[str, BrowserSession] = {}

    def __len__(self) -> int:
        return len(self._by_cookie)

    def begin(self, door: PersonalDoor, facts: Facts, *, address: str) -> str:
        """Begin a session; returns the value of its cookie. The session unused longest makes room for it."""
        if len(self._by_cookie) >= MAX_SESSIONS:
            self.end(min(self._by_cookie.values(), key=lambda session: session.used_at))
        cookie = secrets.token_urlsafe(_COOKIE_BYTES)
        session = BrowserSession(secrets.token_hex(16), door, facts, address, self._now())
        self._by_cookie[_digest(cookie)] = self._by_handle[session.handle] = session
        return cookie

    def find(self, cookie: str | None) -> BrowserSession | None:
        """Find the session of a cookie, and note that it is used."""
        session = self._by_cookie.get(_digest(cookie)) if cookie else None
        if session is not None:
            session.used_at = self._now()
        return session

    def get(self, handle: str) -> BrowserSession | None:
        """Find the session with this handle."""
        return self._by_handle.get(handle)

    def end(self, session: BrowserSession) -> None:
        """End a session: forget it, and close its pages and connections."""
        self._by_handle.pop(session.handle, None)
        self._by_cookie = {key: kept for key, kept in self._by_cookie.items() if kept is not session}
        for page in session.pages:
            page.end()
        session.door.close()

    async def check_forever(self, also: Callable[[], None] = lambda: None) -> None:
        """End sessions that are unused, and open ones that the service no longer accepts; do what else is due."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            await self.check()
            also()

    async def check(self) -> None:
        """Check all sessions once."""
        for session in list(self._by_cookie.values()):
            if session.pages:
                session.used_at = self._now()
            elif self._now() - session.used_at > IDLE_S:
                self.end(session)
        loop = asyncio.get_running_loop()
        in_use = [session for session in self._by_cookie.values() if session.pages]
        are_open = await asyncio.gather(*(loop.run_in_executor(None, session.door.is_open) for session in in_use))
        for session, is_open in zip(in_use, are_open, strict=True):
            if not is_open:
                self.end(session)


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
