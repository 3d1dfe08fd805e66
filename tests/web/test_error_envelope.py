"""Error envelope: every error of every route has it, with the request id in the body and in the header."""

import json

import httpx
import pytest

from attestlab.core import errors
from attestlab.web.problems import STATUS_OF, http_status
from support import patient_http
from support.raw_http import get_request, post_request
from support.sample_application import HEADER_INJECTIONS, KNOWN_ID, READER_KEY, WRITER_KEY, SampleServer

NOTE = {"text": "hello"}


def envelope(response: httpx.Response) -> dict:
    """Returns the error envelope after the checks that apply to all errors."""
    error = response.json()
    assert response.headers["content-type"] == "application/json"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cache-control"] == "no-store"
    assert error["http_status"] == response.status_code
    assert error["details"]["request_id"] == response.headers["x-request-id"]
    assert set(error) <= {"code", "message", "http_status", "retry_after_ms", "details"}
    return error


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "NOT_FOUND"),
        ("GET", "/v1/notes/", 404, "NOT_FOUND"),
        ("GET", f"/v1/notes/{KNOWN_ID}/", 404, "NOT_FOUND"),
        ("GET", "/v1/notes/0193b5a0-7f3c-7abc-8def-000000000000", 404, "NOT_FOUND"),
        ("PATCH", "/v1/notes", 405, "VALIDATION_ERROR"),
        ("OPTIONS", "/v1/notes", 405, "VALIDATION_ERROR"),
        ("BREW", "/v1/notes", 405, "VALIDATION_ERROR"),
        ("GET", "/v1/notes/%zz", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes/%ff", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/faults/a%00b", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?limit=101", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?limit=0", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?limit=ten", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?limit=5&limit=6", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?unknown=5", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?limit", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?limit=%ff", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?cursor=%00", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/notes?cursor=AAAA", 400, "VALIDATION_ERROR"),
        ("GET", f"/v1/notes/{KNOWN_ID}?x=1", 400, "VALIDATION_ERROR"),
        ("GET", "/v1/faults/conflict", 409, "CONFLICT"),
        ("GET", "/v1/faults/limit", 429, "RATE_LIMIT_EXCEEDED"),
        ("GET", "/v1/faults/crash", 500, "INTERNAL_ERROR"),
    ],
)
def test_an_error_has_its_status_and_code(client: httpx.Client, method: str, path: str, status: int, code: str) -> None:
    response = client.request(method, path)

    assert response.status_code == status
    assert envelope(response)["code"] == code


@pytest.mark.parametrize(
    "id",
    [
        KNOWN_ID.hex,
        f"{{{KNOWN_ID}}}",
        f"urn:uuid:{KNOWN_ID}",
        str(KNOWN_ID)[:-1],
        f"{KNOWN_ID}0",
        "not-a-uuid",
        f"{KNOWN_ID}%0A",
        "٣",
    ],
)
def test_a_uuid_in_a_path_is_the_36_character_form(client: httpx.Client, id: str) -> None:
    error = envelope(client.get(f"/v1/notes/{id}"))

    assert error["http_status"] == 400


def test_a_uuid_may_be_written_in_capitals(client: httpx.Client) -> None:
    assert client.get(f"/v1/notes/{str(KNOWN_ID).upper()}").json()["id"] == str(KNOWN_ID)


@pytest.mark.parametrize("count", ["-1", "+1", "1.0", "01", "1_0", "٣", "9" * 5000])
def test_a_number_in_a_path_is_plain_digits(client: httpx.Client, count: str) -> None:
    assert envelope(client.put(f"/v1/notes/{KNOWN_ID}/stars/{count}"))["details"]["fields"][0]["field"] == "/count"


def test_405_lists_the_allowed_methods(client: httpx.Client) -> None:
    assert client.put("/v1/notes").headers["allow"] == "GET, HEAD, POST"


def test_the_callers_request_id_is_echoed(client: httpx.Client) -> None:
    response = client.get("/nowhere", headers={"X-Request-Id": "My.id_1-2"})

    assert envelope(response)["details"]["request_id"] == "My.id_1-2"


@pytest.mark.parametrize("sent", ["", "a" * 65, "has space", "a/b", "ü"])
def test_a_request_id_unsafe_for_logs_is_replaced(sample: SampleServer, sent: str) -> None:
    with sample.connect() as wire:
        wire.send(get_request("/healthz", extra=f"X-Request-Id: {sent}\r\n"))
        answered = wire.response().headers["x-request-id"]

    assert answered != sent
    assert len(answered) == 16


def test_every_success_has_a_request_id_of_its_own(client: httpx.Client) -> None:
    ids = {client.get("/healthz").headers["x-request-id"] for _ in range(20)}

    assert len(ids) == 20


