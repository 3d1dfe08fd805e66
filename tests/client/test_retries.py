"""What the client does when a service fails: it repeats what is safe to repeat, and reports the rest."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from uuid import UUID

import pyarrow as pa
import pytest

from attestlab.client.analysis.arrow_reading import ARROW, END_OF_STREAM
from attestlab.client.collections.attestations import MAX_BATCH
from attestlab.client.collections.bulk_signals import MAX_SIGNALS
from attestlab.client.connecting import connect
from attestlab.client.lab import Lab
from attestlab.client.pacing import find_pause_s
from attestlab.client.service_client import MAX_ATTEMPTS, MAX_RETRY_WAIT_S
from attestlab.core.errors import (
    AttestLabError,
    AuthInvalid,
    IdempotencyKeyReused,
    NotFound,
    RateLimited,
    ServiceFailed,
    Unavailable,
)
from support.scripted_server import Answer, ScriptedServer, error, serve_script

HELLO = Answer(200)  # the first request, with which `connect` makes sure that a service answers
RESOLVED = b"""{"id": "0193b5a0-7f3c-7abc-8def-0123456789ab",
 "entity_type": "user", "entity_id": "u",
 "status": "resolved", "signal_count": 1, "max_score": 90, "opened_at": "2026-11-02T12:00:00Z",
 "outcome": "fraud", "note": null, "resolved_at": null, "resolved_by": null, "label_at": null,
 "assignee_id": null, "why": "A signal scored 90.", "comment_count": 0, "comments": []}"""
CASE = "0193b5a0-7f3c-7abc-8def-0123456789ab"


@contextmanager
def lab_of(*answers: Answer) -> Iterator[tuple[Lab, ScriptedServer, list[float]]]:
    """A lab on a server with this script; the waits between its attempts are listed and not waited for."""
    waits: list[float] = []
    with serve_script(HELLO, *answers) as server, connect(server.url, "al_live_x", sleep=waits.append) as lab:
        server.received.clear()
        yield lab, server, waits


@pytest.mark.parametrize(
    "failure",
    [
        Answer(None),
        Answer(502, b"<html>bad gateway", {"Content-Type": "text/html"}),
        error(503, "SERVICE_UNAVAILABLE"),
        Answer(504, b"", {"Content-Type": "text/plain"}),
        error(429, "RATE_LIMIT_EXCEEDED"),
        error(409, "CONFLICT", reason="in_flight"),
    ],
    ids=lambda answer: str(answer.status),
)
def test_a_write_is_repeated_with_the_same_idempotency_key(failure: Answer) -> None:
    with lab_of(failure, failure, Answer(200, RESOLVED)) as (lab, server, waits):
        case = lab.cases.resolve(CASE, "fraud")

    keys = {each.headers["Idempotency-Key"] for each in server.received}
    assert case.outcome == "fraud"
    assert (len(server.received), len(keys), len(waits)) == (3, 1, 2)


def test_two_writes_have_different_idempotency_keys() -> None:
    with lab_of(Answer(200, RESOLVED)) as (lab, server, _):
        lab.cases.resolve(CASE, "fraud")
        lab.cases.resolve(CASE, "fraud")

    assert len({each.headers["Idempotency-Key"] for each in server.received}) == 2


def test_verification_is_a_read_without_an_idempotency_key() -> None:
    with (
        lab_of(error(503, "SERVICE_UNAVAILABLE"), error(404, "NOT_FOUND")) as (lab, server, _),
        pytest.raises(NotFound),
    ):
        lab.verify(CASE)

    assert [each.headers.get("Idempotency-Key") for each in server.received] == [None, None]


def test_waits_double_and_end_after_four_attempts() -> None:
    with (
        lab_of(error(503, "SERVICE_UNAVAILABLE")) as (lab, server, waits),
        pytest.raises(Unavailable, match="SERVICE_UNAVAILABLE happened"),
    ):
        lab.me()

    assert len(server.received) == MAX_ATTEMPTS
    assert waits == [0.2, 0.4, 0.8]


def test_the_wait_is_that_of_retry_after() -> None:
    late = Answer(429, error(429, "RATE_LIMIT_EXCEEDED").body[:-1] + b', "retry_after_ms": 7000}')
    with lab_of(late, Answer(200, RESOLVED)) as (lab, _, waits):
        lab.cases.resolve(CASE, "fraud")

    assert waits == [7.0]


@pytest.mark.parametrize(("asked", "wait_s"), [("3", 3.0), ("1.5", 2.0), ("Tue, 24 Nov 2020 12:00:00 GMT", 0.2)])
def test_the_wait_that_a_proxy_asks_for_counts_too(asked: str, wait_s: float) -> None:
    gateway = Answer(503, b"busy", {"Content-Type": "text/plain", "Retry-After": asked})
    with lab_of(gateway, Answer(200, RESOLVED)) as (lab, _, waits):
        lab.cases.resolve(CASE, "fraud")

    assert waits == [wait_s]


@pytest.mark.parametrize(
    "asked",
    ["3600.0", "9" * 5000, format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)],
    ids=["fraction", "5000 digits", "date"],
)
def test_a_proxy_that_asks_for_too_long_a_wait_is_reported_at_once(asked: str) -> None:
    gateway = Answer(503, b"busy", {"Content-Type": "text/plain", "Retry-After": asked})
    with lab_of(gateway) as (lab, server, waits), pytest.raises(Unavailable) as caught:
        lab.me()

    assert (len(server.received), waits) == (1, [])
    assert MAX_RETRY_WAIT_S < (caught.value.retry_after_s or 0) <= 86_400


def test_a_wait_that_is_too_long_is_reported_at_once() -> None:
    late_ms = int(MAX_RETRY_WAIT_S * 1000) + 1
    body = error(429, "RATE_LIMIT_EXCEEDED").body[:-1] + b', "retry_after_ms": %d}' % late_ms
    with lab_of(Answer(429, body)) as (lab, server, waits), pytest.raises(RateLimited) as caught:
        lab.me()

    assert (len(server.received), waits, caught.value.retry_after_s) == (1, [], late_ms / 1000)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (error(401, "AUTH_INVALID"), AuthInvalid),
        (error(422, "CONFLICT", reason="idempotency_key_reused"), IdempotencyKeyReused),
        (error(500, "INTERNAL_ERROR"), ServiceFailed),
        (error(418, "TEAPOT"), ServiceFailed),
        (Answer(404, b"<h1>Not found", {"Content-Type": "text/html"}), ServiceFailed),
        (Answer(200, b"not json"), ServiceFailed),
        (Answer(200, b"[1]"), ServiceFailed),
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else str(each.status),
)
def test_another_failure_is_reported_without_a_retry(answer: Answer, expected: type[AttestLabError]) -> None:
    with lab_of(answer) as (lab, server, _), pytest.raises(expected):
        lab.me()

    assert len(server.received) == 1


def test_a_patch_that_broke_off_is_not_repeated() -> None:
    with lab_of(Answer(None)) as (lab, server, _), pytest.raises(Unavailable, match="broke the connection off"):
        lab._client.patch("/v1/issuers/x", {})

    assert len(server.received) == 1


def test_an_error_has_the_services_message_details_and_request_id() -> None:
    with (
        lab_of(error(409, "CONFLICT", status="REVOKED", request_id="r-1")) as (lab, _, _),
        pytest.raises(AttestLabError) as caught,
    ):
        lab.me()

    assert (caught.value.message, caught.value.request_id) == ("CONFLICT happened.", "r-1")
    assert caught.value.details["status"] == "REVOKED"


def test_an_unknown_code_stays_readable() -> None:
    with lab_of(error(418, "TEAPOT")) as (lab, _, _), pytest.raises(ServiceFailed) as caught:
        lab.me()

    assert caught.value.details["code"] == "TEAPOT"


def test_a_redirect_to_another_service_is_refused_and_gets_no_key() -> None:
    with serve_script(Answer(200)) as other:
        onward = Answer(307, b"", {"Location": f"{other.url}/v1/me"})
        with lab_of(onward) as (lab, _, _), pytest.raises(ServiceFailed, match="another service"):
            lab.me()

    assert other.received == []


def test_a_redirect_within_the_service_is_followed() -> None:
    onward = Answer(307, b"", {"Location": "/v1/elsewhere"})
    with lab_of(onward, Answer(200, RESOLVED)) as (lab, server, _):
        lab.cases.resolve(CASE, "fraud")

    assert [each.path for each in server.received][1:] == ["/v1/elsewhere"]


def test_an_answer_of_another_version_is_reported_by_its_member() -> None:
    with (
        lab_of(Answer(200, b'{"id": "x"}')) as (lab, _, _),
        pytest.raises(ServiceFailed, match=r"another Me than this version reads \(id"),
    ):
        lab.me()


def test_members_that_this_version_does_not_know_are_left_out() -> None:
    body = RESOLVED[:-1] + b', "later": 1}'
    with lab_of(Answer(200, body)) as (lab, _, _):
        assert lab.cases.resolve(CASE, "fraud").outcome == "fraud"


@pytest.mark.parametrize("headers", [{}, {"Date": "soon"}], ids=["none", "no date"])
def test_an_answer_without_its_time_is_a_failure(headers: dict[str, str]) -> None:
    with lab_of(Answer(200, headers=headers)) as (lab, _, _), pytest.raises(ServiceFailed, match="Date"):
        lab.now()


def test_the_time_of_a_service_is_that_of_its_answer() -> None:
    with lab_of(Answer(200, headers={"Date": "Mon, 02 Nov 2026 12:00:00 GMT"})) as (lab, server, _):
        assert lab.now() == datetime(2026, 11, 2, 12, tzinfo=UTC)
    assert [each.path for each in server.received] == ["/healthz"]


def test_rows_without_the_mark_of_their_end_are_broken_off() -> None:
    """Arrow takes a stream that ends between two batches for a whole one; a proxy that lost the service ends it so."""
    sink, rows = io.BytesIO(), pa.table({"n": [1, 2, 3]})
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    whole = sink.getvalue()
    part = whole.removesuffix(END_OF_STREAM)
    headers = {"Content-Type": ARROW}

    with lab_of(Answer(200, whole, headers), Answer(200, part, headers)) as (lab, _, _):
        assert lab.sql("select 1").arrow() == rows
        with pytest.raises(Unavailable, match="broke the rows off"):
            lab.sql("select 1").arrow()
    assert pa.ipc.open_stream(part).read_all() == rows


def test_minting_that_breaks_off_names_what_is_done_what_may_be_and_what_is_not() -> None:
    """A repetition would mint the first hundred again."""
    refused = {"error": {"code": "CONFLICT", "message": "no", "http_status": 409, "details": {}}}
    done = json.dumps({"items": [refused] * MAX_BATCH}).encode()
    item = {"issuer": UUID(CASE), "kid": "k", "alg": "Ed25519", "schema": "degree", "claims": {}}
    items = [item, {}, *[item] * (2 * MAX_BATCH + 4)]

    with lab_of(Answer(200, done), error(503, "SERVICE_UNAVAILABLE")) as (lab, _, _), pytest.raises(Unavailable) as one:
        lab.attestations.mint_many(items)
    with lab_of(error(401, "AUTH_INVALID")) as (lab, _, _), pytest.raises(AuthInvalid) as none:
        lab.attestations.mint_many(items)

    details = one.value.details
    assert (details["done"], details["under_way"], details["not_sent"]) == (101, 100, 5)
    assert repr(details["results"]) == "MintResults(0 minted, 101 rejected)"
    assert "Of 206 items 101 are done (`error.details['results']`), 100 were under way" in str(one.value)
    assert "results" not in none.value.details


@pytest.mark.parametrize(("backfill", "advice"), [(True, "records none twice"), (False, "Look for row 10,001")])
def test_signals_that_break_off_name_what_is_recorded(backfill: bool, advice: str) -> None:
    counts = {"accepted": MAX_SIGNALS - 1, "rejected": [{"line": 7, "message": "no"}], "more_rejected": 0}
    done = json.dumps({**counts, "not_read": 0, "stopped_at_line": None, "warnings": []}).encode()
    signal = {"source": "s", "signal_type": "t", "score": 1, "entity_type": "user", "entity_id": "u"}

    with lab_of(Answer(200, done), error(503, "SERVICE_UNAVAILABLE")) as (lab, _, _), pytest.raises(Unavailable) as one:
        lab.signals.add_many([signal] * (MAX_SIGNALS + 5), backfill=backfill)

    assert (one.value.details["rows"], one.value.details["accepted"], one.value.details["rejected"]) == (
        *(MAX_SIGNALS, MAX_SIGNALS - 1, 1),
    )
    assert advice in str(one.value)


USED_UP = {"X-RateLimit-Policy": "60;w=60", "X-RateLimit-Remaining": "0"}


def test_a_client_whose_limit_is_used_up_waits_instead_of_being_refused() -> None:
    """Five refusals in ten minutes block a client, so one that waits politely after each is blocked as well."""
    with lab_of(Answer(200, RESOLVED, USED_UP), Answer(200, RESOLVED), Answer(200, RESOLVED)) as (lab, server, waits):
        for _ in range(3):
            lab.cases.resolve(CASE, outcome="fraud", note="")

    assert len(server.received) == 3
    assert [round(wait) for wait in waits] == [1]


@pytest.mark.parametrize(
    ("policy", "remaining", "pause_s"),
    [
        ("60;w=60", "0", 1.0),
        ("3000;w=60", "0", 0.02),
        ("60;w=60", "1", 0.0),
        ("20;w=86400", "0", 0.0),
        ("0;w=60", "0", 0.0),
        ("many", "0", 0.0),
        ("60;w=60", "", 0.0),
    ],
)
def test_a_pause_is_as_long_as_one_request_takes_to_refill(policy: str, remaining: str, pause_s: float) -> None:
    assert find_pause_s({"x-ratelimit-policy": policy, "x-ratelimit-remaining": remaining}) == pause_s
