"""A door: how a lab reaches its service. There are two, this process and HTTP, with the same verbs behind them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

import httpx


class Door(Protocol):
    """The way to one service. It knows which credential acts for a tenant, and how to close."""

    @property
    def place(self) -> str:
        """The name of the service in messages and cards, without secrets."""
        ...

    @property
    def public_url(self) -> str:
        """The address under which the service shows public pages."""
        ...

    @property
    def http(self) -> httpx.Client:
        """The HTTP client."""
        ...

    def headers_of(self, tenant: UUID | str | None) -> Mapping[str, str]:
        """Return the headers of a request for a tenant, by id or name; None is the door's own.

        Raises:
            PermissionDenied: the door's credential is another tenant's.
            NotFound: there is no such tenant.
        """
        ...

    def close(self) -> None:
        """Close the door and all that it opened; may be called again."""
        ...
