"""Browser sessions: from sign-in to sign-out. Each is a session at the service, which outlives this process.

A browser holds a sealed cookie and no token that the service accepts. The session ends with sign-out, after a time
without use, or when the service no longer accepts it, which is checked while pages are open. Then its websockets are
closed. A cookie that this process does not know, because it has started since, opens its session again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from attestlab.core.errors import AttestLabError, AuthInvalid
from attestlab.identity.rules import MAX_BROWSER_IDLE
from attestlab_dashboards.common_answers import CommonAnswers
from attestlab_dashboards.cookies import CookieSeal
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.service import PersonalDoor

IDLE_S: Final = MAX_BROWSER_IDLE.total_seconds()
CHECK_INTERVAL_S: Final = 20.0
MAX_SESSIONS: Final = 10_000
MAX_SOCKETS: Final = 32  # pages that one session may have open at once
MAX_REFUSED: Final = 10_000  # cookies whose session has ended, at which the service is not asked again


_log = logging.getLogger(__name__)


class OpenDoor(Protocol):
    """Opens the door of a session again by its refresh token."""

    def __call__(self, refresh_token: str, /, *, address: str) -> PersonalDoor: ...


class OpenPage(Protocol):
    """An open page of a browser."""

    def end(self) -> None:
        """Close its websocket; the browser then shows the sign-in page."""
        ...


@dataclass(eq=False)
class BrowserSession:
    """A signed-in browser. `handle` names the session in pages; unlike the cookie it opens nothing by itself.

    `common` are the answers that it shares with the other sessions.
    """

    handle: str
    door: PersonalDoor = field(repr=False)
    facts: Facts
    address: str
    used_at: float = field(default_factory=time.monotonic)
    common: CommonAnswers = field(default_factory=CommonAnswers, repr=False)
    views: set[OpenPage] = field(default_factory=set, repr=False)
    sockets: set[OpenPage] = field(default_factory=set, repr=False)

    @property
    def pages(self) -> set[OpenPage]:
        """Everything that is open: views, and the websockets that show them."""
        return self.views | self.sockets


class BrowserSessions:
    """All browser sessions. Its methods run on the event loop."""

    def __init__(
        self,
        now: Callable[[], float] = time.monotonic,
        *,
        seal: CookieSeal | None = None,
        open_door: OpenDoor | None = None,
    ) -> None:
        self._now = now
        self._seal = seal or CookieSeal()
        self._open_door = open_door
        self._common = CommonAnswers()
        self._reopening: dict[bytes, asyncio.Task[None]] = {}
        self._refused: dict[bytes, None] = {}
        self._by_cookie: dict[bytes, BrowserSession] = {}
        self._by_handle: dict[str, BrowserSession] = {}

    def __len__(self) -> int:
        return len(self._by_cookie)

    def begin(self, door: PersonalDoor, facts: Facts, *, address: str) -> str:
        """Begin a session; returns the value of its cookie. The session unused longest makes room for it."""
        cookie = self._seal.seal(door.refresh_token)
        self._keep(_digest(cookie), door, facts, address)
        return cookie

    async def reopen(self, cookie: str | None, *, address: str) -> None:
        """Open the session of a cookie again that an earlier process began, unless it has ended."""
        key = _digest(cookie or "")
        token = None if key in self._by_cookie or key in self._refused else self._seal.unseal(cookie or "")
        if token is None or self._open_door is None:
            return
        if key not in self._reopening:
            task = self._reopening[key] = asyncio.ensure_future(self._reopen(key, self._open_door, token, address))
            task.add_done_callback(lambda _done: self._reopening.pop(key))
        await asyncio.shield(self._reopening[key])

    async def _reopen(self, key: bytes, open_door: OpenDoor, token: str, address: str) -> None:
        try:
            door, facts = await asyncio.get_running_loop().run_in_executor(
                None, lambda: read_or_close(open_door(token, address=address))
            )
        except AuthInvalid:
            self._refuse(key)
        except AttestLabError as error:
            _log.warning("a session cannot be opened again now: %s", error)
        else:
            self._keep(key, door, facts, address)

    def _keep(self, key: bytes, door: PersonalDoor, facts: Facts, address: str) -> None:
        if len(self._by_cookie) >= MAX_SESSIONS:
            self.end(min(self._by_cookie.values(), key=lambda session: session.used_at))
        session = BrowserSession(secrets.token_hex(16), door, facts, address, self._now(), self._common)
        self._by_cookie[key] = self._by_handle[session.handle] = session

    def _refuse(self, key: bytes) -> None:
        self._refused[key] = None
        while len(self._refused) > MAX_REFUSED:
            del self._refused[next(iter(self._refused))]

    def find(self, cookie: str | None) -> BrowserSession | None:
        """Find the session of a cookie, and note that it is used."""
        session = self._by_cookie.get(_digest(cookie)) if cookie else None
        if session is not None:
            session.used_at = self._now()
        return session

    def get(self, handle: str) -> BrowserSession | None:
        """Find the session with this handle."""
        return self._by_handle.get(handle)

    def end(self, session: BrowserSession, *, is_final: bool = False) -> None:
        """End a session: forget it, and close its pages and connections.

        One that ended finally is not opened again by its cookie.
        """
        for key in [key for key, kept in self._by_cookie.items() if kept is session and is_final]:
            self._refuse(key)
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
        loop = asyncio.get_running_loop()
        for session in list(self._by_cookie.values()):
            if session.pages:
                session.used_at = self._now()
            elif self._now() - session.used_at > IDLE_S:
                await loop.run_in_executor(None, session.door.sign_out)
                self.end(session, is_final=True)
        in_use = [session for session in self._by_cookie.values() if session.pages]
        are_open = await asyncio.gather(*(loop.run_in_executor(None, session.door.is_open) for session in in_use))
        for session, is_open in zip(in_use, are_open, strict=True):
            if not is_open:
                self.end(session, is_final=True)


def read_or_close(door: PersonalDoor) -> tuple[PersonalDoor, Facts]:
    """Read the facts of a door that was just opened; one whose facts cannot be read is closed.

    Raises:
        AuthInvalid: the session has ended.
        Unavailable: the service failed, or took too long.
    """
    try:
        return door, door.read_facts()
    except BaseException:
        door.close()
        raise


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
