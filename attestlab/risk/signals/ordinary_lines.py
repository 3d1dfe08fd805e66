"""The quick way of a line that certainly is an ordinary signal, as nearly all are; any other line is read strictly.

Ordinary is a line without escapes and without a name twice, with known members of the usual types, details without
nesting, a score in percent, and a time in UTC that has passed. It becomes what `ndjson.parse_line` makes of it, in a
third of the time. Whether any other line is accepted, and in which words it is rejected, `parse_line` decides alone.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import NotRequired, TypedDict

import orjson

from attestlab.core.strict_json import MAX_SAFE_INTEGER
from attestlab.risk.rules import (
    MAX_ENTITY_ID_LENGTH,
    MAX_SCORE,
    NAME_PATTERN,
    Entity,
    EntityType,
    may_be_malformed,
    spell_id,
)
from attestlab.risk.signals.members import MAX_LINE_BYTES, REQUIRED, encode_details
from attestlab.risk.signals.recording import NewSignal

_TEXTS = 4  # of the required members; the fifth is the score
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,3})?Z")
_TYPES = {kind.value: kind for kind in EntityType}
_OF_OTHERS = frozenset({EntityType.USER, EntityType.DEVICE, EntityType.SESSION})  # ids that have one spelling
_match_name = lru_cache(maxsize=256)(re.compile(NAME_PATTERN).fullmatch)  # a sender has few sources and types


class _OrdinaryMembers(TypedDict):
    """The members of an ordinary line; those of another may have any types, which shows when they are read."""

    source: str
    signal_type: str
    score: float
    entity_type: str
    entity_id: str
    details: NotRequired[dict[str, object] | None]
    occurred_at: NotRequired[str | None]


def parse_ordinary_line(line: bytes, *, now: datetime) -> NewSignal | None:
    """Parse a line that certainly is a signal in the usual form; None if it may be anything else."""
    if len(line) > MAX_LINE_BYTES or b"\\" in line:
        return None
    try:
        return _read_signal(orjson.loads(line), line.count(b'"'), now)
    except (AttributeError, LookupError, TypeError, ValueError):  # a member is missing, or of another type or form
        return None


def _read_signal(members: _OrdinaryMembers, quotes: int, now: datetime) -> NewSignal | None:
    """Read a signal from the members of a line, in which each name and each text has two quotes.

    So a name that came twice shows in their number, because the parser keeps it once.
    """
    sent, details = members.get("occurred_at"), members.get("details")
    if len(members) != len(REQUIRED) + ("occurred_at" in members) + ("details" in members):
        return None
    names = len(members) + (0 if details is None else len(details))
    texts = _TEXTS + (sent is not None) + (0 if details is None else _count_texts(details))
    occurred_at = now if sent is None else _read_time(sent)
    source, signal_type = members["source"], members["signal_type"]
    is_ordinary = quotes == 2 * (names + texts) and occurred_at <= now
    if not (is_ordinary and _match_name(source) and _match_name(signal_type)):
        return None
    score, entity = _read_score(members["score"]), _read_entity(_TYPES[members["entity_type"]], members["entity_id"])
    return NewSignal(source, signal_type, score, entity, encode_details(details), occurred_at)


def _count_texts(details: dict[str, object]) -> int:
    """Count the values that are texts.

    Raises:
        TypeError: these are no details, or a value is an array or an object.
        ValueError: a number may have lost digits.
    """
    count = 0
    for value in dict.values(details):
        if type(value) is str:
            count += 1
        elif type(value) is int or type(value) is float:
            if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                raise ValueError(value)
        elif value is not None and type(value) is not bool:
            raise TypeError(value)
    return count


def _read_time(sent: str) -> datetime:
    if not _TIME.fullmatch(sent):
        raise ValueError(sent)
    return datetime.fromisoformat(sent)


def _read_score(score: float) -> float:
    if type(score) not in (float, int) or not 0 <= score <= MAX_SCORE:
        raise ValueError(score)
    return abs(float(score))  # -0.0 is 0


def _read_entity(kind: EntityType, entity_id: str) -> Entity:
    """Return an entity whose id has no blanks at its ends, no characters that are not seen, and no odd address."""
    if not (0 < len(entity_id) <= MAX_ENTITY_ID_LENGTH and entity_id.isprintable() and entity_id == entity_id.strip()):
        raise ValueError(entity_id)
    if kind is EntityType.IP and may_be_malformed(entity_id):
        raise ValueError(entity_id)
    return Entity(kind, entity_id if kind in _OF_OTHERS else spell_id(kind, entity_id))
