"""Parsing of rows in NDJSON, such as signals: one a line, each accepted or rejected by itself.

A line is parsed by orjson, which is eight times as fast as the strict parser and accepts more. So a line is parsed
strictly if it may have what only orjson accepts: two members with one name, because then it has more names than orjson
found; a number that would lose digits; the character U+0000; or a deep value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Generic, NamedTuple, TypeVar

import orjson

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER, parse_json
from attestlab.core.suggestions import MAX_SUGGESTIONS
from attestlab.risk.signals.members import MAX_LINE_BYTES, MEMBERS, describe_fault, encode_details, read_members
from attestlab.risk.signals.ordinary_lines import parse_ordinary_line
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


def read_signal_lines(text: bytes, *, now: datetime) -> Lines[NewSignal]:
    """Return the lines of a request that records signals."""
    return Lines(text, partial(parse_signal, now=now), known=MEMBERS)


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
