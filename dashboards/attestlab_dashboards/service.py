"""The service as the dashboards reach it: its HTTP API on a private Unix socket, through the facade.

Each signed-in person has a door of their own with their own session at the service, so that the API checks every
request of a page as it checks those of a program.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Self
from uuid import UUID

import httpx

from attestlab import Lab
from attestlab.client.asynchronous.calls import sleep_on_loop
from attestlab.client.asynchronous.loop_transport import LoopTransport
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import AttestLabError, AuthInvalid, PermissionDenied
from attestlab.core.version import VERSION
from attestlab.web.request import UNATTENDED
from attestlab_dashboards.configuration import Configuration
from attestlab_dashboards.facts import read_facts
from attestlab_dashboards.kept_session import KeptSession
from attestlab_dashboards.pages import Facts

_BASE_URL: Final = "http://service"  # the name is not resolved: the socket is the address
_TIMEOUT: Final = httpx.Timeout(60.0, connect=5.0)
_LONG_TIMEOUT: Final = httpx.Timeout(180.0, connect=5.0)  # the service ends its long work before
# The socket carries no TLS. By default each transport would load the certificate authorities of the system, which takes
# 0.8 MiB and 26 ms a person; this context trusts none.
_NO_AUTHORITIES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_LIMITS: Final = httpx.Limits(max_connections=16, max_keepalive_connections=8)
_CLOSING: Final[set[asyncio.Future[None]]] = set()  # the event loop itself keeps only weak references


class PersonalDoor:
    """The door of one signed-in person."""

    def __init__(
        self, configuration: Configuration, open_session: Callable[[ServiceClient], KeptSession], *, address: str
    ) -> None:
        """Open a session, for a browser at `address`, which counts for limits and the audit trail."""
        self.place = self.public_url = configuration.public_url
        self._stage = configuration.stage
        self._socket = configuration.api_socket
        self._headers = {"User-Agent": f"attestlab-dashboards/{VERSION}", "X-Forwarded-For": address or "127.0.0.1"}
        self._loop_http: httpx.AsyncClient | None = None
        self._transport = httpx.HTTPTransport(_NO_AUTHORITIES, uds=self._socket, limits=_LIMITS)
        self.http = self._open_client()
        anyone = ServiceClient(self.http, headers={}, place=self.place, public_url=self.public_url, sleep=time.sleep)
        try:
            self._session = open_session(anyone)
            self._client = anyone.with_headers({}, self._session)
        except BaseException:
            self.http.close()
            raise

    @classmethod
    def sign_in(cls, configuration: Configuration, email: str, password: str, *, address: str) -> Self:
        """Begin a session.

        Raises:
            AuthInvalid: the password is wrong, or there is no such person.
            RateLimited: too many attempts failed.
        """
        return cls(configuration, lambda client: KeptSession.sign_in(client, email, password), address=address)

    @classmethod
    def reopen(cls, configuration: Configuration, refresh_token: str, *, address: str) -> Self:
        """Open a session again that an earlier process of the dashboards began.

        Raises:
            AuthInvalid: the session has ended, or was not used for hours.
        """
        return cls(configuration, lambda client: KeptSession.reopen(client, refresh_token), address=address)

    @property
    def refresh_token(self) -> str:
        """The token that opens the session again, as long as the service lets it."""
        return self._session.refresh_token

    def read_facts(self) -> Facts:
        """Read what every page knows of the person and the tenant."""
        return read_facts(self.lab(), self._stage)

    def lab(self) -> Lab:
        """Return the facade for this person."""
        return Lab(self, self._client, closes_door=False)

    def cancellable_lab(self) -> Lab:
        """Return a facade for this person whose requests run on this event loop, where a `VerbCall` cancels them."""
        if self._loop_http is None:
            transport = httpx.AsyncHTTPTransport(_NO_AUTHORITIES, uds=self._socket, limits=_LIMITS)
            self._loop_http = httpx.AsyncClient(transport=transport)
        http = httpx.Client(
            transport=LoopTransport(self._loop_http, asyncio.get_running_loop()),
            base_url=_BASE_URL,
            timeout=_LONG_TIMEOUT,
            headers=self._headers,
        )
        anyone = ServiceClient(http, headers={}, place=self.place, public_url=self.public_url, sleep=sleep_on_loop)
        return Lab(self, anyone.with_headers({}, self._session), closes_door=False)

    def unattended_lab(self) -> Lab:
        """Return a facade for what a page asks by itself: the service does not note it as a use of the session."""
        http = self._open_client(**{UNATTENDED: "1"})
        anyone = ServiceClient(http, headers={}, place=self.place, public_url=self.public_url, sleep=time.sleep)
        return Lab(self, anyone.with_headers({}, self._session), closes_door=False)

    def _open_client(self, **further: str) -> httpx.Client:
        """Open a client over the connections that all of this person share."""
        headers = {**self._headers, **further}
        return httpx.Client(transport=self._transport, base_url=_BASE_URL, timeout=_TIMEOUT, headers=headers)

    def headers_of(self, tenant: UUID | str | None) -> Mapping[str, str]:
        """Return no further headers: a person acts for their own tenant alone."""
        if tenant is not None:
            raise PermissionDenied("A person acts for their own tenant. Sign in as a member of the other one.")
        return {}

    def is_open(self) -> bool:
        """Whether the service still accepts the session; true if it is out of reach, which says nothing about it."""
        try:
            self._client.send("GET", "/v1/me", headers={UNATTENDED: "1"})
        except AuthInvalid:
            return False
        except AttestLabError:
            return True
        return True

    def sign_out(self) -> None:
        """End the session at the service, unless it has ended or the service is out of reach."""
        with suppress(AttestLabError):
            self._client.post("/v1/auth/logout", {})

    def close(self) -> None:
        """Close the connections; on the event loop, if cancellable labs were made."""
        self.http.close()
        if self._loop_http is not None:
            closing = asyncio.ensure_future(self._loop_http.aclose())
            _CLOSING.add(closing)
            closing.add_done_callback(_CLOSING.discard)
