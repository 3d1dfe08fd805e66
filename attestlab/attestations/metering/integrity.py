"""Integrity check of metering: tallies and days of usage agree with the events."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, select

from attestlab.attestations.events import AttestationCreated, VerificationCompleted, VerificationFailed
from attestlab.attestations.metering.service import TALLY_INTERVAL, TallyKey, tallies
from attestlab.attestations.tables import VerificationTallyRecord
from attestlab.core.db.tables import iterate, table_of
from attestlab.core.encoding import format_time, parse_time
from attestlab.core.records.outbox import OutboxEvent
from attestlab.orgs import usage

ROWS_PER_PAGE = 500
UsageKey = tuple[UUID, str, date]  # tenant, metric, day

_outbox = table_of(OutboxEvent)
_MINTS = (AttestationCreated.type, "receipt.created")  # a receipt counts as an attestation
_METERED = select(_outbox.c.tenant_id, _outbox.c.type, _outbox.c.created_at, _outbox.c.body).where(
    _outbox.c.type.in_([*_MINTS, VerificationCompleted.type, VerificationFailed.type])
)


class MeteredEvent(NamedTuple):
    """An event of a mint or a verification; `body` is its envelope as JSON."""

    tenant_id: UUID
    type: str
    created_at: datetime
    body: bytes


def find_inconsistencies(connection: Connection, *, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield tallies and days of usage that differ from the sum of the events, as (place, problem).

    A tally whose minute is over may be missing: it is deleted when an event with `count` reports its rest.
    """
    published, used, newest = _count_published(connection)
    for tally in iterate(connection.execute(select(*tallies.c)), VerificationTallyRecord):
        used[tally.tenant_id, usage.VERIFICATIONS, tally.minute.date()] += tally.unpublished
        events = published.pop((tally.issuer_id, tally.minute, tally.type), 0)
        if tally.unpublished < 0 or tally.counted != events + tally.unpublished:
            yield f"tally {tally.issuer_id} {tally.minute} {tally.type}", "its count differs from the number of events"
    missing = [tally_key for tally_key in published if tally_key[1] + TALLY_INTERVAL > now]
    if missing and newest is not None and newest > now:
        yield "clock", _describe_clock_behind(newest, now)
        missing = []
    for issuer_id, minute, event_type in missing:
        yield f"tally {issuer_id} {minute} {event_type}", "the tally is missing, or this clock is behind the server's"
    for tenant_id, metric, day, counted in usage.list_days(connection):
        if used.pop((tenant_id, metric, day), 0) != counted:
            yield f"usage {tenant_id} {metric} {day}", "the usage differs from the sum of the events"
    for tenant_id, metric, day in used:
        yield f"usage {tenant_id} {metric} {day}", "the usage is missing"


def _describe_clock_behind(newest: datetime, now: datetime) -> str:
    return (
        f"the clock is at {format_time(now)}, but the newest event is of {format_time(newest)}, so open and closed "
        "tallies cannot be distinguished; correct the clock and check again"
    )


def _count_published(connection: Connection) -> tuple[Counter[TallyKey], Counter[UsageKey], datetime | None]:
    """Count from the events: single verifications by tally, usage by tenant, metric and day; and the newest time."""
    newest: datetime | None = None
    single: Counter[TallyKey] = Counter()
    used: Counter[UsageKey] = Counter()
    for event in iterate(connection.execution_options(yield_per=ROWS_PER_PAGE).execute(_METERED), MeteredEvent):
        newest = max(newest or event.created_at, event.created_at)
        if event.type in _MINTS:
            used[event.tenant_id, usage.ATTESTATIONS, event.created_at.date()] += 1
            continue
        data = json.loads(event.body)["data"]
        if "minute" in data:
            used[event.tenant_id, usage.VERIFICATIONS, parse_time(data["minute"]).date()] += data["count"]
        else:
            used[event.tenant_id, usage.VERIFICATIONS, event.created_at.date()] += 1
            single[UUID(data["issuer_id"]), event.created_at.replace(second=0, microsecond=0), event.type] += 1
    return single, used, newest
