"""Invalid bodies get a 400, 413 or 415 with the envelope, never a 5xx, and the server keeps running."""

import hashlib
import json

import httpx
import pytest

from support.raw_http import get_request, post_request
from support.sample_application import SampleServer

GOOD = b'{"text":"hello"}'

BAD = {
    "nothing but space": b"  ",
    "cut off": b'{"text":"hel',
    "trailing comma": b'{"text":"a",}',
    "two values": GOOD + GOOD,
    "a comment": b'{"text":"a"/* b */}',
    "single quotes": b"{'text':'a'}",
    "duplicate members": b'{"text":"a","text":"b"}',
    "duplicate members, one escaped": b'{"text":"a","te\\u0078t":"b"}',
    "duplicate members, deep down": b'{"text":"a","claims":{"name":"b","name":"c"}}',
    "NaN": b'{"text":"a","stars":NaN}',
    "Infinity": b'{"text":"a","stars":-Infinity}',
    "a number beyond doubles": b'{"text":"a","stars":1e400}',
    "5,000 digits": b'{"text":"a","stars":' + b"9" * 5000 + b"}",
    "65 deep": b'{"text":' + b"[" * 65 + b"]" * 65 + b"}",
    "100,000 deep": b"[" * 100_000,
    "lone surrogate": b'{"text":"\\ud800"}',
    "lone surrogate in a name": b'{"text":"a","\\udc00":1}',
    "raw surrogate": b'{"text":"\xed\xa0\x80"}',
    "control character": b'{"text":"a\nb"}',
    "UTF-16": '{"text":"a"}'.encode("utf-16"),
    "UTF-16 without a mark": '{"text":"a"}'.encode("utf-16-le"),
    "UTF-32": '{"text":"a"}'.encode("utf-32"),
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "Latin-1": b'{"text":"\xfc"}',
    "overlong UTF-8": b'{"text":"\xc0\xaf"}',
    "binary": bytes(range(256)),
}


@pytest.mark.parametrize("path", ["/v1/notes", "/v1/open/notes", "/v1/files"])
@pytest.mark.parametrize("body", BAD.values(), ids=BAD.keys())
def test_a_body_that_is_not_strict_json_is_rejected(sample: SampleServer, path: str, body: bytes) -> None:
    with sample.connect() as connection:
        response = connection.send(post_request(path, body)).response()
        assert connection.send(get_request("/healthz")).response().status == 200  # on the same connection

    error = json.loads(response.body)
    assert (response.status, error["code"], error["http_status"]) == (400, "VALIDATION_ERROR", 400)


@pytest.mark.parametrize(
    "payload",
    ["QUI=C", "QU I", "QUI\n", "Q", "QUJDR", "QUI==", "QR", "QUJ", "QUI+", "QUI/", "====", "QÜI", "=", "QUJD="],
)
def test_invalid_base64url_is_rejected(client: httpx.Client, payload: str) -> None:
    response = client.post("/v1/files", json={"payload_b64url": payload})

    error = response.json()
    assert (response.status_code, error["details"]["fields"][0]["field"]) == (400, "/payload_b64url")


@pytest.mark.parametrize(
    "body",
    [
        b'{"payload_b64url":"QU\\u0049"}',
        b'{"other":"QUI","payload_b64url":"QU\\u0049"}',
        b'{"payload\\u005fb64url":"QU\\u0049"}',
        b'{"payload_b64url":"QUI\\u003d"}',
    ],
)
def test_a_payload_may_contain_json_escapes(sample: SampleServer, body: bytes) -> None:
    """Some JSON writers escape =; only the decoded string matters."""
    with sample.connect() as connection:
        response = connection.send(post_request("/v1/files", body)).response()

    assert response.status == 200
    assert json.loads(response.body)["sha256"] == hashlib.sha256(b"AB").hexdigest()


@pytest.mark.parametrize(
    "spelt",
    ["\\/\\/8", "QU\\n", "QU\\u00e9", "QU\\ud800", "QU\\x41", "QU\\u00", "QU\\u003d\\u003d", "QU\\u0049\\u003d\\u003d"],
)
def test_an_escape_that_decodes_to_no_base64url_is_rejected(sample: SampleServer, spelt: str) -> None:
    with sample.connect() as connection:
        response = connection.send(post_request("/v1/files", f'{{"payload_b64url":"{spelt}"}}'.encode())).response()

    assert response.status == 400


def test_a_body_above_1_mib_is_413_of_the_request_body(client: httpx.Client) -> None:
    response = client.post("/v1/notes", json={"text": "x" * 1024 * 1024})

    error = response.json()
    assert (response.status_code, error["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert error["details"]["limit_bytes"] == 1_048_576
    assert error["details"]["scope"] == "request_body"


def test_a_body_of_exactly_1_mib_is_read(client: httpx.Client) -> None:
    room = 1024 * 1024 - len(b'{"text":"a"}')

    response = client.post(
        "/v1/notes", content=b'{"text":"a"' + b" " * room + b"}", headers={"content-type": "application/json"}
    )

    assert response.status_code == 201
