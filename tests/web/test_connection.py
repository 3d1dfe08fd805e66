"""The life of a connection: who may take how long, what is read, and when it ends."""

import asyncio
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import tornado.web
import tornado.websocket
from sample_site import KEY, KNOWN, Running, Wire, get, post, running, sample_site
from tornado.httputil import HTTPServerConnectionDelegate
from tornado.iostream import IOStream

from attestlab.web.connection import Connection, Patience, Peer

NOTE = b'{"text":"hello"}'
IMPATIENT = Patience(idle_s=0.6, head_s=0.6, body_s=0.6, write_s=0.6, linger_s=0.6)
TOO_LONG_S = 5.0


# --- one request after another


def test_a_connection_serves_one_request_after_another(sample: Running) -> None:
    with sample.wire() as wire:
        statuses = [wire.send(post("/v1/notes", NOTE)).response().status for _ in range(50)]

    assert statuses == [201] * 50


def test_requests_sent_at_once_are_answered_in_their_order(sample: Running) -> None:
    sent = b"".join(get("/healthz", extra=f"X-Request-Id: r{n}\r\n") + post("/v1/notes", NOTE) for n in range(100))

    with sample.wire() as wire:
        wire.send(sent)
        answered = [(wire.response(), wire.response()) for _ in range(100)]

    assert [first.headers["x-request-id"] for first, _ in answered] == [f"r{n}" for n in range(100)]
    assert {second.status for _, second in answered} == {201}


def test_a_request_may_arrive_byte_by_byte(sample: Running) -> None:
    with sample.wire() as wire:
        for byte in post("/v1/notes", NOTE):
            wire.send(bytes([byte]))
        assert wire.response().status == 201


def test_a_chunked_body_is_a_body(sample: Running) -> None:
    head = post("/v1/notes", extra="").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")

    with sample.wire() as wire:
        wire.send(head + b"8\r\n" + NOTE[:8] + b"\r\n8\r\n" + NOTE[8:] + b"\r\n0\r\n\r\n" + get("/healthz"))
        assert wire.response().status == 201
        assert wire.response().status == 200


def test_an_empty_line_before_a_request_is_passed_over(sample: Running) -> None:
    """Some clients end their bodies with one (RFC 9112 section 2.2)."""
    with sample.wire() as wire:
        for _ in range(3):
            assert wire.send(get("/healthz") + b"\r\n").response().status == 200


def test_the_target_may_be_absolute(sample: Running) -> None:
    with sample.wire() as wire:
        assert wire.send(get("http://example.org/healthz")).response().status == 200


@pytest.mark.parametrize(
    "sent",
    [get("/healthz", extra="Connection: close\r\n"), b"GET /healthz HTTP/1.0\r\n\r\n"],
    ids=["close", "HTTP/1.0"],
)
def test_a_client_that_wants_no_more_is_closed(sample: Running, sent: bytes) -> None:
    with sample.wire() as wire:
        response = wire.send(sent).response()

        assert (response.status, response.headers["connection"]) == (200, "close")
        assert wire.ended()


def test_head_is_get_without_the_body(sample: Running) -> None:
    with sample.wire() as wire:
        whole = wire.send(get(f"/v1/notes/{KNOWN}")).response()
        head = wire.send(get(f"/v1/notes/{KNOWN}", method="HEAD")).response(without_body=True)
        missing = wire.send(get("/nowhere", method="HEAD")).response(without_body=True)
        after = wire.send(get("/healthz")).response()

    assert head.headers["content-length"] == str(len(whole.body))
    assert head.headers["etag"] == whole.headers["etag"]
    assert (missing.status, after.status) == (404, 200)


def test_the_body_of_a_get_means_nothing(sample: Running) -> None:
    with sample.wire() as wire:
        wire.send(get("/healthz", extra="Content-Length: 5\r\n") + b"hello" + get("/healthz"))

        assert (wire.response().status, wire.response().status) == (200, 200)


