"""`attestlab.webhooks.verify`: what a receiver passes and what it gets, for every malformed request."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from http.client import HTTPConnection, HTTPMessage
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from wsgiref.headers import Headers
from wsgiref.simple_server import WSGIRequestHandler, make_server

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from requests.structures import CaseInsensitiveDict
from tornado.httputil import HTTPHeaders
from werkzeug.datastructures import EnvironHeaders
from werkzeug.datastructures import Headers as WerkzeugHeaders

from attestlab.core.errors import AttestLabError, SignatureInvalid, ValidationFailed
from attestlab.webhooks import WebhookEvent, verify
from attestlab.webhooks.signatures import sign_headers
from support.timeouts import WAIT_TIMEOUT_S

SECRET = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
OTHER_SECRET = "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BODY = b'{"id":"evt-1","type":"key.rotated","created_at":"2026-01-02T03:04:04Z","data":{"kid":"k"},"more":1}'
EVENT = WebhookEvent("evt-1", "key.rotated", NOW - timedelta(seconds=1), {"kid": "k"})
SCHEME_HEADERS = {
    "specification": ("X-Service-Signature",),
    "standard": ("webhook-id", "webhook-timestamp", "webhook-signature"),
}


def sign(body: bytes = BODY, at: datetime = NOW, secrets: tuple[str, ...] = (SECRET,)) -> dict[str, str]:
    return sign_headers(event_id="evt-1", event_type="key.rotated", body=body, secrets=secrets, at=at)


def fill(message: EmailMessage | HTTPMessage) -> EmailMessage | HTTPMessage:
    """A message of the standard library with the headers of a signed request."""
    for name, value in sign().items():
        message[name] = value
    return message


def as_environ(headers: Mapping[str, str]) -> dict[str, Any]:
    """Headers as a WSGI server has them (PEP 3333)."""
    named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    return {**named, "CONTENT_TYPE": "application/json", "wsgi.version": (1, 0), "wsgi.multithread": True}


@pytest.fixture(params=SCHEME_HEADERS)
def scheme(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The headers of one scheme, without those of the other."""
    found: tuple[str, ...] = SCHEME_HEADERS[request.param]
    return found


def only(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names}


def test_either_scheme_is_sufficient(scheme: tuple[str, ...]) -> None:
    assert verify(only(sign(), scheme), BODY, SECRET, now=NOW) == EVENT


def test_an_invalid_signature_of_one_scheme_does_not_matter_if_the_other_is_valid(scheme: tuple[str, ...]) -> None:
    headers = only(sign(), scheme) | {
        name: value for name, value in sign(b"another").items() if name not in scheme and "ignature" in name
    }
    assert verify(sign() | headers, BODY, SECRET, now=NOW) == EVENT


@pytest.mark.parametrize(
    "headers",
    [
        sign(),
        {name.lower(): value for name, value in sign().items()},
        {name.upper(): value for name, value in sign().items()},
        list(sign().items()),
        [(name.encode(), value.encode()) for name, value in sign().items()],
        {name.encode(): value.encode() for name, value in sign().items()},
        HTTPHeaders(sign()),
        Headers(list(sign().items())),
        fill(HTTPMessage()),
        fill(EmailMessage()),
        httpx.Headers(sign()),
        CaseInsensitiveDict(sign()),
        WerkzeugHeaders(sign()),
        EnvironHeaders(as_environ(sign())),
        as_environ(sign()),
        {name: [value] for name, value in sign().items()},
        {name: ("t=0,v1=0", value) for name, value in sign().items()},
        [(name, [value]) for name, value in sign().items()],
    ],
    ids=[
        *("as sent", "lower", "upper", "pairs", "ASGI", "bytes", "Tornado", "wsgiref", "http.server", "email", "httpx"),
        *("requests", "Werkzeug", "Flask", "WSGI", "lists of values", "several values", "pairs with lists"),
    ],
)
def test_headers_come_as_frameworks_have_them(headers: Any) -> None:
    assert verify(headers, BODY, SECRET, now=NOW) == EVENT


def send_to(server: HTTPServer) -> None:
    """Send a signed request to a server of the standard library, which handles one request."""
    serving = threading.Thread(target=server.handle_request)
    serving.start()
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=WAIT_TIMEOUT_S)
    connection.request("POST", "/hook", BODY, sign())
    connection.getresponse().read()
    connection.close()
    serving.join()
    server.server_close()


