"""Connections: sequential requests, keep-alive, and shutdown."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import patient_http
from support.raw_http import get_request, post_request
from support.sample_application import KNOWN_ID, WRITER_KEY, SampleServer, serve_sample_application
from support.timeouts import WAIT_TIMEOUT_S

NOTE = b'{"text":"hello"}'


def test_a_connection_serves_one_request_after_another(sample: SampleServer) -> None:
    with sample.connect() as wire:
        statuses = [wire.send(post_request("/v1/notes", NOTE)).response().status for _ in range(50)]

    assert statuses == [201] * 50


def test_pipelined_requests_are_answered_in_order(sample: SampleServer) -> None:
    sent = b"".join(
        get_request("/healthz", extra=f"X-Request-Id: r{n}\r\n") + post_request("/v1/notes", NOTE) for n in range(100)
    )

    with sample.connect() as wire:
        wire.send(sent)
        answered = [(wire.response(), wire.response()) for _ in range(100)]

    assert [first.headers["x-request-id"] for first, _ in answered] == [f"r{n}" for n in range(100)]
    assert {second.status for _, second in answered} == {201}


def test_a_request_may_arrive_byte_by_byte(sample: SampleServer) -> None:
    with sample.connect() as wire:
        for byte in post_request("/v1/notes", NOTE):
            wire.send(bytes([byte]))
        assert wire.response().status == 201


def test_a_chunked_body_is_read(sample: SampleServer) -> None:
    head = post_request("/v1/notes", extra="").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")

    with sample.connect() as wire:
        wire.send(head + b"8\r\n" + NOTE[:8] + b"\r\n8\r\n" + NOTE[8:] + b"\r\n0\r\n\r\n" + get_request("/healthz"))
        assert wire.response().status == 201
        assert wire.response().status == 200


def test_an_empty_line_before_a_request_is_ignored(sample: SampleServer) -> None:
    """Some clients end their bodies with one (RFC 9112 section 2.2)."""
    with sample.connect() as wire:
        for _ in range(3):
            assert wire.send(get_request("/healthz") + b"\r\n").response().status == 200


def test_the_target_may_be_absolute(sample: SampleServer) -> None:
    with sample.connect() as wire:
        assert wire.send(get_request("http://example.org/healthz")).response().status == 200


@pytest.mark.parametrize(
    "sent",
    [get_request("/healthz", extra="Connection: close\r\n"), b"GET /healthz HTTP/1.0\r\n\r\n"],
    ids=["close", "HTTP/1.0"],
)
def test_connection_close_is_honoured(sample: SampleServer, sent: bytes) -> None:
    with sample.connect() as wire:
        response = wire.send(sent).response()

        assert (response.status, response.headers["connection"]) == (200, "close")
        assert wire.ended()


def test_head_answers_like_get_without_the_body(sample: SampleServer) -> None:
    with sample.connect() as wire:
        whole = wire.send(get_request(f"/v1/notes/{KNOWN_ID}")).response()
        head = wire.send(get_request(f"/v1/notes/{KNOWN_ID}", method="HEAD")).response(without_body=True)
        missing = wire.send(get_request("/nowhere", method="HEAD")).response(without_body=True)
        after = wire.send(get_request("/healthz")).response()

    assert head.headers["content-length"] == str(len(whole.body))
    assert head.headers["etag"] == whole.headers["etag"]
    assert (missing.status, after.status) == (404, 200)


def test_the_body_of_a_get_is_ignored(sample: SampleServer) -> None:
    with sample.connect() as wire:
        wire.send(get_request("/healthz", extra="Content-Length: 5\r\n") + b"hello" + get_request("/healthz"))

        assert (wire.response().status, wire.response().status) == (200, 200)


def test_many_clients_are_served_concurrently(sample: SampleServer) -> None:
    def caller(number: int) -> set[str]:
        with patient_http.open_client(base_url=sample.url, headers={"X-API-Key": WRITER_KEY}) as client:
            return {client.post("/v1/notes", json={"text": f"{number}-{n}"}).json()["text"] for n in range(20)}

    with ThreadPoolExecutor(16) as pool:
        seen = list(pool.map(caller, range(16)))

    assert seen == [{f"{number}-{n}" for n in range(20)} for number in range(16)]


def test_reads_can_run_in_threads() -> None:
    with serve_sample_application(reads_inline=False) as server:
        response = patient_http.get(f"{server.url}/v1/notes/{KNOWN_ID}", headers={"X-API-Key": WRITER_KEY})

    assert response.json()["text"] == "hello"


def test_an_accepted_request_is_finished_before_the_server_stops() -> None:
    with serve_sample_application() as server, server.connect() as busy, server.connect() as idle:
        idle.send(get_request("/healthz")).response()
        busy.send(get_request("/v1/wait"))
        assert server.lab.waiting.wait(WAIT_TIMEOUT_S)
        stopping = threading.Thread(target=server.call, args=(lambda: server.server.stop_gracefully(within_s=5),))
        stopping.start()
        assert idle.ended()
        with pytest.raises(ConnectionError):
            server.connect()
        server.lab.may_continue.set()
        response = busy.response()
        stopping.join(WAIT_TIMEOUT_S)

    assert (response.status, response.headers["connection"]) == (200, "close")


def test_an_endless_request_does_not_delay_shutdown() -> None:
    with serve_sample_application() as server, server.connect() as busy:
        busy.send(get_request("/v1/wait"))
        assert server.lab.waiting.wait(WAIT_TIMEOUT_S)
        began = time.monotonic()
        server.call(lambda: server.server.stop_gracefully(within_s=0.5))

        assert 0.4 < time.monotonic() - began < WAIT_TIMEOUT_S / 2
        assert busy.ended()