def test_many_clients_are_served_at_once(sample: Running) -> None:
    def caller(number: int) -> set[str]:
        with httpx.Client(base_url=sample.url, headers={"X-API-Key": KEY}) as client:
            return {client.post("/v1/notes", json={"text": f"{number}-{n}"}).json()["text"] for n in range(20)}

    with ThreadPoolExecutor(16) as pool:
        seen = list(pool.map(caller, range(16)))

    assert seen == [{f"{number}-{n}" for n in range(20)} for number in range(16)]


def test_reads_can_run_beside_the_loop() -> None:
    with running(reads_inline=False) as server:
        response = httpx.get(f"{server.url}/v1/notes/{KNOWN}", headers={"X-API-Key": KEY})

    assert response.json()["text"] == "hello"


# --- refused before the body is read


@pytest.mark.parametrize(
    ("path", "length", "extra", "status"),
    [
        ("/nowhere", 500, "", 404),
        (f"/v1/notes/{KNOWN}", 500, "", 405),
        ("/v1/notes", 1_048_577, "", 413),
        ("/v1/files", 52_428_800 + 1_048_577, "", 413),
        ("/v1/notes", 999_999_999_999_999, "", 413),
        ("/v1/notes", 500, "Content-Type: text/plain\r\n", 415),
        ("/v1/notes", 500, "X-API-Key: other\r\n", 401),
        ("/v1/notes", 500, "Expect: 100-continue\r\nX-API-Key: other\r\n", 401),
        ("/v1/notes", 1_048_577, "Expect: 100-continue\r\n", 413),
    ],
)
def test_a_refusal_arrives_before_the_body_was_sent(
    sample: Running, path: str, length: int, extra: str, status: int
) -> None:
    with sample.wire() as wire:
        response = wire.send(post(path, length=length, extra=extra)).response()

        assert (response.status, response.headers["connection"]) == (status, "close")
        assert wire.ended()


def test_a_payload_too_large_by_its_length_is_told_as_such(sample: Running) -> None:
    with sample.wire() as wire:
        error = json.loads(wire.send(post("/v1/files", length=60_000_000)).response().body)

    assert error["details"]["limit_bytes"] == 52_428_800
    assert error["details"]["scope"] == "payload"


def test_a_body_that_is_already_here_does_not_cost_the_connection(sample: Running) -> None:
    with sample.wire() as wire:
        refused = wire.send(post("/nowhere", NOTE)).response()

        assert (refused.status, "connection" in refused.headers) == (404, False)
        assert wire.send(get("/healthz")).response().status == 200


def test_a_client_that_awaits_100_continue_gets_it(sample: Running) -> None:
    with sample.wire() as wire:
        wire.send(post("/v1/notes", length=len(NOTE), extra="Expect: 100-continue\r\n"))
        assert wire.response().status == 100
        assert wire.send(NOTE).response().status == 201


def test_a_client_that_sent_its_body_anyway_gets_no_100(sample: Running) -> None:
    with sample.wire() as wire:
        assert wire.send(post("/v1/notes", NOTE, extra="Expect: 100-continue\r\n")).response().status == 201


def test_a_client_that_only_writes_can_read_its_refusal_afterwards(sample: Running) -> None:
    """A plain close would reset the connection, and the 413 with it."""
    megabyte = b" " * 1024 * 1024

    with sample.wire() as wire:
        wire.send(post("/v1/notes", length=100 * len(megabyte)))
        time.sleep(0.2)  # by now it is refused
        for _ in range(100):
            wire.send(megabyte)
        assert wire.response().status == 413