def test_a_receiver_with_http_server_passes_its_headers() -> None:
    events: list[WebhookEvent] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            events.append(verify(self.headers, body, SECRET, now=NOW))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    send_to(HTTPServer(("127.0.0.1", 0), Handler))
    assert events == [EVENT]


def test_a_wsgi_application_passes_its_environ() -> None:
    events: list[WebhookEvent] = []

    class QuietHandler(WSGIRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    def receive(environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        events.append(verify(environ, body, SECRET, now=NOW))
        start_response("204 No Content", [])
        return []

    send_to(make_server("127.0.0.1", 0, receive, handler_class=QuietHandler))
    assert events == [EVENT]


@pytest.mark.parametrize("values", [[], [""], ["t=1"]])
def test_a_list_without_a_signature_is_rejected(values: list[str]) -> None:
    with pytest.raises(SignatureInvalid, match="no signature"):
        verify({"X-Service-Signature": values}, BODY, SECRET, now=NOW)


@pytest.mark.parametrize("body", [BODY, bytearray(BODY), memoryview(BODY)])
def test_body_is_any_kind_of_bytes(body: Any) -> None:
    assert verify(sign(), body, SECRET, now=NOW) == EVENT


def test_several_secrets_and_several_signatures_overlap(scheme: tuple[str, ...]) -> None:
    assert verify(only(sign(secrets=(OTHER_SECRET, SECRET)), scheme), BODY, SECRET, now=NOW) == EVENT
    assert verify(only(sign(), scheme), BODY, [OTHER_SECRET, SECRET], now=NOW) == EVENT


@pytest.mark.parametrize("seconds", [-300, 300])
def test_a_timestamp_at_the_tolerance_is_accepted(scheme: tuple[str, ...], seconds: int) -> None:
    assert verify(only(sign(), scheme), BODY, SECRET, now=NOW + timedelta(seconds=seconds)) == EVENT


@pytest.mark.parametrize(("seconds", "message"), [(301, "301 seconds old"), (-301, "301 seconds in the future")])
def test_a_timestamp_beyond_the_tolerance_is_rejected(scheme: tuple[str, ...], seconds: int, message: str) -> None:
    with pytest.raises(SignatureInvalid, match=message):
        verify(only(sign(), scheme), BODY, SECRET, now=NOW + timedelta(seconds=seconds))


def test_tolerance_can_be_chosen() -> None:
    with pytest.raises(SignatureInvalid, match="limit is 2"):
        verify(sign(), BODY, SECRET, tolerance=2, now=NOW + timedelta(seconds=3))
    assert verify(sign(), BODY, SECRET, tolerance=3.5, now=NOW + timedelta(seconds=3)) == EVENT


def test_the_clock_is_the_system_s_by_default() -> None:
    assert verify(sign(at=datetime.now(UTC)), BODY, SECRET).id == "evt-1"
    with pytest.raises(SignatureInvalid, match="seconds old"):
        verify(sign(at=datetime.now(UTC) - timedelta(hours=1)), BODY, SECRET)


SIGNATURE = sign()["X-Service-Signature"]
TIME, V1 = SIGNATURE.split(",")


@pytest.mark.parametrize(
    "header",
    [
        "",
        ",",
        "=",
        TIME,
        V1,
        f"{TIME},v0={V1[3:]}",
        f"{TIME},{V1[:-1]}",
        f"{TIME},{V1}0",
        f"{TIME},v1=",
        f"{TIME},v1={'é' * 64}",
        f"{TIME},v1=" + "\udcff" * 64,
        f"{TIME},{TIME},{V1}",
        f"t=,{V1}",
        f"t=-1,{V1}",
        f"t=1e9,{V1}",
        f"t=١٧٦٧٣٢٣٠٤٥,{V1}",
        f"t={'9' * 5000},{V1}",
        f"t=0{TIME[2:]},{V1}",
        f"t={int(TIME[2:]) + 1},{V1}",
        f"{TIME},v1={V1[3:].upper()}",
        f"{TIME}," + f"v1={'0' * 64}," * 16 + V1,
    ],
)
def test_malformed_signature_is_rejected(header: str) -> None:
    with pytest.raises(SignatureInvalid):
        verify({"X-Service-Signature": header}, BODY, SECRET, now=NOW)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "evt-2"),
        ("webhook-id", ""),
        ("webhook-id", "\udcff"),
        ("webhook-timestamp", "1767323046"),
        ("webhook-timestamp", ""),
        ("webhook-timestamp", "1767323045.0"),
        ("webhook-signature", ""),
        ("webhook-signature", "v1"),
        ("webhook-signature", "v1,"),
        ("webhook-signature", "v1,é"),
        ("webhook-signature", sign()["webhook-signature"].replace("v1,", "v1a,")),
        ("webhook-signature", sign()["webhook-signature"][:-1]),
    ],
)
def test_malformed_standard_signature_is_rejected(name: str, value: str) -> None:
    with pytest.raises(SignatureInvalid):
        verify(only(sign(), SCHEME_HEADERS["standard"]) | {name: value}, BODY, SECRET, now=NOW)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b"{}",
        b'{"id":1,"type":"t","created_at":"2026-01-02T03:04:04Z","data":{}}',
        b'{"id":"e","type":"t","created_at":"yesterday","data":{}}',
        b'{"id":"e","type":"t","data":{}}',
        b'{"id":"e","type":"t","created_at":"2026-01-02T03:04:04Z","data":[]}',
        b'{"id":"e","id":"f","type":"t","created_at":"2026-01-02T03:04:04Z","data":{}}',
        b"[" * 100_000,
    ],
)
def test_a_signed_body_that_is_no_event_is_rejected(body: bytes) -> None:
    with pytest.raises(SignatureInvalid, match="no event"):
        verify(sign(body), body, SECRET, now=NOW)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"body": BODY.decode()}, "not str"),
        ({"body": {"id": "evt-1"}}, "not dict"),
        ({"body": None}, "not NoneType"),
        ({"secret": None}, "not NoneType"),
        ({"secret": b"whsec_AAAA"}, "not bytes"),
        ({"secret": []}, "not list"),
        ({"secret": [1]}, "not list"),
        ({"secret": "password"}, "Copy the whole secret"),
        ({"headers": None}, "NoneType is neither"),
        ({"headers": "X-Service-Signature: t=1"}, "str is neither"),
        ({"headers": {"X-Service-Signature": 5}}, "neither"),
        ({"headers": {"X-Service-Signature": [5]}}, "neither"),
        ({"headers": {"X-Service-Signature": {"value": "t=1"}}}, "neither"),
        ({"headers": dict}, "neither"),
        ({"headers": [1]}, "neither"),
        ({"now": "2026-01-02"}, "UTC offset"),
        ({"now": datetime(2026, 1, 2)}, "UTC offset"),  # naive, which is the mistake
        ({"tolerance": -1}, "from 0"),
        ({"tolerance": "300"}, "from 0"),
        ({"tolerance": float("nan")}, "from 0"),
        ({"tolerance": float("inf")}, "from 0"),
        ({"tolerance": True}, "from 0"),
    ],
)
def test_a_wrong_argument_is_named_with_its_remedy(changed: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"headers": sign(), "body": BODY, "secret": SECRET, "now": NOW, **changed}
    with pytest.raises(ValidationFailed, match=message):
        verify(**arguments)


