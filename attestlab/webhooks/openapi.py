"""The section `webhooks` of OpenAPI 3.1: for each type of events, the request that an endpoint receives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab.web.openapi.vocabulary import DocumentPart
from attestlab.webhooks.event_types import EventType, list_event_types

TAG: Final = "webhook-events"  # not that of our own routes, after which generators name a file
_TEXT: Final = {"type": "string"}
_UNIX_TIME: Final = {"type": "string", "pattern": "^[0-9]{1,12}$"}
_HEADERS: Final[Mapping[str, tuple[DocumentPart, str]]] = {
    "X-Service-Event-Id": ({"type": "string", "format": "uuid"}, "The id of the event, as in the body."),
    "X-Service-Event-Type": (_TEXT, "The type of the event, as in the body."),
    "X-Service-Timestamp": (_UNIX_TIME, "The moment of the attempt, in seconds since 1970 (UTC)."),
    "X-Service-Signature": (
        {"type": "string", "pattern": "^t=[0-9]{1,12}(,v1=[0-9a-f]{64})+$"},
        "`t=<timestamp>,v1=<hex>`: HMAC-SHA-256 of `<timestamp>.<raw body>`; the key is the whole secret.",
    ),
    "webhook-id": (_TEXT, "The id of the event (Standard Webhooks)."),
    "webhook-timestamp": (_UNIX_TIME, "The moment of the attempt, in seconds since 1970 (UTC; Standard Webhooks)."),
    "webhook-signature": (
        _TEXT,
        "`v1,<base64>`: HMAC-SHA-256 of `<id>.<timestamp>.<raw body>`; the key is the decoded secret after `whsec_` "
        "(Standard Webhooks).",
    ),
}


def describe_webhooks() -> dict[str, DocumentPart]:
    """Describe the request of each type of events, by its type."""
    return {event_type.type: {"post": _describe(event_type)} for event_type in list_event_types()}


def _describe_headers() -> list[DocumentPart]:
    """Describe the headers in full: generators of clients lose the types of parameters that are references."""
    return [
        {"name": name, "in": "header", "required": True, "description": meaning, "schema": schema}
        for name, (schema, meaning) in _HEADERS.items()
    ]


def _describe(event_type: EventType) -> DocumentPart:
    schema = {name: part for name, part in event_type.schema.items() if name != "$schema"}
    return {
        "operationId": "receive_" + event_type.type.replace(".", "_"),
        "tags": [TAG],
        "summary": event_type.type,
        "description": event_type.description,
        "security": [],
        "parameters": _describe_headers(),
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schema, "example": event_type.example}},
        },
        "responses": {
            "2XX": {"description": "The receiver has the event; it is not sent again."},
            "default": {"description": "A failed attempt; another one follows, at most 8 in all."},
        },
    }