def test_chunks_without_end_are_cut_off(sample: Running) -> None:
    head = post("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunk = b"10000\r\n" + b" " * 65536 + b"\r\n"

    with sample.wire() as wire:
        wire.send(head + chunk * 20)
        response = wire.response()

    assert (response.status, json.loads(response.body)["details"]["scope"]) == (413, "request_body")


def test_malformed_chunks_are_refused(sample: Running) -> None:
    head = post("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")

    with sample.wire() as wire:
        response = wire.send(head + b"xyz\r\n").response()

        assert (response.status, response.headers["connection"]) == (400, "close")
        assert wire.ended()


def test_who_never_stops_sending_is_cut_off() -> None:
    with running() as server, server.wire() as wire:
        wire.send(post("/v1/notes", length=10**12))
        with pytest.raises(ConnectionError):
            for _ in range(400):
                wire.send(b" " * 1_000_000)


# --- slow clients, and those that leave


def slow(wire: Wire, data: bytes) -> float:
    """Send a byte at a time until the server has had enough; how long that took, in seconds."""
    began = time.monotonic()
    wire.socket.settimeout(0.05)
    for byte in data * 1000:
        try:
            wire.send(bytes([byte]))
            if wire.socket.recv(1) == b"":
                break
        except TimeoutError:
            pass
        except ConnectionError:
            break
        if time.monotonic() - began > TOO_LONG_S:
            break
    return time.monotonic() - began


@pytest.fixture(scope="module")
def impatient():
    with running(patience=IMPATIENT) as server:
        yield server


def test_a_head_that_drips_is_cut_off(impatient: Running) -> None:
    with impatient.wire() as wire:
        wire.send(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: ")
        assert 0.3 < slow(wire, b"x") < TOO_LONG_S


@pytest.mark.parametrize("path", ["/v1/notes", "/v1/files"])
def test_a_body_that_drips_is_cut_off(impatient: Running, path: str) -> None:
    with impatient.wire() as wire:
        wire.send(post(path, length=100_000))
        assert 0.3 < slow(wire, b" ") < TOO_LONG_S


def test_chunks_that_drip_are_cut_off(impatient: Running) -> None:
    with impatient.wire() as wire:
        wire.send(post("/v1/notes").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        assert 0.3 < slow(wire, b"1\r\n \r\n") < TOO_LONG_S


def test_a_client_that_says_nothing_is_let_go(impatient: Running) -> None:
    with impatient.wire() as fresh, impatient.wire() as used:
        used.send(get("/healthz")).response()

        assert used.ended()
        assert fresh.ended()


def test_a_client_that_does_not_take_its_answer_is_let_go(impatient: Running) -> None:
    """Its answers fill the socket's buffers, and then the server waits no longer."""
    with impatient.wire() as wire:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.socket.settimeout(TOO_LONG_S)
        note = json.dumps({"text": "x" * 100_000}).encode()
        with pytest.raises(ConnectionError):
            for _ in range(1000):
                wire.send(post("/v1/notes", note))


def test_slow_work_is_not_a_slow_client(impatient: Running) -> None:
    """Only the time that a client is waited for counts."""
    with impatient.wire() as wire:
        wire.send(get("/v1/wait"))
        time.sleep(1.5)
        impatient.lab.go_on.set()
        assert wire.response().status == 200


def test_a_steady_body_may_take_longer_than_a_stalled_one(impatient: Running) -> None:
    body = b'{"text":"a"' + b" " * 500_000 + b"}"

    with impatient.wire() as wire:
        wire.send(post("/v1/notes", length=len(body)))
        for at in range(0, len(body), 50_000):
            wire.send(body[at : at + 50_000])
            time.sleep(0.12)
        assert wire.response().status == 201


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /heal",
        post("/v1/notes", length=50),
        post("/v1/files", b'{"payload_b64url":"' + b"QUJD" * 300_000, length=50_000_000),
    ],
    ids=["in its head", "before its body", "in its payload"],
)
def test_a_client_that_goes_away_leaves_nothing_behind(sample: Running, sent: bytes) -> None:
    with sample.wire() as wire:
        wire.send(sent)
    given_up_at = time.monotonic() + TOO_LONG_S
    while sample.server.open_connections and time.monotonic() < given_up_at:
        time.sleep(0.01)

    assert sample.server.open_connections == 0


def test_a_client_that_does_not_wait_for_its_answer_harms_nobody(sample: Running) -> None:
    with sample.wire() as wire:
        wire.send(get("/v1/wait"))
        assert sample.lab.waiting.wait(5)
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
    sample.lab.go_on.set()

    assert httpx.get(f"{sample.url}/healthz").status_code == 200


def test_a_client_that_sends_fast_does_not_keep_others_waiting() -> None:
    """What has already arrived could be read on and on without a pause."""

    async def turns_of_others() -> int:
        ours, theirs = socket.socketpair()
        stream = IOStream(ours)
        connection = Connection(sample_site(), stream, Peer("127.0.0.1"), Patience())
        turns = 0

        async def other() -> None:
            nonlocal turns
            while not stream.closed():
                turns += 1
                await asyncio.sleep(0)

        waiting = asyncio.create_task(other())
        for _ in range(100):
            theirs.send(b" " * 30_000)
            await connection.more()
            connection.buffer.clear()
        stream.close()
        theirs.close()
        await waiting
        return turns

    assert asyncio.run(turns_of_others()) > 5


# --- the end


def test_an_accepted_request_is_finished_before_the_server_stops() -> None:
    with running() as server, server.wire() as busy, server.wire() as idle:
        idle.send(get("/healthz")).response()
        busy.send(get("/v1/wait"))
        assert server.lab.waiting.wait(5)
        stopping = threading.Thread(target=server.call, args=(lambda: server.server.stop_gracefully(within_s=5),))
        stopping.start()
        assert idle.ended()
        with pytest.raises(ConnectionError):
            server.wire()
        server.lab.go_on.set()
        response = busy.response()
        stopping.join(5)

    assert (response.status, response.headers["connection"]) == (200, "close")


def test_a_request_that_does_not_end_does_not_hold_the_server_up() -> None:
    with running() as server, server.wire() as busy:
        busy.send(get("/v1/wait"))
        assert server.lab.waiting.wait(5)
        began = time.monotonic()
        server.call(lambda: server.server.stop_gracefully(within_s=0.5))

        assert 0.4 < time.monotonic() - began < 3
        assert busy.ended()


# --- what no route of ours knows


class Page(tornado.web.RequestHandler):
    def get(self) -> None:
        self.write(f"page for {self.request.remote_ip}")

    def post(self) -> None:
        self.write(self.request.body)


class Echo(tornado.websocket.WebSocketHandler):
    def on_message(self, message: str | bytes) -> None:
        self.write_message(message)


def pages() -> HTTPServerConnectionDelegate:
    return tornado.web.Application([("/dash/page", Page), ("/dash/socket", Echo)])


@pytest.fixture(scope="module")
def with_pages():
    with running(otherwise=pages) as server:
        yield server


def test_what_no_route_knows_is_answered_by_tornado_on_the_same_connection(with_pages: Running) -> None:
    with httpx.Client(base_url=with_pages.url) as client:
        kept = [
            client.get("/healthz").json(),
            client.get("/dash/page").text,
            client.get("/healthz").json(),
        ]
        large = [client.post("/dash/page", content=b"x" * 300_000).text for _ in range(20)]

    assert kept == [{"status": "ok"}, "page for 127.0.0.1", {"status": "ok"}]
    assert large == ["x" * 300_000] * 20


def test_requests_sent_at_once_keep_their_order_across_both(with_pages: Running) -> None:
    with with_pages.wire() as wire:
        wire.send((get("/healthz") + get("/dash/page")) * 5)
        bodies = [wire.response().body for _ in range(10)]

    assert bodies == [b'{"status":"ok"}', b"page for 127.0.0.1"] * 5


def test_a_websocket_can_be_opened_beside_the_routes(with_pages: Running) -> None:
    async def talk() -> str | bytes | None:
        socket = await tornado.websocket.websocket_connect(f"ws://127.0.0.1:{with_pages.port}/dash/socket")
        await socket.write_message("hello")
        answered = await socket.read_message()
        socket.close()
        assert await socket.read_message() is None  # until it is closed
        return answered

    assert asyncio.run(talk()) == "hello"