@given(
    signature=st.text(max_size=200),
    identifier=st.text(max_size=20),
    timestamp=st.text(max_size=20),
    standard=st.text(max_size=200),
    body=st.binary(max_size=200),
)
def test_no_request_without_the_secret_is_accepted_or_raises_anything_else(
    signature: str, identifier: str, timestamp: str, standard: str, body: bytes
) -> None:
    headers = {
        "X-Service-Signature": signature,
        "webhook-id": identifier,
        "webhook-timestamp": timestamp,
        "webhook-signature": standard,
    }
    with pytest.raises(SignatureInvalid):
        verify(headers, body, SECRET, now=NOW)


def test_a_message_never_repeats_the_secret() -> None:
    for changed in ({"secret": OTHER_SECRET}, {"now": NOW + timedelta(days=1)}, {"secret": OTHER_SECRET[:-3]}):
        with pytest.raises(AttestLabError) as raised:
            verify(**{"headers": sign(), "body": BODY, "secret": SECRET, "now": NOW, **changed})
        assert OTHER_SECRET[6:20] not in raised.value.message
        assert SECRET[6:] not in raised.value.message


def test_a_receiver_loads_no_database_framework_or_http_client() -> None:
    code = "import sys; from attestlab.webhooks import verify; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert {"httpcore", "httpx", "pydantic", "sqlalchemy", "sqlmodel", "tornado", "typer"} & set(loaded) == set()
