"""The catalogue of event types: for each its JSON Schema (2020-12) and an example, of the whole envelope.

Both are derived from the event's class, so that what is documented is what is published. The types of SPEC come first,
in its order; then those that a capability declares beyond it, without a list here.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from operator import itemgetter
from types import NoneType
from typing import Final, get_args, get_type_hints
from uuid import UUID

from attestlab.core.events import Event, EventClass, EventField
from attestlab.web.openapi.vocabulary import DocumentPart
from attestlab.webhooks import events
from attestlab.webhooks.event_fields import FIELDS
from attestlab.webhooks.rules import category_of

TEST: Final = events.WebhookTested.type
SPECIFIED: Final = (
    *("attestation.created", "attestation.revoked", "attestation.expired", "attestation.superseded"),
    *("verification.completed", "verification.failed"),
    *("issuer.created", "issuer.updated", "issuer.suspended"),
    *("key.created", "key.rotated", "key.revoked", "key.compromised"),
    *("team.member_invited", "team.member_joined", "team.member_removed", "team.role_changed"),
    *("billing.subscription.created", "billing.subscription.updated", "billing.invoice.created"),
    *("billing.usage.threshold", "consumer.content.protected"),
    *("risk.signal.created", "risk.signal.escalated"),
    *("receipt.created", "receipt.revoked", "receipt.type.created", "receipt.type.deprecated"),
    *("security.password_changed", "security.api_key_compromised", "security.suspicious_activity"),
    TEST,
)
_EXAMPLE_ID = "019ad2c4-6b80-7def-9abc-ba9876543210"
_EXAMPLE_TIME = "2026-11-24T09:30:00.000Z"
_EXAMPLES_OF_TYPES: dict[str, dict[str, str]] = {"verification.failed": {"verdict": "ALTERED"}}
_VERIFICATIONS = frozenset({"verification.completed", "verification.failed"})
_EXCLUSIVE = frozenset({"minute", "receipt_id"})  # members of these that exclude another one, so examples omit them

_SCHEMAS: dict[type, DocumentPart] = {
    str: {"type": "string"},
    int: {"type": "integer", "format": "int64", "minimum": 0},
    bool: {"type": "boolean"},
    UUID: {"type": "string", "format": "uuid"},
    datetime: {"type": "string", "format": "date-time"},
}


@dataclass(frozen=True)
class EventType:
    """A type of events; `schema` and `example` are of the envelope `{id, type, created_at, data}`."""

    type: str
    category: str
    description: str
    schema: DocumentPart
    example: DocumentPart


def list_type_names() -> tuple[str, ...]:
    """List the types of SPEC, then those that capabilities declare beyond it, by module in the order of their lines."""
    further = [
        (kind.__module__, name)
        for name, kind in Event.catalogue.items()
        if name not in SPECIFIED and kind.__module__.startswith("attestlab.") and kind.__module__ != Event.__module__
    ]
    return (*SPECIFIED, *(name for _module, name in sorted(further, key=itemgetter(0))))


@cache
def list_event_types() -> tuple[EventType, ...]:
    """Return the catalogue: the types of SPEC in its order, then the further ones.

    Raises:
        KeyError: the capability that publishes a type is not loaded.
    """
    return tuple(_describe(name, Event.catalogue[name]) for name in list_type_names())


def _describe(name: str, event: EventClass) -> EventType:
    description = " ".join((inspect.getdoc(event) or "").split())
    return EventType(
        type=name,
        category=category_of(name),
        description=description,
        schema=_build_schema(name, description, _build_data_schema(event)),
        example={"id": _EXAMPLE_ID, "type": name, "created_at": _EXAMPLE_TIME, "data": _build_data_example(event)},
    )


def _build_schema(name: str, description: str, data: DocumentPart) -> DocumentPart:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "description": description,
        "type": "object",
        "required": ["id", "type", "created_at", "data"],
        "properties": {
            "id": {**_SCHEMAS[UUID], "description": "The event; all deliveries of it have the same id."},
            "type": {"const": name, "description": "The type of the event."},
            "created_at": {**_SCHEMAS[datetime], "description": "When it happened, in UTC."},
            "data": data,
        },
    }


def _build_data_schema(event: EventClass) -> DocumentPart:
    """Build the schema of `data`; a member that may be absent is not required, and later versions may add members."""
    if event.type == TEST:
        return {"type": "object", "description": "The payload of the request, or the one of the example."}
    kinds = _list_kinds(event)
    explained = FIELDS | event.declared_fields()
    return {
        "type": "object",
        "description": "Ids and key facts, never claims or secrets.",
        "required": [name for name, (_kind, is_required) in kinds.items() if is_required],
        "properties": {
            name: _build_field_schema(explained[name], kind) for name, (kind, _is_required) in kinds.items()
        },
    }


def _build_field_schema(field: EventField, kind: type) -> DocumentPart:
    length = {} if field.max_length is None else {"maxLength": field.max_length}
    return {**_SCHEMAS[kind], **length, "description": field.meaning}


def _build_data_example(event: EventClass) -> DocumentPart:
    own = _EXAMPLES_OF_TYPES.get(event.type, {})
    explained = FIELDS | event.declared_fields()
    omitted = _EXCLUSIVE if event.type in _VERIFICATIONS else frozenset()
    return {name: own.get(name, explained[name].example) for name in _list_kinds(event) if name not in omitted}


def _list_kinds(event: EventClass) -> Mapping[str, tuple[type, bool]]:
    """Return the type of each member of `data`, and whether every event has it."""
    hints = get_type_hints(event)
    kinds: dict[str, tuple[type, bool]] = {}
    for field in fields(event):
        options = get_args(hints[field.name]) or (hints[field.name],)
        (kind,) = (option for option in options if option is not NoneType)
        kinds[field.name] = (kind, NoneType not in options)
    return kinds
