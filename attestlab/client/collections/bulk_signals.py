"""Many signals, or logins of the past, in requests of bounded size, with the results of one.

A backfill's requests have keys that follow from what they hold, so a program that is killed and started again repeats
them: the service answers those it knows at once, continues within the one that broke off, and records no row twice.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from time import monotonic, sleep
from typing import TYPE_CHECKING, NamedTuple, cast
from uuid import uuid4

from attestlab.client.collections.signal_rows import (
    AGENT_EVENTS,
    LOGINS,
    SIGNALS,
    BulkKind,
    BulkLine,
    check_line,
    compose_lines,
    open_rows,
    read_zone,
)
from attestlab.client.handles.risk import BulkHandle, LoginBackfillHandle
from attestlab.client.progress import ProgressBar, show_progress
from attestlab.client.service_client import Json, ServiceClient
from attestlab.core.counting import plural
from attestlab.core.errors import AttestLabError, FieldError, ValidationFailed

if TYPE_CHECKING:
    from attestlab.client.collections.signal_rows import BulkRows

NDJSON = "application/x-ndjson"
MAX_SIGNALS = 10_000  # of one request
_LOGINS = "/v1/risk/ato/backfill"
MIN_PAUSE_S, MAX_PAUSE_S = 0.1, 2.0  # between two looks at what is learnt
MAX_BYTES = 8 * 1024 * 1024  # of one request; the service takes 50 MiB


class BulkTotals:
    """The results so far: of the rows that were sent, and of those that cannot be."""

    def __init__(self) -> None:
        self.accepted = 0
        self.not_sent = 0
        self._rejected: list[Mapping[str, object]] = []
        self._more_rejected = 0
        self._warnings: dict[str, None] = {}

    def reject(self, line: BulkLine) -> None:
        """Add a row that cannot be sent."""
        self._rejected.append({"line": line.number, "message": line.fault})

    def add(self, answer: Json, lines: Sequence[BulkLine]) -> None:
        """Add the answer to a request; it counts its own lines from 1."""
        for each in cast("list[Json]", answer["rejected"]):
            row = lines[cast("int", each["line"]) - 1].number
            self._rejected.append({**each, "line": row})
        self._more_rejected += cast("int", answer["more_rejected"])
        self.accepted += cast("int", answer["accepted"])
        self.not_sent += cast("int", answer["not_read"])
        self._warnings |= dict.fromkeys(cast("list[str]", answer["warnings"]))

    def to_answer(self) -> Json:
        """Return the results in the form of one answer."""
        return {
            "accepted": self.accepted,
            "rejected": sorted(self._rejected, key=lambda each: cast("int", each["line"])),
            "more_rejected": self._more_rejected,
            "not_read": self.not_sent,
            "stopped_at_line": None,
            "warnings": [*self._warnings],
        }


class _Door(NamedTuple):
    """Where the service takes rows of a kind, and whether the same rows are the same request."""

    path: str
    kind: BulkKind
    parameters: Mapping[str, object] | None = None
    is_backfill: bool = False


def record_signals(
    client: ServiceClient, signals: BulkRows, *, backfill: bool, strict: bool, tz: str | tzinfo | None
) -> BulkHandle:
    """Record signals, some thousands in a request; a row that is no signal is in the result, and the others are sent.

    Raises:
        ValidationFailed: `signals` are no rows, or with `strict` one of them is no signal; then nothing was sent.
        Unavailable: the service broke off; `details["result"]` has the results of the requests before.
    """
    door = _Door("/v1/risk/signals/bulk", SIGNALS, {"backfill": True} if backfill else None, backfill)
    return BulkHandle.parse(client, _send_all(client, signals, door, strict=strict, tz=tz).to_answer())


def record_agent_events(
    client: ServiceClient, events: BulkRows, *, strict: bool, tz: str | tzinfo | None
) -> BulkHandle:
    """Report events of agents; a row that is no event is in the result, and the others are sent.

    Raises:
        ValidationFailed: `events` are no rows, or with `strict` one of them is no event; then nothing was sent.
        Unavailable: the service broke off; `details["result"]` has the results of the requests before.
    """
    door = _Door("/v1/observability/events/bulk", AGENT_EVENTS)
    return BulkHandle.parse(client, _send_all(client, events, door, strict=strict, tz=tz).to_answer())


def backfill_logins(
    client: ServiceClient, logins: BulkRows, *, strict: bool, tz: str | tzinfo | None
) -> LoginBackfillHandle:
    """Load logins of the past, and wait until the service has learnt all that it has.

    Raises:
        ValidationFailed: `logins` are no rows, or with `strict` one of them is no login; then nothing was sent.
        Unavailable: the service broke off; `details["result"]` has the results of the requests before.
    """
    totals = _send_all(client, logins, _Door(_LOGINS, LOGINS, is_backfill=True), strict=strict, tz=tz)
    return LoginBackfillHandle.parse(client, {**totals.to_answer(), "learnt": _wait_until_learnt(client)})


def _wait_until_learnt(client: ServiceClient) -> int:
    """Wait until the tenant's past is learnt; returns how many logins it has."""
    began_s, first = monotonic(), None
    with show_progress("Learning logins") as bar:
        while True:
            found = cast("dict[str, int]", client.get(_LOGINS))
            learnt, left = found["learnt"], found["accepted"] - found["learnt"]
            bar.advance(max(0, learnt - bar.done))
            if left <= 0:
                return learnt
            first = learnt if first is None else min(first, learnt)
            sleep(_choose_pause(left, done=learnt - first, spent_s=monotonic() - began_s))


