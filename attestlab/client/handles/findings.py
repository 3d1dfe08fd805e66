"""What a search found, and the search itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from attestlab.client import arguments
from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle
from attestlab.client.service_client import Json, ServiceClient
from attestlab.search.shapes import FoundOut


class FoundHandle(FoundOut, Handle):
    """One thing that a search found; `url` is its page in the dashboards, below the address of the service."""

    shown_fields: ClassVar = ("type", "title", "subtitle", "id")


def search(client: ServiceClient, text: str, *, types: str | Iterable[str] | None, limit: int) -> Records[FoundHandle]:
    """Search the tenant of the caller.

    Raises:
        ValidationFailed: an argument is not acceptable.
    """
    parameters: dict[str, object] = {"q": arguments.read_text(text, name="The text")}
    parameters["limit"] = arguments.read_count(limit, name="limit")
    if types is not None:
        parameters["types"] = ",".join(arguments.read_texts(types, name="types"))
    answer = client.get("/v1/search", parameters)
    items = cast("list[Json]", answer["items"])
    found = Records([FoundHandle.parse(client, item) for item in items], FoundHandle)
    found.truncated = bool(answer["truncated"])
    return found