def test_missing_credentials_are_401_and_both_schemes_are_named(sample: SampleServer) -> None:
    response = patient_http.get(f"{sample.url}/v1/notes")

    assert envelope(response)["code"] == "AUTH_REQUIRED"
    assert {"ApiKey", "Bearer"} <= set(response.headers["www-authenticate"].replace(",", " ").split())


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": "unknown"},
        {"Authorization": "ApiKey unknown"},
        {"Authorization": "ApiKey"},
        {"Authorization": f"Basic {WRITER_KEY}"},
        {"Authorization": f"Bearer {WRITER_KEY}"},
        {"Authorization": f"ApiKey {WRITER_KEY}", "X-API-Key": READER_KEY},
        {"Authorization": f"ApiKey {WRITER_KEY}", "X-API-Key": ""},
    ],
)
def test_wrong_credentials_are_401_with_one_message(sample: SampleServer, headers: dict[str, str]) -> None:
    response = patient_http.get(f"{sample.url}/v1/notes", headers=headers)

    error = envelope(response)
    assert (error["code"], error["message"]) == ("AUTH_INVALID", errors.AuthInvalid().message)
    assert "www-authenticate" in response.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": WRITER_KEY},
        {"Authorization": f"ApiKey {WRITER_KEY}"},
        {"authorization": f"apikey  {WRITER_KEY}"},
        {"Authorization": f"ApiKey {WRITER_KEY}", "X-API-Key": WRITER_KEY},
    ],
)
def test_a_key_is_accepted_in_either_header(sample: SampleServer, headers: dict[str, str]) -> None:
    assert patient_http.get(f"{sample.url}/v1/notes", headers=headers).status_code == 200


def test_a_missing_scope_is_403_and_named(sample: SampleServer) -> None:
    response = patient_http.post(f"{sample.url}/v1/notes", headers={"X-API-Key": READER_KEY}, json=NOTE)

    assert envelope(response)["details"]["required_scope"] == "notes:write"


def test_a_denied_writer_learns_nothing_about_the_body(sample: SampleServer) -> None:
    response = patient_http.post(f"{sample.url}/v1/notes", json={"wrong": True})

    assert envelope(response)["code"] == "AUTH_REQUIRED"


def test_field_errors_are_json_pointers(client: httpx.Client) -> None:
    response = client.post("/v1/notes", json={"stars": "5", "claims": {"expiry_date": "soon", "a/b~c": 1}})

    fields = {field["field"]: field["code"] for field in envelope(response)["details"]["fields"]}
    assert fields == {
        "/text": "missing",
        "/stars": "int_type",
        "/claims/name": "missing",
        "/claims/expiry_date": "value_error",
        "/claims/a~1b~0c": "extra_forbidden",
    }


@pytest.mark.parametrize(
    "body",
    [{"text": 5}, {"text": None}, {"text": "a", "stars": 1.0}, {"text": "a", "stars": True}, [], "text", 5, None],
)
def test_types_are_not_coerced(client: httpx.Client, body: object) -> None:
    assert envelope(client.post("/v1/notes", json=body))["http_status"] == 400


def test_validator_messages_have_no_framework_prefix(client: httpx.Client) -> None:
    response = client.post("/v1/notes", json={"text": "a", "about": KNOWN_ID.hex})

    assert envelope(response)["details"]["fields"][0]["message"].startswith(f"'{KNOWN_ID.hex}' is not a UUID")


def test_429_has_retry_after(client: httpx.Client) -> None:
    response = client.get("/v1/faults/limit")

    assert envelope(response)["retry_after_ms"] == 200
    assert response.headers["retry-after"] == "1"


def test_details_may_hold_times_and_ids(client: httpx.Client) -> None:
    details = envelope(client.get("/v1/faults/conflict"))["details"]

    assert details["since"] == "2026-11-21T12:00:00.000Z"
    assert details["id"] == str(KNOWN_ID)


@pytest.mark.parametrize("kind", ["crash", "integrity"])
def test_internal_errors_disclose_nothing(client: httpx.Client, capfd: pytest.CaptureFixture[str], kind: str) -> None:
    response = client.get(f"/v1/faults/{kind}", headers={"X-Request-Id": f"find-{kind}"})

    assert envelope(response)["code"] == "INTERNAL_ERROR"
    assert "hunter2" not in response.text
    assert "leaf 7" not in response.text
    assert "Traceback" not in response.text
    logged = capfd.readouterr()
    assert f"find-{kind}" in logged.out + logged.err


