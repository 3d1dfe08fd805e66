"""Rules of webhooks: statuses, limits, and the filters of event types (SPEC, Events; CONTRACT section 10)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from enum import StrEnum

from attestlab.core.errors import FieldError, ValidationFailed
from attestlab.core.suggestions import MAX_SUGGESTIONS, find_nearest

MAX_ENDPOINT_NAME_LENGTH = 100
MAX_FILTERS = 50  # of one endpoint
MAX_EVENT_TYPE_LENGTH = 64
MAX_DATA_BYTES = 20_000  # of an event's `data` as JSON, also of a test's payload
MAX_OVERLAP = timedelta(days=1)  # of the old and the new secret of an endpoint
EVENT_LOG = timedelta(days=30)  # how long a tenant can list its events
MAX_ATTEMPTS = 8  # of one delivery: the first and 7 retries
WILDCARD = ".*"
EVENT_TYPE = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+")


class EndpointStatus(StrEnum):
    """The status of an endpoint; a disabled one receives test deliveries only."""

    ACTIVE = "active"
    DISABLED = "disabled"


class DisabledReason(StrEnum):
    """Why an endpoint is disabled: it answered 410, it failed for days, or its tenant asked for it."""

    GONE = "gone"
    FAILING = "failing"
    REQUESTED = "requested"


class WebhookDeliveryStatus(StrEnum):
    """The status of a delivery; `delivered` and `failed` are final."""

    PENDING = "pending"
    RETRYING = "retrying"
    DELIVERED = "delivered"
    FAILED = "failed"


class RecoveryMode(StrEnum):
    """Which events are recovered: deliveries that failed, events that were never tried, or both."""

    FAILED = "failed"
    MISSING = "missing"
    ALL = "all"


def matches(filters: Iterable[str], event_type: str) -> bool:
    """Return whether one of the filters names the event type or one of its categories.

    >>> matches(["attestation.*"], "attestation.created"), matches(["risk.signal.*"], "risk.signal.created")
    (True, True)
    >>> matches(["attestation.*"], "attestations.created")
    False
    """
    return any(
        event_type == wanted or (wanted.endswith(WILDCARD) and event_type.startswith(wanted[:-1])) for wanted in filters
    )


def validate_filters(
    filters: Sequence[str], event_types: Collection[str], *, field: str = "event_filters"
) -> list[str]:
    """Return the filters without repetitions; each names a known event type, or a category of some as `category.*`.

    Raises:
        ValidationFailed: a filter names neither; the message suggests the nearest name.

    >>> validate_filters(["attestation.*", "key.rotated"], ["attestation.created", "key.rotated"])
    ['attestation.*', 'key.rotated']
    """
    known = [*event_types, *_wildcards(event_types)]
    unknown = [(place, name) for place, name in enumerate(filters) if name not in known]
    if unknown:
        suggested = [_unknown(field, place, name, known) for place, name in unknown[:MAX_SUGGESTIONS]]
        others = [_unknown(field, place, name) for place, name in unknown[MAX_SUGGESTIONS:]]
        raise ValidationFailed(suggested[0].message, suggested + others)
    return list(dict.fromkeys(filters))


def encode_filters(filters: Iterable[str]) -> str:
    """Encode filters for storage, as a JSON array."""
    return json.dumps(list(filters), separators=(",", ":"))


def decode_filters(stored: str) -> list[str]:
    """Decode stored filters."""
    filters: list[str] = json.loads(stored)
    return filters


def category_of(event_type: str) -> str:
    """Return the category of an event type.

    >>> category_of("risk.signal.created")
    'risk'
    """
    return event_type.partition(".")[0]


def _wildcards(event_types: Iterable[str]) -> Iterator[str]:
    """Yield each prefix of the types that ends before a dot, as a wildcard."""
    prefixes = {event_type[: dot.start()] for event_type in event_types for dot in re.finditer(r"\.", event_type)}
    return (prefix + WILDCARD for prefix in sorted(prefixes))


def _unknown(field: str, place: int, name: str, known: Sequence[str] = ()) -> FieldError:
    close = find_nearest(name, known) if known else None
    hint = f"Did you mean {close}?" if close else "GET /v1/webhooks/event-types lists them."
    message = f"There is no event type or category {name[:MAX_EVENT_TYPE_LENGTH]!r}. {hint}"
    return FieldError(f"/{field}/{place}", "unknown_event_type", message)