def _choose_pause(left: int, *, done: int, spent_s: float) -> float:
    """Return when to look again: when all may be learnt, because the service learns more slowly between requests."""
    expected_s = left * spent_s / done if done else MIN_PAUSE_S
    return min(MAX_PAUSE_S, max(MIN_PAUSE_S, expected_s))


def _send_all(
    client: ServiceClient, given: BulkRows, door: _Door, *, strict: bool, tz: str | tzinfo | None
) -> BulkTotals:
    zone, opened = read_zone(tz), open_rows(given, door.kind)
    lines = compose_lines(opened, zone=zone)
    if strict:
        lines = iter(_require_all(lines, door.kind, now=client.now()))
    totals = BulkTotals()
    with show_progress(f"Sending {door.kind.noun}s", opened.total) as bar:
        for request in _divide(lines, totals):
            try:
                _send(client, request, door, totals)
            except AttestLabError as error:
                _note_result(
                    error, BulkHandle.parse(client, totals.to_answer()), bar.done, is_backfill=door.is_backfill
                )
                raise
            _advance(bar, request)
    return totals


def _note_result(error: AttestLabError, result: BulkHandle, rows: int, *, is_backfill: bool) -> None:
    """Add to an error what was recorded before it; a repetition of the same rows records them again."""
    if not rows:
        return
    again = (
        "Repeat all: a backfill records none twice" if is_backfill else f"Look for row {rows + 1:,} before you continue"
    )
    sentence = (
        f"Of the first {plural(rows, 'row')} {result.accepted:,} are recorded (`error.details['result']`). {again}."
    )
    error.note_done(sentence, rows=rows, accepted=result.accepted, rejected=result.rejected_count)
    error.details["result"] = result


def _advance(bar: ProgressBar, request: Sequence[BulkLine]) -> None:
    """Report the rows up to the last one of a request; those that cannot be sent are among them."""
    if request:
        bar.advance(request[-1].number - bar.done)


def _require_all(lines: Iterable[BulkLine], kind: BulkKind, *, now: datetime) -> list[BulkLine]:
    """Return the lines, if the service would accept each of them; `now` is its time.

    Raises:
        ValidationFailed: it would not; the error names the first rows.
    """
    checked = [check_line(line, kind, now=now) for line in lines]
    bad = [line for line in checked if line.fault is not None]
    if bad:
        faults = [FieldError(f"/{line.number - 1}", "row", str(line.fault)) for line in bad]
        raise ValidationFailed(
            f"{len(bad):,} of {plural(len(checked), 'row')} are no {kind.noun}s, so none was sent. The first is row "
            f"{bad[0].number}: {bad[0].fault} Correct them, or omit strict=True, which sends the others.",
            faults,
        )
    return checked


def _send(client: ServiceClient, request: Sequence[BulkLine], door: _Door, totals: BulkTotals) -> None:
    content = b"\n".join(line.content for line in request)
    first = request[0].number if request else 1
    answer = client.send(
        "POST",
        door.path,
        content=content,
        headers={"Content-Type": NDJSON},
        parameters=door.parameters,
        key=_identify_backfill(content, first=first) if door.is_backfill else str(uuid4()),
    )
    totals.add(cast("Json", json.loads(answer.content)), request)


def _identify_backfill(content: bytes, *, first: int) -> str:
    """Return the key of a backfill's request: the SHA-256 of its lines and of the number of the first."""
    return hashlib.sha256(b"backfill\n%d\n%s" % (first, content)).hexdigest()


def _divide(lines: Iterable[BulkLine], totals: BulkTotals) -> Iterator[list[BulkLine]]:
    """Divide lines into requests; those that cannot be sent go to the totals. Without any there is an empty request."""
    request: list[BulkLine] = []
    size = 0
    for line in lines:
        if line.fault is not None:
            totals.reject(line)
            continue
        if request and (len(request) == MAX_SIGNALS or size + len(line.content) > MAX_BYTES):
            yield request
            request, size = [], 0
        request.append(line)
        size += len(line.content)
    yield request