@pytest.mark.parametrize("kind", HEADER_INJECTIONS)
def test_response_splitting_is_prevented(client: httpx.Client, kind: str) -> None:
    response = client.get(f"/v1/faults/{kind}")

    assert envelope(response)["http_status"] == 500
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "application/json"}, 201),
        ({"Content-Type": "application/json; charset=utf-8"}, 201),
        ({"Content-Type": 'Application/JSON ; Charset="UTF-8"'}, 201),
        ({"Content-Type": "application/vnd.notes+json"}, 201),
        ({"Content-Type": "application/json; charset=latin-1"}, 415),
        ({"Content-Type": "application/json; charset=utf-16"}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "application/json, text/plain"}, 415),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
        ({}, 415),
    ],
)
def test_a_body_must_be_declared_as_json_in_utf8(client: httpx.Client, headers: dict[str, str], status: int) -> None:
    response = client.post("/v1/notes", content=b'{"text": "a"}', headers=headers)

    assert response.status_code == status
    if status == 415:
        assert envelope(response)["code"] == "VALIDATION_ERROR"


def test_a_missing_body_is_reported(client: httpx.Client) -> None:
    assert envelope(client.post("/v1/notes"))["message"] == "A JSON body is required."


def test_a_route_without_a_body_takes_an_empty_object(client: httpx.Client) -> None:
    assert client.put(f"/v1/notes/{KNOWN_ID}/stars/3", json={}).json()["text"] == "***"
    assert client.put(f"/v1/notes/{KNOWN_ID}/stars/3").json()["text"] == "***"
    assert envelope(client.put(f"/v1/notes/{KNOWN_ID}/stars/3", json={"x": 1}))["http_status"] == 400


def test_an_optional_body_may_be_omitted(client: httpx.Client) -> None:
    assert client.post("/v1/open/notes").json()["text"] == ""
    assert client.post("/v1/open/notes", json=NOTE).json()["text"] == "hello"


def test_a_success_has_the_declared_status_and_headers(client: httpx.Client) -> None:
    response = client.post("/v1/notes", json=NOTE)

    assert (response.status_code, response.headers["location"]) == (201, f"/v1/notes/{KNOWN_ID}")
    assert response.json() == {"id": str(KNOWN_ID), "text": "hello", "created_at": "2026-11-21T12:00:00.000Z"}
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["date"] == "Sat, 21 Nov 2026 12:00:00 GMT"


def test_an_empty_result_is_204_without_a_length(client: httpx.Client) -> None:
    response = client.delete(f"/v1/notes/{KNOWN_ID}")

    assert (response.status_code, response.content) == (204, b"")
    assert "content-length" not in response.headers


def test_the_prepared_value_reaches_the_write(client: httpx.Client) -> None:
    assert client.post("/v1/signed", json={"name": "deed"}).json() == {"prepared": "signed deed"}


def test_every_class_of_error_has_a_status() -> None:
    kinds = [
        kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.AttestLabError)
    ]

    assert set(STATUS_OF) <= set(kinds)
    assert http_status(errors.RequestInFlight()) == 409
    assert http_status(errors.HeadGuardMismatch("x")) == 503
    assert http_status(errors.SignatureInvalid("x")) == 500


MALFORMED = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /healthz\r\n\r\n",
    b"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n",
    b"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.1\nHost: a\n\n",
    b"GET /healthz HTTP/1.1\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nBad Name: b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nName : b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nName: b\x00c\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nNoColon\r\n\r\n",
    b"GET /h\xc3\xbc HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: a\r\nBig: " + b"x" * 20_000,
    b"GET /" + b"x" * 20_000,
    post_request("/v1/notes", length=-1),
    post_request("/v1/notes", extra="Content-Length: 5\r\n"),
    post_request("/v1/notes", extra="Transfer-Encoding: chunked\r\n"),
    b"POST /v1/notes HTTP/1.1\r\nHost: a\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n",
    b"POST /v1/notes HTTP/1.1\r\nHost: a\r\nContent-Length: 0x10\r\n\r\n",
    b"POST /v1/notes HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"POST /v1/notes HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
]


@pytest.mark.parametrize("sent", MALFORMED, ids=lambda sent: ascii(sent[:60]))
def test_malformed_http_gets_the_envelope_and_is_closed(sample: SampleServer, sent: bytes) -> None:
    with sample.connect() as wire:
        response = wire.send(sent).response()
        assert wire.ended()

    error = json.loads(response.body)
    assert (response.status, error["code"], response.headers["connection"]) == (400, "VALIDATION_ERROR", "close")
    assert error["details"]["request_id"] == response.headers["x-request-id"]
    assert "well-formed HTTP" in error["message"]


@pytest.mark.parametrize("path", ["/healthz", "/v1/notes", "/v1/faults/conflict", "/nowhere", "/tile/0/a", "/metrics"])
def test_every_response_has_restrictive_browser_headers(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers

    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["Referrer-Policy"] == "no-referrer"
