"""Early rejection: a client gets its error before it has sent the body, and can still read it afterwards."""

import json
import time

import pytest

from support.raw_http import get_request, post_request
from support.sample_application import KNOWN_ID, SampleServer, serve_sample_application

NOTE = b'{"text":"hello"}'


@pytest.mark.parametrize(
    ("path", "length", "extra", "status"),
    [
        ("/nowhere", 500, "", 404),
        (f"/v1/notes/{KNOWN_ID}", 500, "", 405),
        ("/v1/notes", 1_048_577, "", 413),
        ("/v1/files", 52_428_800 + 1_048_577, "", 413),
        ("/v1/notes", 999_999_999_999_999, "", 413),
        ("/v1/notes", 500, "Content-Type: text/plain\r\n", 415),
        ("/v1/notes", 500, "X-API-Key: other\r\n", 401),
        ("/v1/notes", 500, "Expect: 100-continue\r\nX-API-Key: other\r\n", 401),
        ("/v1/notes", 1_048_577, "Expect: 100-continue\r\n", 413),
    ],
)
def test_a_rejection_arrives_before_the_body_is_sent(
    sample: SampleServer, path: str, length: int, extra: str, status: int
) -> None:
    with sample.connect() as wire:
        response = wire.send(post_request(path, length=length, extra=extra)).response()

        assert (response.status, response.headers["connection"]) == (status, "close")
        assert wire.ended()


def test_a_declared_length_over_the_limit_is_413(sample: SampleServer) -> None:
    with sample.connect() as wire:
        error = json.loads(wire.send(post_request("/v1/files", length=60_000_000)).response().body)

    assert error["details"]["limit_bytes"] == 52_428_800
    assert error["details"]["scope"] == "payload"


def test_a_buffered_body_keeps_the_connection_open(sample: SampleServer) -> None:
    with sample.connect() as wire:
        refused = wire.send(post_request("/nowhere", NOTE)).response()

        assert (refused.status, "connection" in refused.headers) == (404, False)
        assert wire.send(get_request("/healthz")).response().status == 200


def test_a_client_that_awaits_100_continue_gets_it(sample: SampleServer) -> None:
    with sample.connect() as wire:
        wire.send(post_request("/v1/notes", length=len(NOTE), extra="Expect: 100-continue\r\n"))
        assert wire.response().status == 100
        assert wire.send(NOTE).response().status == 201


def test_a_client_that_sent_its_body_anyway_gets_no_100(sample: SampleServer) -> None:
    with sample.connect() as wire:
        assert wire.send(post_request("/v1/notes", NOTE, extra="Expect: 100-continue\r\n")).response().status == 201


def test_a_client_that_sends_everything_first_can_read_its_rejection(sample: SampleServer) -> None:
    """A plain close would reset the connection, and the 413 with it."""
    megabyte = b" " * 1024 * 1024

    with sample.connect() as wire:
        wire.send(post_request("/v1/notes", length=100 * len(megabyte)))
        time.sleep(0.2)  # by now it is refused
        for _ in range(100):
            wire.send(megabyte)
        assert wire.response().status == 413


def test_chunks_without_end_are_cut_off(sample: SampleServer) -> None:
    head = post_request("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"

    with sample.connect() as wire:
        wire.send(head + chunk * 20)
        response = wire.response()

    assert (response.status, json.loads(response.body)["details"]["scope"]) == (413, "request_body")


def test_malformed_chunks_are_refused(sample: SampleServer) -> None:
    head = post_request("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")

    with sample.connect() as wire:
        response = wire.send(head + b"xyz\r\n").response()

        assert (response.status, response.headers["connection"]) == (400, "close")
        assert wire.ended()


def test_a_client_that_never_stops_sending_is_disconnected() -> None:
    with serve_sample_application() as server, server.connect() as wire:
        wire.send(post_request("/v1/notes", length=10**12))
        with pytest.raises(ConnectionError):
            for _ in range(400):
                wire.send(b" " * 1_000_000)
