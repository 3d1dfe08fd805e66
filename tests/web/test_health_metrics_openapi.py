"""Routes for operators: health, metrics, OpenAPI."""

import asyncio
import json
import threading

import httpx
import pytest
from openapi_spec_validator import validate
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from attestlab.web import metrics
from attestlab.web.application import Application
from attestlab.web.openapi.document import describe
from support import patient_http
from support.sample_application import KNOWN_ID, SampleServer, make_sample_application, notes, serve_sample_application
from support.timeouts import WAIT_TIMEOUT_S


def test_a_running_process_is_healthy(client: httpx.Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


def test_a_process_is_ready_when_every_check_passes() -> None:
    with serve_sample_application() as server, patient_http.open_client(base_url=server.url) as client:
        assert client.get("/readyz").json() == {"status": "ok", "checks": {"records": "ok"}}

        server.lab.broken.add("records")
        response = client.get("/readyz")

    error = response.json()
    assert (response.status_code, error["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert error["details"]["checks"] == {"records": "failed"}
    assert int(response.headers["retry-after"]) >= 1
    assert "secret" not in response.text


def read_request_counters(client: httpx.Client) -> dict[tuple[str, str, str], float]:
    families = text_string_to_metric_families(client.get("/metrics").text)
    requests = next(family for family in families if family.name == "attestlab_http_requests")
    return {
        (sample.labels["method"], sample.labels["route"], sample.labels["status"]): sample.value
        for sample in requests.samples
        if sample.name.endswith("_total")
    }


def test_requests_are_counted_by_template_and_status() -> None:
    """An id in a label would create a series for every attestation."""
    with (
        serve_sample_application() as server,
        patient_http.open_client(base_url=server.url, headers={"X-API-Key": "key-of-a-writer"}) as client,
    ):
        for _ in range(3):
            client.get(f"/v1/notes/{KNOWN_ID}")
        client.get("/v1/notes/not-a-uuid")
        client.get("/nowhere")
        client.get("/elsewhere")
        client.head(f"/v1/notes/{KNOWN_ID}")
        with server.connect() as connection:
            connection.send(b"nonsense\r\n\r\n").response()
        counts = read_request_counters(client)

    assert counts["GET", "/v1/notes/{id}", "200"] == 4
    assert counts["(any)", "(none)", "404"] == 2
    assert counts["(any)", "(none)", "400"] == 2  # the id that is none, and the nonsense
    assert not any(str(KNOWN_ID) in route for _, route, _ in counts)


def test_latencies_are_in_seconds(sample: SampleServer, client: httpx.Client) -> None:
    client.get("/healthz")
    families = {f.name: f for f in text_string_to_metric_families(client.get("/metrics").text)}

    sums = [s for s in families["attestlab_http_request_seconds"].samples if s.name.endswith("_sum")]
    assert all(0 <= s.value < 10 for s in sums)
    assert sums


def test_writes_are_measured() -> None:
    measured = metrics.Metrics()
    measured.observe_queue(7)
    measured.observe_group(5)
    measured.observe_lock(before_s=0.25, held_s=0.5)
    measured.observe_connections(3)

    families = text_string_to_metric_families(measured.render().decode())
    values = {sample.name: sample.value for family in families for sample in family.samples}
    assert values["attestlab_write_queue_jobs"] == 7
    assert values["attestlab_write_group_jobs_sum"] == 5
    assert values["attestlab_writer_lock_before_seconds_sum"] == 0.25
    assert values["attestlab_writer_lock_held_seconds_sum"] == 0.5
    assert values["attestlab_database_connections_in_use"] == 3


@pytest.fixture(scope="module")
def description(client: httpx.Client) -> dict:
    response = client.get("/openapi.json")
    assert response.headers["content-type"] == "application/json"
    return response.json()


def test_the_description_is_valid_openapi_3_1(description: dict) -> None:
    validate(description)

    assert description["openapi"].startswith("3.1")


def test_every_route_is_described(description: dict) -> None:
    described = {(method.upper(), path) for path, item in description["paths"].items() for method in item}

    expected = {(route.method, route.path.replace("...", "")) for route in notes}
    operations = {("GET", path) for path in ("/healthz", "/readyz", "/metrics", "/openapi.json")}
    assert described == expected | operations


def test_every_error_has_the_envelope(description: dict) -> None:
    responses = description["components"]["responses"]

    schemas = [response["content"]["application/json"]["schema"] for response in responses.values()]

    assert schemas == [{"$ref": "#/components/schemas/Error"}] * len(responses)


def test_errors_of_an_operation_follow_from_its_declaration(description: dict) -> None:
    def statuses(path: str, method: str) -> set[str]:
        return {status for status in description["paths"][path][method]["responses"] if status >= "400"}

    assert statuses("/healthz", "get") == {"400", "500", "503"}
    assert statuses("/v1/notes", "get") == {"400", "401", "403", "429", "500", "503"}
    assert statuses("/v1/notes", "post") == {
        *("400", "401", "403", "409", "413", "415", "422", "429", "500", "503"),
    }
    assert statuses("/v1/notes/{id}", "delete") == {"400", "401", "403", "404", "429", "500", "503"}


def test_openapi_names_the_requirements_of_a_route(description: dict) -> None:
    listed = description["paths"]["/v1/notes"]["get"]
    written = description["paths"]["/v1/notes"]["post"]
    signed = description["paths"]["/v1/signed"]["post"]
    read = description["paths"]["/v1/notes/{id}"]["get"]

    parameters = {p["name"]: p for p in listed["parameters"]}
    assert parameters["limit"]["schema"]["maximum"] == 100
    assert not parameters["cursor"]["required"]
    assert written["security"] == [{scheme: ["notes:write"]} for scheme in ("apiKey", "apiKeyAuthorization", "bearer")]
    assert signed["security"] == []
    assert {p["name"] for p in read["parameters"]} == {"If-None-Match", "X-Request-Id", "id"}
    assert [(p["name"], p["in"], p["required"]) for p in written["parameters"]] == [
        ("Idempotency-Key", "header", False),
        ("X-Request-Id", "header", False),
    ]
    assert [(p["name"], p["required"]) for p in signed["parameters"]] == [
        ("Idempotency-Key", True),
        ("X-Request-Id", False),
    ]
    assert read["parameters"][0]["schema"]["format"] == "uuid"
    assert read["summary"] == "Read a note"
    assert set(read["responses"]) >= {"200", "304", "404"}


def test_openapi_describes_the_validating_models(description: dict) -> None:
    note = description["components"]["schemas"]["NoteInput"]

    assert note["additionalProperties"] is False
    assert note["required"] == ["text"]
    body = description["paths"]["/v1/open/notes"]["post"]["requestBody"]
    assert body["required"] is False
    assert body["content"]["application/json"]["schema"]["$ref"].endswith("/NoteInput")


def test_operation_ids_are_unique(description: dict) -> None:
    ids = [operation["operationId"] for item in description["paths"].values() for operation in item.values()]

    assert len(set(ids)) == len(ids)


def test_the_description_is_the_same_every_time() -> None:
    routes = [*notes]

    assert describe(routes, title="Notes", version="1") == describe(routes, title="Notes", version="1")
    assert json.loads(describe(routes, title="Notes", version="1"))["info"] == {"title": "Notes", "version": "1"}


def test_metrics_are_rendered_in_a_thread(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics are public, and eight requests at once delayed all others by a tenth of a second."""
    threads = []

    def written(registry: CollectorRegistry) -> bytes:
        threads.append(threading.current_thread().name)
        return generate_latest(registry)

    monkeypatch.setattr(metrics, "generate_latest", written)
    client.get("/metrics").raise_for_status()

    assert [name.startswith("attestlab-bodies") for name in threads] == [True], threads


async def _on_a_thread_of(site: Application) -> threading.Thread:
    """Returns the thread that the application runs long work on."""
    return await site.executor.run_in_thread(threading.current_thread)


def test_a_closed_application_ends_its_threads() -> None:
    site = make_sample_application()
    thread = asyncio.run(_on_a_thread_of(site))

    site.close()

    thread.join(WAIT_TIMEOUT_S)
    assert not thread.is_alive()
    with pytest.raises(RuntimeError, match="after shutdown"):
        asyncio.run(_on_a_thread_of(site))
