"""Signals in NDJSON over real HTTP, on either database."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from attestlab.risk.signals import ndjson
from attestlab.risk.signals.bulk import SliceOptions
from support.orgs import TenantClients
from support.outbox import read_events_of_type
from support.risk import SIGNAL, get, list_ids

pytestmark = [pytest.mark.one_world, pytest.mark.both_engines]

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


def test_each_line_is_recorded_published_and_escalated(key: httpx.Client, tenant_clients: TenantClients) -> None:
    before = count_events(tenant_clients)
    answer = send(key, lines(*numbered(3), {**SIGNAL, "score": 99}) + "\n")

    assert answer == {"accepted": 4, "rejected": [], "more_rejected": 0}
    assert count_events(tenant_clients) == before + 4
    (case,) = get(key, "cases")["items"]
    newest = get(key, "signals")["items"][0]
    assert (newest["score"], newest["case_id"], newest["details"]) == (99.0, case["id"], SIGNAL["details"])


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


def test_interrupted_request_continues_with_the_lines_that_are_missing(
    key: httpx.Client, tenant_clients: TenantClients
) -> None:
    text = lines(*numbered(5))
    caller = tenant_clients.lab.orgs.service_caller(tenant_clients.tenant.tenant_id)
    bulk = tenant_clients.lab.risk.bulk
    bulk.record_slice(bulk.parse(text.encode(), key="once", caller=caller), SliceOptions(0, 2), caller)

    first, again = (send(key, text, **{"Idempotency-Key": "once"}) for _ in "12")

    assert first == again == {"accepted": 5, "rejected": [], "more_rejected": 0}
    entities = [each["entity_id"] for each in get(key, "signals")["items"]]
    assert entities == [f"user-{number}" for number in reversed(range(5))]


def test_many_rejected_lines_are_counted(key: httpx.Client) -> None:
    answer = send(key, "x\n" * 250)

    assert (answer["accepted"], len(answer["rejected"]), answer["more_rejected"]) == (0, 100, 150)


@pytest.mark.parametrize(
    ("text", "content_type", "status"),
    [
        (lines(SIGNAL), "application/json", 415),
        ("\n" * ndjson.MAX_LINES, NDJSON["Content-Type"], 400),
        (lines({**SIGNAL, "details": {"a": "x" * 9_000_000}}), NDJSON["Content-Type"], 413),
    ],
)
def test_unacceptable_body_is_rejected(key: httpx.Client, text: str, content_type: str, status: int) -> None:
    answer = key.post("/v1/risk/signals/bulk", content=text, headers={"Content-Type": content_type})

    assert answer.status_code == status, answer.text
    assert list_ids(key) == []
