"""Readers of stills: the service on a private Unix socket, with tokens that only read, each for one person."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from typing import Final
from uuid import UUID

import httpx

from attestlab import Lab
from attestlab.client.lab import MeHandle
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import PermissionDenied
from attestlab.core.version import VERSION

_BASE_URL: Final = "http://service"  # the name is not resolved: the socket is the address
_TIMEOUT: Final = httpx.Timeout(60.0, connect=5.0)
_NO_ID: Final = UUID(int=0)


class ReaderDoor:
    """The door of one reader at the socket of the API."""

    def __init__(self, api_socket: str, token: str, *, public_url: str) -> None:
        self.place = self.public_url = public_url
        headers = {
            "Authorization": f"Bearer {token}",
            "User-Agent": f"attestlab-stills/{VERSION}",
            "X-Forwarded-For": "127.0.0.1",
        }
        # The socket carries no TLS, so no authority is loaded.
        transport = httpx.HTTPTransport(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), uds=api_socket)
        self.http = httpx.Client(transport=transport, base_url=_BASE_URL, timeout=_TIMEOUT, headers=headers)
        self._client = ServiceClient(self.http, headers={}, place=self.place, public_url=public_url, sleep=time.sleep)

    def lab(self) -> ReaderLab:
        """Return the facade for this reader."""
        return ReaderLab(self, self._client)

    def headers_of(self, tenant: UUID | str | None) -> Mapping[str, str]:
        """Return no further headers: a person reads of their own tenant alone."""
        if tenant is not None:
            raise PermissionDenied("A report is of the tenant of its reader alone.")
        return {}

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


class ReaderLab(Lab):
    """A lab in which the caller has their rights and no id, so that no page says "you".

    What it draws is the same for everyone with these rights, and reads well a week later.
    """

    def me(self) -> MeHandle:
        """Return the caller without an id.

        Raises:
            AuthInvalid: the token is no longer valid, or the account has ended.
        """
        found = super().me()
        return found.model_copy(update={"id": _NO_ID})
