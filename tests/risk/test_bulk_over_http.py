"""Signals in NDJSON over real HTTP, on either database."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import orjson
import pytest

from attestlab.core.clock import FixedClock
from attestlab.core.encoding import format_time
from attestlab.core.limits.background_turns import PIECE_S
from attestlab.risk.events import SignalCreated, SignalEscalated
from attestlab.risk.signals import ndjson
from attestlab.risk.signals.bulk import (
    ESCALATION_WORK,
    LINKING_WORK,
    MAX_WORK_PER_S,
    MIN_WORK_MEASURED,
    MIN_WORK_PER_S,
    WORK_PER_S,
    BulkOptions,
    WritePace,
    identify_request,
    measure_work,
)
from attestlab.risk.signals.bulk_requests import BULK_LIMIT_BYTES
from attestlab.risk.signals.ndjson import read_signal_lines
from support.bulk_pieces import count_pieces
from support.orgs import TenantClients
from support.outbox import read_events_of_type
from support.risk import SIGNAL, get, list_ids

pytestmark = pytest.mark.one_world

NDJSON = {"Content-Type": "application/x-ndjson"}


def lines(*documents: dict[str, Any]) -> str:
    return "".join(json.dumps(document) + "\n" for document in documents)


def numbered(count: int, **changes: Any) -> list[dict[str, Any]]:
    return [{**SIGNAL, "entity_id": f"user-{number}", **changes} for number in range(count)]


def send(key: httpx.Client, text: str, query: str = "", **headers: str) -> Any:
    answer = key.post(f"/v1/risk/signals/bulk{query}", content=text, headers={**NDJSON, **headers})
    assert answer.status_code == 200, answer.text
    return answer.json()


def count_events(clients: TenantClients) -> int:
    return len(read_events_of_type(clients.lab, "risk.signal.created"))


@pytest.mark.both_engines
def test_each_line_is_recorded_published_and_escalated(key: httpx.Client, tenant_clients: TenantClients) -> None:
    before = count_events(tenant_clients)
    answer = send(key, lines(*numbered(3), {**SIGNAL, "score": 99}) + "\n")

    counts = {"accepted": 4, "rejected": [], "more_rejected": 0, "not_read": 0}
    assert answer == {**counts, "stopped_at_line": None, "warnings": []}
    assert count_events(tenant_clients) == before + 4
    (case,) = get(key, "cases")["items"]
    newest = get(key, "signals")["items"][0]
    assert (newest["score"], newest["case_id"], newest["details"]) == (99.0, case["id"], SIGNAL["details"])


def test_events_have_the_facts_that_their_classes_declare(key: httpx.Client, tenant_clients: TenantClients) -> None:
    send(key, lines({**SIGNAL, "score": 99.9}))
    newest = get(key, "signals")["items"][0]

    facts = {
        **{"signal_id": newest["id"], "signal_source": newest["source"], "signal_type": newest["signal_type"]},
        **{"risk_score": 99, "subject_type": newest["entity_type"], "subject_id": newest["entity_id"]},
    }
    assert read_events_of_type(tenant_clients.lab, "risk.signal.created")[-1] == facts
    assert facts.keys() == {field.name for field in fields(SignalCreated)}
    (escalated,) = read_events_of_type(tenant_clients.lab, "risk.signal.escalated")[-1:]
    assert escalated == {**facts, "case_id": newest["case_id"]}
    assert escalated.keys() == {field.name for field in fields(SignalEscalated)}


@pytest.mark.both_engines
def test_a_slice_wakes_the_dispatcher_of_webhooks_and_a_backfill_does_not(tenant_clients: TenantClients) -> None:
    lab, woken = tenant_clients.lab, []
    caller = lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    signals = read_signal_lines(lines(SIGNAL).encode(), now=lab.clock.now()).parse_batch() or []
    lab.webhook_deliveries.dispatcher.on_published.append(lambda: woken.append(True))

    lab.risk.bulk.record_slice(signals, 1, BulkOptions(is_backfill=True), caller)
    assert woken == []
    lab.risk.bulk.record_slice(signals, 1, BulkOptions(), caller)
    assert woken == [True]


def test_rejected_line_is_named_and_the_others_are_recorded(key: httpx.Client) -> None:
    text = (
        lines(SIGNAL)
        + "not json\n\n"
        + lines({**SIGNAL, "score": 101}, {**SIGNAL, "colour": "red"}, {"source": "login"})
        + '{"source": "login", "source": "login", "signal_type": "a", "score": 1, "entity_type": "user", '
        + '"entity_id": "ada"}\n'
        + lines(SIGNAL).rstrip()
    )

    answer = send(key, text)

    assert answer["accepted"] == 2
    assert [each["line"] for each in answer["rejected"]] == [2, 4, 5, 6, 7]
    assert "/score" in answer["rejected"][1]["message"]
    assert "Duplicate" in answer["rejected"][4]["message"]
    assert len(list_ids(key)) == 2


def test_backfill_publishes_nothing_and_escalates_nothing(key: httpx.Client, tenant_clients: TenantClients) -> None:
    before = count_events(tenant_clients)

    assert send(key, lines(*numbered(2, score=100)), "?backfill=true")["accepted"] == 2
    assert (count_events(tenant_clients), list_ids(key, "cases"), len(list_ids(key))) == (before, [], 2)


@pytest.mark.both_engines
def test_interrupted_request_continues_with_the_lines_that_are_missing(
    key: httpx.Client, tenant_clients: TenantClients
) -> None:
    text = lines(*numbered(5))
    caller = tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    bulk = tenant_clients.lab.risk.bulk
    options = BulkOptions(progress_id=identify_request(caller, "once", text.encode()))
    signals = bulk.read_lines(text.encode(), began_at=bulk.begin(options).began_at, caller=caller).parse_batch() or []
    bulk.record_slice(signals[:2], 2, options, caller)

    first, again = (send(key, text, **{"Idempotency-Key": "once"}) for _ in "12")

    assert first == again
    assert first["accepted"] == 5
    entities = [each["entity_id"] for each in get(key, "signals")["items"]]
    assert entities == [f"user-{number}" for number in reversed(range(5))]


@pytest.mark.both_engines
def test_request_that_two_servers_receive_records_each_signal_once(
    key: httpx.Client, tenant_clients: TenantClients
) -> None:
    """As if a proxy sent it again, to another server, while the first was still recording it in slices."""
    text = lines(*numbered(5)).encode()
    caller = tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    bulk = tenant_clients.lab.risk.bulk
    options = BulkOptions(progress_id=identify_request(caller, "twice", text))
    signals = bulk.read_lines(text, began_at=bulk.begin(options).began_at, caller=caller).parse_batch() or []

    for first, done in ((0, 3), (0, 2), (2, 5), (3, 5), (0, 2)):
        bulk.record_slice(signals[first:done], done, options, caller)

    entities = [each["entity_id"] for each in get(key, "signals")["items"]]
    assert entities == [f"user-{number}" for number in reversed(range(5))]
    assert bulk.begin(options).recorded == 5


@pytest.mark.both_engines
def test_request_that_continues_accepts_the_lines_that_it_accepted_at_first(
    key: httpx.Client, tenant_clients: TenantClients, clock: FixedClock
) -> None:
    """A line from the future was rejected, and is no signal either when its time has come."""
    lab = tenant_clients.lab
    future = format_time(clock.now() + timedelta(minutes=2))
    text = lines({**SIGNAL, "entity_id": "early", "occurred_at": future}, *numbered(3))
    caller = lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    options = BulkOptions(progress_id=identify_request(caller, "future", text.encode()))
    begun = lab.risk.bulk.begin(options)
    parsed = lab.risk.bulk.read_lines(text.encode(), began_at=begun.began_at, caller=caller).parse_batch() or []
    lab.risk.bulk.record_slice(parsed[:2], 2, options, caller)
    clock.advance(timedelta(hours=1))

    answer = send(key, text, **{"Idempotency-Key": "future"})

    assert (answer["accepted"], [each["line"] for each in answer["rejected"]]) == (3, [1])
    assert [each["entity_id"] for each in get(key, "signals")["items"]] == ["user-2", "user-1", "user-0"]


def test_every_line_is_read_and_the_first_thousand_rejected_ones_are_listed(key: httpx.Client) -> None:
    answer = send(key, lines(SIGNAL) + "x\n" * 2_500 + lines(SIGNAL))

    assert (answer["accepted"], len(answer["rejected"]), answer["more_rejected"]) == (2, 1_000, 1_500)
    assert ([each["line"] for each in answer["rejected"][:2]], answer["not_read"]) == ([2, 3], 0)


def test_more_lines_than_signals_fit_into_a_request_are_refused_before_one_is_recorded(
    key: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    smallest = {"source": "s", "signal_type": "t", "score": 1, "entity_type": "ip", "entity_id": "::"}
    assert BULK_LIMIT_BYTES / len(orjson.dumps(smallest)) < ndjson.MAX_LINES
    monkeypatch.setattr(ndjson, "MAX_LINES", 3)

    refused = key.post("/v1/risk/signals/bulk", content=lines(SIGNAL) + "\n" * 3, headers=NDJSON)

    assert (refused.status_code, refused.json()["message"]) == (
        400,
        "A request has at most 3 lines, and this one has 4. Send them in several.",
    )
    assert get(key, "signals")["items"] == []


@pytest.mark.both_engines
def test_many_signals_are_recorded_in_batches_and_slices(key: httpx.Client) -> None:
    answer = send(key, lines(*numbered(ndjson.BATCH_LINES + 700)), "?backfill=true")

    assert answer["accepted"] == ndjson.BATCH_LINES + 700
    newest = get(key, "signals", limit=1)["items"][0]
    assert newest["entity_id"] == f"user-{ndjson.BATCH_LINES + 699}"


@pytest.mark.parametrize(
    ("changes", "work"),
    [
        ({}, 1),
        ({"details": {"device_id": "phone"}}, LINKING_WORK),
        ({"score": 99}, 1 + ESCALATION_WORK),
    ],
)
def test_a_write_takes_fewer_signals_that_are_more_work(changes: dict[str, Any], work: int) -> None:
    text = lines(*numbered(600, **{"score": 1, **changes})).encode()
    signals = read_signal_lines(text, now=datetime.now(UTC)).parse_batch() or []
    pace = WritePace()

    assert pace.fit([*map(measure_work, signals)], 500 / WORK_PER_S) == 500 // work
    assert pace.fit([*map(measure_work, signals)], 0) == 1
    assert pace.fit([*map(measure_work, signals[:7])], 500 / WORK_PER_S) == 7


def test_writes_take_as_many_signals_as_earlier_ones_of_their_length() -> None:
    text = lines(*numbered(1_200, score=1)).encode()
    signals = read_signal_lines(text, now=datetime.now(UTC)).parse_batch() or []
    pace = WritePace()

    def learn(work: int, took_s: float, *, times: int = 1) -> int:
        for _ in range(times):
            pace.learn(work, took_s)
        return pace.fit([*map(measure_work, signals)], 0.02)

    assert learn(500, 0.01, times=20) == pytest.approx(1_000, rel=0.01)
    assert learn(500, 10.0) == pytest.approx(770, rel=0.01), "a machine that stood still once is no slow one"
    assert learn(20, 10.0, times=20) == pytest.approx(770, rel=0.01), "little work tells nothing about more"
    assert learn(500, 0.05, times=20) == pytest.approx(200, rel=0.01)


def test_the_slowest_pace_is_no_end_of_learning() -> None:
    """Its pieces were too short to be measured, so that a server that was slow once stayed so."""
    text = lines(*numbered(600, details={"device_id": "phone"}, score=99)).encode()
    signals = read_signal_lines(text, now=datetime.now(UTC)).parse_batch() or []
    pace = WritePace()
    for took_s in (10.0, PIECE_S / 10):
        for _ in range(30):
            taken = signals[: pace.fit([*map(measure_work, signals)], PIECE_S)]
            pace.learn(sum(map(measure_work, taken)), took_s)

    assert pace.work_per_s > WORK_PER_S


@pytest.mark.both_engines
def test_the_service_learns_how_long_its_writes_take(
    key: httpx.Client, tenant_clients: TenantClients, monkeypatch: pytest.MonkeyPatch
) -> None:
    pace = WritePace()
    monkeypatch.setattr(tenant_clients.lab.risk.bulk, "pace", pace)
    count_pieces(monkeypatch, time_s=60)

    send(key, lines(*numbered(MIN_WORK_MEASURED)), "?backfill=true")

    assert pace.work_per_s != WORK_PER_S
    assert MIN_WORK_PER_S <= pace.work_per_s <= MAX_WORK_PER_S


@pytest.mark.parametrize(
    ("text", "content_type", "status"),
    [
        (lines(SIGNAL), "application/json", 415),
        ("x" * (BULK_LIMIT_BYTES + 1), NDJSON["Content-Type"], 413),
    ],
)
def test_unacceptable_body_is_rejected(key: httpx.Client, text: str, content_type: str, status: int) -> None:
    answer = key.post("/v1/risk/signals/bulk", content=text, headers={"Content-Type": content_type})

    assert answer.status_code == status, answer.text
    assert list_ids(key) == []


def test_lines_are_read_and_written_in_pieces_of_background_work(
    key: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write is a separate piece, of as many signals as the piece has time for."""
    pieces = count_pieces(monkeypatch, time_s=0)
    answer = send(key, lines(*numbered(5)), "?backfill=true")

    assert (answer["accepted"], len(pieces)) == (5, 1 + 5 + 1), (
        "the lines are read, written one by one, and at their end"
    )
    assert [each["entity_id"] for each in get(key, "signals")["items"]] == [f"user-{n}" for n in reversed(range(5))]
