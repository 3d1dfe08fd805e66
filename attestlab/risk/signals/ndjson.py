"""Parsing of rows in NDJSON, such as signals: one a line, each accepted or rejected by itself.

A line is parsed by orjson, which is eight times as fast as the strict parser and accepts more. So a line is parsed
strictly if it may have what only orjson accepts: two members with one name, because then it has more names than orjson
found; a number that would lose digits; the character U+0000; or a deep value.

**An ordinary line** of a signal, as nearly all are, has a quick way. Ordinary is a line without escapes and without a
name twice, with known members of the usual types, details without nesting, a score in percent, and a time in UTC that
has passed. It becomes what `parse_line` makes of it, in a third of the time. Whether any other line is accepted, and in
which words it is rejected, `parse_line` decides alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Generic, NamedTuple, NotRequired, TypedDict, TypeVar

import orjson

from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER, parse_json
from attestlab.core.suggestions import MAX_SUGGESTIONS
from attestlab.risk.rules import (
    MAX_ENTITY_ID_LENGTH,
    MAX_SCORE,
    NAME_PATTERN,
    Entity,
    EntityType,
    may_be_malformed,
    require_open_source,
    spell_id,
)
from attestlab.risk.signals.members import (
    MAX_LINE_BYTES,
    MEMBERS,
    REQUIRED,
    describe_fault,
    encode_details,
    read_members,
)
from attestlab.risk.signals.recording import NewSignal

Row = TypeVar("Row", covariant=True)  # lines only return rows

BATCH_LINES = 2_000
MAX_LINES = 700_000  # more than rows fit into the 50 MiB of a request
MAX_REPORTED_LINES = 1_000  # rejected lines that a response lists; the others are counted
_MEMBER_NAME = re.compile(rb'"\s*:')
_NUL = b"\\u0000"
_MAX_DEPTH = 32


class RejectedLine(NamedTuple):
    """A line that was not recorded; `line` counts from 1."""

    line: int
    message: str


class Lines(Generic[Row]):
    """The lines of a request, parsed batch by batch, so that memory is bounded by the text and one batch.

    Every line is read, however many are rejected: `rejected` are the first `MAX_REPORTED_LINES` of those, and
    `rejected_count` counts all. `parse` raises `ValidationFailed` for a line that it rejects; the first few get the
    nearest of the `known` members.
    """

    def __init__(
        self, text: bytes, parse: Callable[[bytes], Row], *, known: Iterable[str], batch_lines: int = BATCH_LINES
    ) -> None:
        self.rejected: list[RejectedLine] = []
        self.rejected_count = 0
        self._text, self._parse_line, self._known, self._batch_lines = text, parse, known, batch_lines
        self._position = self._line = 0

    def parse_batch(self) -> Sequence[Row] | None:
        """Parse the next lines, an ordinary signal's in about 6 us; returns their rows, or None at the end."""
        if self._position >= len(self._text):
            return None
        return [row for line in self._take_lines() if (row := self._parse(line)) is not None]

    def _take_lines(self) -> Iterator[bytes]:
        for _ in range(self._batch_lines):
            if self._position >= len(self._text):
                return
            end = self._text.find(b"\n", self._position)
            end = len(self._text) if end < 0 else end
            line = self._text[self._position : end]
            self._position, self._line = end + 1, self._line + 1
            yield line

    def _parse(self, line: bytes) -> Row | None:
        if not line.strip():
            return None
        try:
            return self._parse_line(line)
        except ValidationFailed as error:
            self._reject(error)
            return None

    def _reject(self, error: ValidationFailed) -> None:
        self.rejected_count += 1
        if len(self.rejected) < MAX_REPORTED_LINES:
            known = self._known if len(self.rejected) < MAX_SUGGESTIONS else ()
            self.rejected.append(RejectedLine(self._line, describe_fault(error, known)))


def require_few_lines(text: bytes) -> None:
    """Require that a request has no more lines than rows fit into it.

    Raises:
        ValidationFailed: most of its lines are something else.
    """
    count = text.count(b"\n")
    if count > MAX_LINES:
        message = f"A request has at most {MAX_LINES:,} lines, and this one has {count:,}. Send them in several."
        raise ValidationFailed.of("", "too_many", message)


def read_signal_lines(text: bytes, *, now: datetime, actor_type: str = "API_KEY") -> Lines[NewSignal]:
    """Return the lines of a request that records signals; those that the actor may not record are rejected."""
    parse = parse_signal_of_agent if actor_type == "AGENT" else parse_signal
    return Lines(text, partial(parse, now=now), known=MEMBERS)


def parse_signal_of_agent(line: bytes, *, now: datetime) -> NewSignal:
    """Parse a signal that an agent's session sent.

    Raises:
        ValidationFailed: as `parse_line`, or the source is not an agent's.
    """
    signal = parse_signal(line, now=now)
    try:
        require_open_source(signal.source, "AGENT")
    except PermissionDenied as error:
        raise ValidationFailed.of("/source", "reserved_source", error.message) from None
    return signal


def parse_signal(line: bytes, *, now: datetime) -> NewSignal:
    """Parse a signal, in the quick way if the line certainly is an ordinary one.

    Raises:
        ValidationFailed: as `parse_line`.
    """
    return parse_ordinary_line(line, now=now) or parse_line(line, now=now)


def parse_line(line: bytes, *, now: datetime) -> NewSignal:
    """Parse a signal.

    Raises:
        ValidationFailed: the line is not strict JSON or no signal.
    """
    found = read_members(parse_object(line), now=now)
    details = encode_details(found.details)
    return NewSignal(found.source, found.signal_type, found.score, found.entity, details, found.occurred_at)


def parse_object(line: bytes) -> Mapping[str, object]:
    """Parse a line as a JSON object.

    Raises:
        ValidationFailed: it is too long, or not strict JSON, or no object.
    """
    if len(line) > MAX_LINE_BYTES:
        message = f"A line has at most {MAX_LINE_BYTES:,} bytes, and this one has {len(line):,}."
        raise ValidationFailed.of("", "too_long", message)
    try:
        document = orjson.loads(line)
        is_exact = _NUL not in line and _count_names([document]) == len(_MEMBER_NAME.findall(line))
    except (ValueError, RecursionError):  # the strict parser states the reason
        is_exact = False
    if not is_exact:
        document = parse_json(line)
    if not isinstance(document, dict):
        raise ValidationFailed.of("", "type", "A line must be a JSON object.")
    return document


def _count_names(values: Iterable[object], depth: int = 0) -> int:
    """Count the members of all objects in JSON values.

    Raises:
        ValueError: the values nest deeply, or have a number that the strict parser may reject.
    """
    if depth > _MAX_DEPTH:
        raise ValueError
    count = 0
    for value in values:
        if isinstance(value, dict):
            count += len(value) + _count_names(value.values(), depth + 1)
        elif isinstance(value, list):
            count += _count_names(value, depth + 1)
        elif isinstance(value, (int, float)) and abs(value) > MAX_SAFE_INTEGER:
            raise ValueError
    return count


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
