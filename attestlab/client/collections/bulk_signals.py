"""Many signals in requests of bounded size, with the results of one.

A row that is no signal is rejected alone, here or by the service; all others are sent. A backfill's requests have keys
that follow from what they hold, so a program that is killed and started again repeats them: the service answers those
it knows at once, continues within the one that broke off, and records no signal twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import NamedTuple, cast
from uuid import uuid4

from attestlab.client import arguments
from attestlab.client.analysis.table_rows import TableColumns, add_zone, read_rows, read_zone
from attestlab.client.handles.risk import BulkHandle
from attestlab.client.json_values import encode_body
from attestlab.client.progress import show_progress
from attestlab.client.service_client import Json, ServiceClient
from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError, ValidationFailed
from attestlab.risk.rules import Entity, ScoreScale, describe_fault, to_percent
from attestlab.risk.signals.shapes import SignalIn
from attestlab.web.validation import validate_body

NDJSON = "application/x-ndjson"
MAX_SIGNALS = 10_000  # of one request
MAX_BYTES = 8 * 1024 * 1024  # of one request; the service takes 50 MiB
MAX_SHOWN = 1_000  # rejected rows; the others are counted, as the service does
COLUMNS = TableColumns(
    required=("source", "signal_type", "score", "entity_type", "entity_id"),
    optional=("score_scale", "details", "occurred_at"),
    numbers=("score",),
    objects=("details",),
)


class Fault(NamedTuple):
    """A row that is no signal; `row` counts from 1."""

    row: int
    message: str


@dataclass
class Batch:
    """The lines of one request, the number of each one's row, and the rows among them that are no signals."""

    lines: list[bytes] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    size: int = 0

    @property
    def count(self) -> int:
        """The rows of this batch, those that are no signals, too."""
        return len(self.lines) + len(self.faults)

    def add(self, row: int, line: bytes | Fault) -> None:
        """Add a row."""
        if isinstance(line, Fault):
            self.faults.append(line)
            return
        self.lines.append(line)
        self.rows.append(row)
        self.size += len(line)

    def has_room(self, line: bytes | Fault) -> bool:
        """Whether a row still belongs into this request."""
        if isinstance(line, Fault):
            return len(self.faults) < MAX_SIGNALS
        return not self.lines or (len(self.lines) < MAX_SIGNALS and self.size + len(line) <= MAX_BYTES)


class BulkTotals:
    """The results of the requests so far, with the numbers of rows of the whole table."""

    def __init__(self) -> None:
        self.accepted = 0
        self.not_read = 0
        self._shown: list[Fault] = []
        self._rejected = 0
        self._warnings: dict[str, None] = {}

    def add(self, answer: Json, batch: Batch) -> None:
        """Add the answer to a request."""
        rejected = cast("list[Json]", answer["rejected"])
        found = [Fault(batch.rows[cast("int", each["line"]) - 1], str(each["message"])) for each in rejected]
        self.add_faults(batch)
        self._shown = [*self._shown, *found]
        self._rejected += len(rejected) + cast("int", answer["more_rejected"])
        self.accepted += cast("int", answer["accepted"])
        self.not_read += cast("int", answer.get("not_read", 0))
        self._warnings |= dict.fromkeys(cast("list[str]", answer["warnings"]))

    def add_faults(self, batch: Batch) -> None:
        """Add the rows that were refused here."""
        self._shown += batch.faults
        self._rejected += len(batch.faults)

    def to_answer(self) -> Json:
        """Return the results in the form of one answer."""
        shown = sorted(self._shown)[:MAX_SHOWN]
        return {
            "accepted": self.accepted,
            "rejected": [{"line": each.row, "message": each.message} for each in shown],
            "more_rejected": self._rejected - len(shown),
            "not_read": self.not_read,
            "warnings": [*self._warnings],
        }


def record_signals(client: ServiceClient, signals: object, *, backfill: bool, tz: object, strict: bool) -> BulkHandle:
    """Record signals, some thousands in a request.

    Raises:
        ValidationFailed: they are no table, or with `strict` a row is no signal.
    """
    zone = read_zone(tz)
    table = read_rows(signals, name="signals", columns=COLUMNS)
    encoded: Iterable[bytes | Fault] = _encode_rows(table.rows, zone)
    if strict:
        encoded = _require_signals(encoded)
    totals = BulkTotals()
    with show_progress("Recording signals", table.total) as bar:
        for batch in _divide(encoded):
            content = b"\n".join(batch.lines)
            key = _identify_backfill(content, first=batch.rows[0] - 1) if backfill and batch.rows else str(uuid4())
            totals.add(_send(client, content, key, backfill), batch)
            bar.advance(batch.count)
    return BulkHandle.parse(client, totals.to_answer())


def _send(client: ServiceClient, content: bytes, key: str, backfill: bool) -> Json:
    answer = client.send(
        "POST",
        "/v1/risk/signals/bulk",
        content=content,
        headers={"Content-Type": NDJSON},
        parameters={"backfill": True} if backfill else None,
        key=key,
    )
    return cast("Json", json.loads(answer.content))


def _identify_backfill(content: bytes, *, first: int) -> str:
    """Return the key of a backfill's request: the SHA-256 of its lines and of the number of the first."""
    return hashlib.sha256(b"backfill\n%d\n%s" % (first, content)).hexdigest()


def _encode_rows(rows: Iterable[object], zone: tzinfo | None) -> Iterator[bytes | Fault]:
    for number, row in enumerate(rows, 1):
        try:
            yield _encode_row(row, zone)
        except ValidationFailed as error:
            yield Fault(number, error.message)


def _encode_row(row: object, zone: tzinfo | None) -> bytes:
    members = arguments.read_mapping(row, name="The row")
    if "occurred_at" in members:
        members["occurred_at"] = add_zone(members["occurred_at"], zone, name="occurred_at")
    return encode_body(members)


def _require_signals(rows: Iterable[bytes | Fault]) -> list[bytes | Fault]:
    """Return the rows, if each is a signal.

    Raises:
        ValidationFailed: some are not.
    """
    lines = list(rows)
    judged = (line if isinstance(line, Fault) else _find_fault(number, line) for number, line in enumerate(lines, 1))
    faults = [each for each in judged if each is not None]
    if not faults:
        return lines
    fields = [FieldError(f"/{row - 1}", "no_signal", message) for row, message in faults[:MAX_REPORTED_ERRORS]]
    first = f"Row {faults[0].row}: {faults[0].message}"
    message = f"{len(faults):,} of {len(lines):,} rows are no signals, so none was sent. {first}"
    raise ValidationFailed(message, fields, more=len(faults) - len(fields))


def _find_fault(number: int, line: bytes) -> Fault | None:
    """Return what the service would reject a row for; only it knows whether a time is in its future."""
    try:
        signal = validate_body(SignalIn, line, json.loads(line))
        to_percent(signal.score, ScoreScale(signal.score_scale))
        Entity.of(signal.entity_type, signal.entity_id)
    except ValidationFailed as error:
        return Fault(number, describe_fault(error))
    return None


def _divide(rows: Iterable[bytes | Fault]) -> Iterator[Batch]:
    """Divide rows into requests; without any row there is one empty request."""
    batch = Batch()
    for number, row in enumerate(rows, 1):
        if not batch.has_room(row):
            yield batch
            batch = Batch()
        batch.add(number, row)
    yield batch
