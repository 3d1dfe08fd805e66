"""Mappings: which signal a raw event becomes, by the type of the event."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from attestlab.core.errors import ValidationFailed
from attestlab.core.text_forms import describe_form
from attestlab.risk.rules import Factor, require_name, to_percent

MAX_ITEMS = 500
MAX_EVENT_TYPE_LENGTH = 128
EVENT_TYPE_PATTERN = describe_form(
    r"^[a-z0-9_]{1,64}(\.[a-z0-9_]{1,64})*$", "Use words of a-z, 0-9 and _ with dots between, such as login.failed."
)
DEFAULT_VERSION = 1
_EVENT_TYPE = re.compile(EVENT_TYPE_PATTERN)


class MappingItem(NamedTuple):
    """The signal that events of one type become."""

    event_type: str
    signal_type: str
    score: float


class NormalizedEvent(NamedTuple):
    """The signal that a raw event becomes; `normalized` is false if the mapping does not know its type."""

    source: str
    signal_type: str
    score: float
    normalized: bool

    @property
    def factors(self) -> list[Factor]:
        """The one reason for the score: the mapping."""
        text = f"The mapping gives such an event {self.score:g} points."
        return [Factor("mapping", self.signal_type, 100.0, self.score, text)]


UNKNOWN = MappingItem("", "behavior", 10.0)
DEFAULTS = (
    MappingItem("verification.failed", "behavior", 60.0),
    MappingItem("verification.invalid_sig", "behavior", 75.0),
    MappingItem("login.failed.repeated", "ato", 70.0),
    MappingItem("login.suspicious_geo", "geo_anomaly", 65.0),
    MappingItem("session.hijack_suspect", "ato", 90.0),
    MappingItem("attestation.deepfake_suspect", "deepfake", 85.0),
)


@dataclass(frozen=True, eq=False)
class EventMapping:
    """One version of a tenant's mapping."""

    version: int
    items: Sequence[MappingItem] = field(repr=False)

    @cached_property
    def _by_type(self) -> Mapping[str, MappingItem]:
        return {item.event_type: item for item in self.items}

    def normalize(self, event_type: str) -> NormalizedEvent:
        """Return the signal for an event of this type; its source is the type's part before the first dot."""
        item = self._by_type.get(event_type)
        mapped = item or UNKNOWN
        return NormalizedEvent(find_source(event_type), mapped.signal_type, mapped.score, item is not None)


DEFAULT_MAPPING = EventMapping(DEFAULT_VERSION, DEFAULTS)


def find_source(event_type: str) -> str:
    """Return the source of events of a type: its part before the first dot."""
    return event_type.partition(".")[0]


def require_event_type(event_type: str, field: str = "/event_type") -> str:
    """Require the type of an event.

    Raises:
        ValidationFailed: it is not a dotted lowercase name.
    """
    if len(event_type) > MAX_EVENT_TYPE_LENGTH or not _EVENT_TYPE.fullmatch(event_type):
        message = f"{event_type[:40]!r} is no event type: use words of a-z, 0-9 and _ with dots, such as login.failed."
        raise ValidationFailed.of(field, "event_type", message)
    return event_type


def validate_items(items: Sequence[MappingItem]) -> Sequence[MappingItem]:
    """Validate the items of a new version.

    Raises:
        ValidationFailed: an item is invalid, two have the same event type, or there are more than `MAX_ITEMS`.
    """
    if len(items) > MAX_ITEMS:
        message = f"{len(items):,} items were sent, and a mapping has at most {MAX_ITEMS}."
        raise ValidationFailed.of("/items", "too_many", message)
    seen: set[str] = set()
    for index, item in enumerate(items):
        require_event_type(item.event_type, f"/items/{index}/event_type")
        require_name(f"items/{index}/signal_type", item.signal_type)
        to_percent(item.score)
        if item.event_type in seen:
            message = f"{item.event_type} has two items. Send one for each event type."
            raise ValidationFailed.of(f"/items/{index}/event_type", "duplicate", message)
        seen.add(item.event_type)
    return items
