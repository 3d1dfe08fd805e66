"""Many signals in requests of bounded size, with the results of one.

A backfill's requests have keys that follow from what they hold, so a program that is killed and started again repeats
them: the service answers those it knows at once, continues within the one that broke off, and records no signal twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import cast
from uuid import uuid4

from attestlab.client import arguments
from attestlab.client.handles.risk import BulkHandle
from attestlab.client.json_values import encode_body
from attestlab.client.progress import show_progress
from attestlab.client.service_client import Json, ServiceClient

NDJSON = "application/x-ndjson"
MAX_SIGNALS = 10_000  # of one request
MAX_BYTES = 8 * 1024 * 1024  # of one request; the service takes 50 MiB
MAX_SHOWN = 100  # rejected lines; the others are counted, as the service does
MAX_REJECTED = 1_000  # lines after which the rest is not sent


class BulkTotals:
    """The results of the requests so far, with line numbers of the whole list."""

    def __init__(self) -> None:
        self.accepted = 0
        self.lines = 0
        self.stopped_at_line: int | None = None
        self._shown: list[Mapping[str, object]] = []
        self._rejected = 0
        self._warnings: dict[str, None] = {}

    def add(self, answer: Json, lines: int) -> None:
        """Add the answer to a request of so many lines."""
        rejected = cast("list[Json]", answer["rejected"])
        self._shown += [{**each, "line": cast("int", each["line"]) + self.lines} for each in rejected]
        self._rejected += len(rejected) + cast("int", answer["more_rejected"])
        self.accepted += cast("int", answer["accepted"])
        self._warnings |= dict.fromkeys(cast("list[str]", answer["warnings"]))
        stopped = cast("int | None", answer["stopped_at_line"])
        if stopped is not None:
            self.stopped_at_line = self.lines + stopped
        elif self._rejected >= MAX_REJECTED:
            self.stopped_at_line = self.lines + lines
        self.lines += lines

    def to_answer(self) -> Json:
        """Return the results in the form of one answer."""
        return {
            "accepted": self.accepted,
            "rejected": self._shown[:MAX_SHOWN],
            "more_rejected": self._rejected - len(self._shown[:MAX_SHOWN]),
            "stopped_at_line": self.stopped_at_line,
            "warnings": [*self._warnings],
        }


def record_signals(client: ServiceClient, signals: Iterable[Mapping[str, object]], *, backfill: bool) -> BulkHandle:
    """Record signals, some thousands in a request.

    Raises:
        ValidationFailed: they are no dicts. Those of the requests before are recorded then; a note counts them.
    """
    total = len(signals) if isinstance(signals, Sized) else None
    totals = BulkTotals()
    with show_progress("Recording signals", total) as bar:
        for lines in _divide(arguments.iterate(signals, name="signals", of="dicts")):
            content = b"\n".join(lines)
            key = _identify_backfill(content, first=totals.lines) if backfill else str(uuid4())
            totals.add(_send(client, content, key, backfill), len(lines))
            bar.advance(len(lines))
            if totals.stopped_at_line is not None:
                break
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


def _divide(signals: Iterator[object]) -> Iterator[list[bytes]]:
    """Divide signals into the lines of requests; without any signal there is one empty request."""
    lines: list[bytes] = []
    size = 0
    for number, signal in enumerate(signals):
        line = encode_body(arguments.read_mapping(signal, name=f"signals[{number}]"))
        if lines and (len(lines) == MAX_SIGNALS or size + len(line) > MAX_BYTES):
            yield lines
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    yield lines
