"""The caller of a lab as the caller of a page: rights, links, and the lab that the page asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast
from uuid import UUID

from attestlab import Lab
from attestlab.client.door import Door
from attestlab.client.service_client import ServiceClient
from attestlab.core.errors import AuthRequired, PermissionDenied, ValidationFailed
from attestlab_dashboards.cell.breakable_requests import make_breakable
from attestlab_dashboards.facts import read_facts
from attestlab_dashboards.pages import AnyPage, Facts

_PUBLIC: Final = frozenset({"log"})  # the pages of which a caller without a credential sees a part
ANYONE: Final = Facts("anyone", "", "the public log", "", "notebook", frozenset(), frozenset())
"""A caller without a credential."""


class BorrowedDoor:
    """The door of a lab that was made for one caller of an open one: it opens for no other, and closes nothing."""

    def __init__(self, client: ServiceClient) -> None:
        self.place, self.public_url = client.place, client.public_url

    def headers_of(self, tenant: UUID | str | None) -> Mapping[str, str]:
        """Refuse another caller.

        Raises:
            ValidationFailed: always.
        """
        raise ValidationFailed("A view acts for the caller of its lab. Call `as_` of the lab, and explore that one.")

    def close(self) -> None:
        """Leave the connections open: they are the lab's."""


def open_lab(client: ServiceClient) -> Lab:
    """Open the facade for the caller of a client; the lab that the client is of stays open.

    What panes ask of it can be cancelled.
    """
    if client.place.startswith(("http://", "https://")):
        client = make_breakable(client)
    return Lab(cast("Door", BorrowedDoor(client)), client, closes_door=False)


def read_caller(lab: Lab, page: AnyPage) -> Facts:
    """Read who calls the lab.

    Raises:
        PermissionDenied: a lab without an API key has no such page.
        AttestLabError: the service does not accept the caller, or is out of reach.
    """
    try:
        return read_facts(lab, "notebook")
    except AuthRequired:
        if page.path not in _PUBLIC:
            raise PermissionDenied(
                f"The page {page.name} needs an API key. Connect with one, attestlab.connect(url, api_key), or explore "
                'the log: lab.explore("log").'
            ) from None
        return ANYONE
