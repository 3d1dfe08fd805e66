"""The webhooks of a lab: what is sent for each verb, and how the events of a tenant are read page by page."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from attestlab.client.connecting import connect
from attestlab.client.handles.webhooks import WebhookEndpointHandle
from attestlab.core.errors import Conflict, NotFound, ValidationFailed
from support.scripted_server import Answer, Received, ScriptedServer, serve_script

ID = "0193b5a0-7f3c-7abc-8def-0123456789ab"
AT = "2026-11-02T00:00:00.000Z"
SECRET = "whsec_bm90IGEgc2VjcmV0IG9mIGEgcmVhbCBlbmRwb2ludA=="
ENDPOINT = {
    **{"id": ID, "name": "Ledger", "url": "https://ledger.example.org/hooks", "status": "active"},
    **{"disabled_reason": None, "event_filters": ["key.*"], "created_at": AT, "updated_at": AT},
}
CONNECTED = Answer(200)  # to the request by which `connect` looks for a service


def answer(**document: object) -> Answer:
    return Answer(200, json.dumps(document).encode())


def list_endpoints(*endpoints: dict[str, object]) -> Answer:
    return answer(items=endpoints, next_cursor=None)


def list_events(*sequences: int, next_after: int, too_old: int = 0) -> Answer:
    events = [{"sequence": each, "id": ID, "type": "key.rotated", "created_at": AT, "data": {}} for each in sequences]
    return answer(items=events, next_after=next_after, too_old=too_old)


def list_requests(server: ScriptedServer) -> list[Received]:
    return server.received[1:]


def read_body(request: Received) -> dict[str, object]:
    body: dict[str, object] = json.loads(request.body)
    return body


def test_a_new_endpoint_has_its_host_as_name_and_one_event_may_be_a_text() -> None:
    with serve_script(CONNECTED, answer(**ENDPOINT, secret=SECRET)) as server, connect(server.url) as lab:
        endpoint = lab.webhooks.create("https://ledger.example.org/hooks", "key.*")

        (request,) = list_requests(server)
        assert read_body(request) == {
            "url": "https://ledger.example.org/hooks",
            "event_filters": ["key.*"],
            "name": "ledger.example.org",
        }
        assert endpoint.secret == SECRET


def test_neither_repr_nor_card_has_the_secret() -> None:
    with serve_script(CONNECTED, answer(**ENDPOINT, secret=SECRET)) as server, connect(server.url) as lab:
        endpoint = lab.webhooks.create("https://ledger.example.org/hooks", ["key.*"], name="Ledger")

        assert SECRET not in repr(endpoint) + str(endpoint) + endpoint._repr_html_()
        assert "endpoint.secret" in endpoint._repr_html_()


def test_a_listed_endpoint_has_no_secret() -> None:
    with serve_script(CONNECTED, list_endpoints(ENDPOINT)) as server, connect(server.url) as lab:
        assert "secret" not in lab.webhooks[0].to_dict()
        assert "secret" not in dir(lab.webhooks[0])


@pytest.mark.parametrize("name", ["Ledger", "https://ledger.example.org/hooks"])
def test_an_endpoint_is_found_by_name_and_url(name: str) -> None:
    with serve_script(CONNECTED, list_endpoints(ENDPOINT)) as server, connect(server.url) as lab:
        assert isinstance(lab.webhooks[name], WebhookEndpointHandle)


def test_an_unknown_name_is_shown() -> None:
    with (
        serve_script(CONNECTED, list_endpoints(ENDPOINT)) as server,
        connect(server.url) as lab,
        pytest.raises(NotFound, match="name or URL 'Legder' is known"),
    ):
        lab.webhooks.delete("Legder")


def test_an_update_sends_only_what_changes() -> None:
    with serve_script(CONNECTED, answer(**ENDPOINT)) as server, connect(server.url) as lab:
        lab.webhooks.update(ID, events=["key.*", "issuer.*"], status="active")

        (request,) = list_requests(server)
        assert (request.method, request.path) == ("PATCH", f"/v1/webhooks/endpoints/{ID}")
        assert read_body(request) == {"event_filters": ["key.*", "issuer.*"], "status": "active"}


def test_a_recovery_reads_times_as_people_write_them() -> None:
    found = answer(matched=2, enqueued=0, too_old=9, dry_run=True)
    with serve_script(CONNECTED, found) as server, connect(server.url) as lab:
        recovery = lab.webhooks.recover(ID, "2026-11-01", events="key.*", mode="all", dry_run=True)

        (request,) = list_requests(server)
        assert request.path == f"/v1/webhooks/endpoints/{ID}/recover"
        assert read_body(request) == {
            **{"since": "2026-11-01T00:00:00.000Z", "event_types": ["key.*"], "mode": "all", "dry_run": True},
        }
        assert repr(recovery) == "WebhookRecovery(matched=2, enqueued=0, too_old=9, dry_run=True)"


def test_a_list_of_deliveries_says_that_there_are_more() -> None:
    delivery = {
        **{"id": ID, "endpoint_id": ID, "event_id": ID, "event_type": "key.rotated", "payload_hash": "00" * 32},
        **{"status": "delivered", "attempt_count": 1, "next_attempt_at": None, "last_error": None, "http_status": 200},
        **{"response_time_ms": 3, "test": False, "manual": False, "created_at": AT, "updated_at": AT},
        **{"delivered_at": AT, "attempts": []},
    }
    page = answer(items=[delivery] * 3, next_cursor=None)
    with serve_script(CONNECTED, page) as server, connect(server.url) as lab:
        cut, whole = (lab.webhooks.deliveries(ID, limit=limit) for limit in (2, 3))

        assert (len(cut), cut.truncated, len(whole), whole.truncated) == (2, True, 3, False)
        assert repr(cut) == "Records(2 WebhookDelivery, and there are more)"


def test_events_are_read_page_by_page_until_there_are_none() -> None:
    pages = (list_events(4, 5, next_after=5), list_events(6, next_after=6), list_events(next_after=6))
    with serve_script(CONNECTED, *pages) as server, connect(server.url) as lab:
        assert [each.sequence for each in lab.webhooks.events(after=3)] == [4, 5, 6]
        assert [each.path.partition("?")[2] for each in list_requests(server)] == [
            *("after=3&limit=100", "after=5&limit=100", "after=6&limit=100"),
        ]


def test_events_that_a_reader_would_miss_are_an_error_with_the_next_position() -> None:
    pages = (list_events(8, next_after=8, too_old=4), list_events(next_after=8))
    with serve_script(CONNECTED, *pages) as server, connect(server.url) as lab:
        with pytest.raises(Conflict, match=r"^4 events after number 3 .* Pass after=7 ") as refused:
            next(lab.webhooks.events(after=3))
        assert refused.value.details == {"too_old": 4, "next_after": 7}

    with serve_script(CONNECTED, *pages) as server, connect(server.url) as lab:
        assert [each.sequence for each in lab.webhooks.events()] == [8], "without a position nothing is missed"


def test_events_are_read_no_further_than_they_are_wanted() -> None:
    with serve_script(CONNECTED, list_events(1, 2, next_after=2)) as server, connect(server.url) as lab:
        assert [each.sequence for each in islice(lab.webhooks.events(), 2)] == [1, 2]
        assert len(list_requests(server)) == 1


@pytest.mark.parametrize(
    ("events", "expected"), [(7, "events is a int"), ([7], "events is a int"), ("", "events is empty")]
)
def test_what_is_no_event_type_is_refused_here(events: object, expected: str) -> None:
    with (
        serve_script(CONNECTED) as server,
        connect(server.url) as lab,
        pytest.raises(ValidationFailed, match=expected),
    ):
        lab.webhooks.create("https://ledger.example.org/hooks", events)  # type: ignore[arg-type]  # a mistake
