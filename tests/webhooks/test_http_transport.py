"""The transport of webhooks against receivers that behave as some do: each outcome is exact and bounded."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import NamedTuple, TypeVar
from uuid import UUID

import pytest

from attestlab.webhooks.addresses import IPAddress
from attestlab.webhooks.http_transport import (
    MAX_BODY_PIECES,
    MAX_EXCERPT_BYTES,
    HttpTransport,
    OutgoingRequest,
    ReceiverResponse,
    SendFailed,
)
from support.certificates import serve_with, write_certificate
from support.hand_clock import STEP_S, HandClockLoop
from support.ports import hold_port
from support.receivers import Handler, Receiver, ReceiverConnection, accept_everything, respond, serve_receiver
from support.timeouts import WAIT_TIMEOUT_S

ENDPOINT = UUID(int=1)
BODY = b'{"id": "evt-1"}'
HEADERS = {"Content-Type": "application/json", "User-Agent": "Service-Webhook-Service/1.0", "webhook-id": "evt-1"}
SHORT_S = 1.0  # the deadline where it matters; it passes on a clock that the receiver moves
MAX_TAKEN_BYTES = 16 << 20  # more than the socket buffers of both sides hold
Result = TypeVar("Result")


class Expected(NamedTuple):
    """The status and a part of the excerpt, or a part of the reason of a failure; `or_text` is as good a reason."""

    status: int | None
    text: str = ""
    timeout_s: float = WAIT_TIMEOUT_S
    or_text: str = "\n"


def write(*pieces: bytes) -> Handler:
    """Read a request, send these bytes, and close."""

    def handle(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(*pieces)

    return handle


def write_and_wait(*pieces: bytes) -> Handler:
    """Read a request, send these bytes, and keep the connection open."""

    def handle(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(*pieces)
        connection.wait()

    return handle


def respond_after(seconds: float) -> Handler:
    def handle(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.wait(seconds)
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    return handle


def drip(beginning: bytes, piece: bytes, interval_s: float = STEP_S) -> Handler:
    """Send `beginning`, then `piece` again and again."""

    def handle(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(beginning)
        while not connection.receiver.over.is_set():
            connection.send(piece)
            connection.wait(interval_s)

    return handle


def endless(beginning: bytes, piece: bytes) -> Handler:
    def handle(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(beginning)
        for _ in itertools.count():
            connection.send(piece)

    return handle


def reset_at_once(connection: ReceiverConnection) -> None:
    connection.reset()


def reset_after_request(connection: ReceiverConnection) -> None:
    connection.read_request()
    connection.reset()


def reset_in_body(connection: ReceiverConnection) -> None:
    connection.read_request()
    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart")
    connection.wait(STEP_S)
    connection.reset()


def hang(connection: ReceiverConnection) -> None:
    connection.wait()


def outlast(connection: ReceiverConnection) -> None:
    """Send nothing until the deadline has passed."""
    connection.wait(SHORT_S + STEP_S)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ESTABLISHED = "01"  # in /proc/net/tcp; another state once the other side has closed
ENDED = "ended before a response"
LATE = "No response within"
BEHAVIOURS: dict[str, tuple[Handler, Expected]] = {
    "200": (respond("200 OK"), Expected(200, "ok")),
    "201": (respond("201 Created"), Expected(201, "ok")),
    "202 without a body": (respond("202 Accepted", body=b""), Expected(202)),
    "204": (write(b"HTTP/1.1 204 No Content\r\n\r\n"), Expected(204)),
    "299": (respond("299 Fine"), Expected(299)),
    "HTTP/1.0 without a length": (write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"), Expected(200, "until the end")),
    "chunks": (
        write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
        Expected(200, "ok"),
    ),
    "400": (respond("400 Bad Request", body=b"no"), Expected(400, "no")),
    "401": (respond("401 No", "WWW-Authenticate: Basic"), Expected(401)),
    "404": (respond("404 Not Found", body=b"nothing here"), Expected(404, "nothing here")),
    "410": (respond("410 Gone"), Expected(410)),
    "429": (respond("429 Slow", "Retry-After: 120"), Expected(429)),
    "500": (respond("500 Oops", body=b"trace"), Expected(500, "trace")),
    "503": (respond("503 Later", "Retry-After: Fri, 02 Jan 2026 03:04:05 GMT"), Expected(503)),
    **{
        f"redirect {status}": (respond(f"{status} There", "Location: http://127.0.0.1/x"), Expected(status))
        for status in (300, 301, 302, 303, 304, 307, 308)
    },
    "100 and 103, then 200": (
        write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK),
        Expected(200, "ok"),
    ),
    "101": (
        write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        Expected(None, "not valid HTTP"),
    ),
    # Of these two, the faster side decides whether the connection ended or was never open.
    "reset before the request": (reset_at_once, Expected(None, ENDED, or_text="opened (ECONNRESET)")),
    "reset after the request": (reset_after_request, Expected(None, ENDED)),
    "closed without a response": (write(), Expected(None, ENDED)),
    "closed in the head": (write(b"HTTP/1.1 200 OK\r\nContent-Le"), Expected(None, ENDED)),
    "closed in the body": (write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"), Expected(200, "part")),
    "reset in the body": (reset_in_body, Expected(200, "part", SHORT_S)),
    "no HTTP": (write_and_wait(b"220 mail.example ESMTP\r\n\r\n"), Expected(None, "not valid HTTP")),
    "a line that is no HTTP": (write_and_wait(b"SSH-2.0-OpenSSH_9.9\r\n"), Expected(None, LATE, SHORT_S)),
    "HTTP/2 without being asked": (write_and_wait(b"HTTP/2 200\r\n\r\n"), Expected(None, "not valid HTTP")),
    "a status that is no number": (write_and_wait(b"HTTP/1.1 OK 200\r\n\r\n"), Expected(None, "not valid HTTP")),
    "two lengths": (
        write_and_wait(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        Expected(None, "not valid HTTP"),
    ),
    "bad chunks": (
        write_and_wait(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n"),
        Expected(200),
    ),
    "hang after accept": (hang, Expected(None, LATE, SHORT_S)),
    "hang after the request": (write_and_wait(), Expected(None, LATE, SHORT_S)),
    "hang in the head": (write_and_wait(b"HTTP/1.1 200 OK\r\n"), Expected(None, LATE, SHORT_S)),
    "hang in the body": (
        write_and_wait(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart"),
        Expected(200, "part", SHORT_S),
    ),
    "just under the deadline": (respond_after(SHORT_S - STEP_S), Expected(200, "ok", SHORT_S)),
    "just over the deadline": (respond_after(SHORT_S + STEP_S), Expected(None, LATE, SHORT_S)),
    "dripping headers": (drip(b"HTTP/1.1 200 OK\r\n", b"X: x\r\n"), Expected(None, LATE, SHORT_S)),
    "dripping 1xx": (drip(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), Expected(None, LATE, SHORT_S)),
    "dripping body": (
        drip(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"drop "),
        Expected(200, "drop drop", SHORT_S),
    ),
    "dripping body of an error": (
        drip(b"HTTP/1.1 500 Oops\r\nContent-Length: 100000\r\n\r\n", b"drop "),
        Expected(500, "drop drop", SHORT_S),
    ),
    "reply of a gigabyte": (
        endless(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", b"x" * 65536),
        Expected(200, "x" * MAX_EXCERPT_BYTES),
    ),
    "endless chunks": (
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"y" * 65536 + b"\r\n"),
        Expected(200, "yyy"),
    ),
    "chunks of one byte": (
        endless(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nz\r\n" * 2000),
        Expected(200, "z" * MAX_BODY_PIECES),
    ),
    "endless headers": (
        endless(b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 4000 + b"\r\n"),
        Expected(None, "16,384 bytes"),
    ),
    "one huge header": (endless(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536), Expected(None, "16,384 bytes")),
    "endless 1xx": (endless(b"", b"HTTP/1.1 102 Processing\r\n\r\n" * 100), Expected(None, "16,384 bytes")),
    "gzip bomb": (
        write(
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n" + gzip.compress(bytes(16 << 20))
        ),
        Expected(200, "(not decoded: gzip)"),
    ),
    "TLS where the URL says http": (
        write_and_wait(b"\x15\x03\x01\x00\x02\x02\x50\r\n\r\n"),
        Expected(None, "not valid"),
    ),
    "a body of control characters": (respond("200 OK", body=b"a\x00\x1b[2J\xffb"), Expected(200, "a\ufffd\ufffd[2J")),
}


def run(
    transport: HttpTransport,
    use: Callable[[HttpTransport], Awaitable[Result]],
    make_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop,
) -> Result:
    """Use a transport in an event loop, and close it."""

    async def use_and_close() -> Result:
        try:
            return await use(transport)
        finally:
            await transport.close()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        return runner.run(use_and_close())


def run_by_hand_clock(
    receiver: Receiver, transport: HttpTransport, use: Callable[[HttpTransport], Awaitable[Result]]
) -> Result:
    """Use a transport in an event loop whose time passes while the receiver waits, and close it."""

    def make_loop() -> asyncio.AbstractEventLoop:
        receiver.clock = HandClockLoop()
        return receiver.clock

    return run(transport, use, make_loop)


def send_by_hand_clock(receiver: Receiver, transport: HttpTransport) -> ReceiverResponse:
    request = OutgoingRequest(ENDPOINT, receiver.url, HEADERS, BODY)
    return run_by_hand_clock(receiver, transport, lambda open_transport: open_transport.send(request))


def send(url: str, transport: HttpTransport | None = None) -> ReceiverResponse:
    transport = transport or HttpTransport(allow_private=True, timeout_s=WAIT_TIMEOUT_S)
    return run(transport, lambda open_transport: open_transport.send(OutgoingRequest(ENDPOINT, url, HEADERS, BODY)))


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_outcome_of_each_behaviour(name: str) -> None:
    handler, expected = BEHAVIOURS[name]
    transport = HttpTransport(allow_private=True, timeout_s=expected.timeout_s)
    with serve_receiver(handler) as receiver:
        is_timed = expected.timeout_s == SHORT_S
        send_once = partial(send_by_hand_clock, receiver) if is_timed else partial(send, receiver.url)
        if expected.status is None:
            with pytest.raises(SendFailed) as failed:
                send_once(transport)
            assert expected.text in failed.value.reason or expected.or_text in failed.value.reason
            assert not is_timed or failed.value.elapsed_ms <= 1000 * (expected.timeout_s + STEP_S)
        else:
            response = send_once(transport)
            assert not is_timed or response.elapsed_ms <= 1000 * (expected.timeout_s + STEP_S)
            assert (response.status, response.is_success) == (expected.status, 200 <= expected.status < 300)
            assert response.excerpt.startswith(expected.text)
            assert len(response.excerpt.encode()) <= (MAX_BODY_PIECES if "one byte" in name else MAX_EXCERPT_BYTES)
        assert receiver.sent_bytes < MAX_TAKEN_BYTES
        assert receiver.connections == 1


def test_table_has_the_promised_number_of_behaviours() -> None:
    assert len(BEHAVIOURS) >= 22


@pytest.mark.parametrize(("seconds", "is_in_time"), [(4.9, True), (5.1, False)])
def test_the_real_deadline_is_five_seconds(seconds: float, is_in_time: bool) -> None:
    with serve_receiver(respond_after(seconds)) as receiver:
        if is_in_time:
            assert send_by_hand_clock(receiver, HttpTransport(allow_private=True)).status == 200
        else:
            with pytest.raises(SendFailed, match=r"within 5 seconds") as failed:
                send_by_hand_clock(receiver, HttpTransport(allow_private=True))
            assert 5000 <= failed.value.elapsed_ms <= 5100


def test_request_is_sent_as_it_was_signed() -> None:
    with serve_receiver(accept_everything) as receiver:
        send(f"{receiver.url}?team=1")
        (request,) = receiver.requests
    head, _, body = request.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /hook?team=1 HTTP/1.1"
    assert sorted(lines[1:]) == sorted(
        [
            f"Host: 127.0.0.1:{receiver.port}",
            "Accept: */*",
            "Accept-Encoding: identity",
            f"Content-Length: {len(BODY)}",
            *(f"{name}: {value}" for name, value in HEADERS.items()),
        ]
    )
    assert body == BODY


def test_response_headers_are_bounded_and_by_lowercase_name() -> None:
    fields = [*(f"X-{number}: {'x' * 2000}" for number in range(7)), "Retry-After: 7", "retry-after: 9"]
    with serve_receiver(respond("429 Slow", *fields[-2:], *fields[:-2])) as receiver:
        headers = send(receiver.url).headers
    assert headers["retry-after"] == "7"
    assert {len(value) for name, value in headers.items() if name.startswith("x-")} == {1024}


def test_a_refused_connection_is_a_failure() -> None:
    with hold_port() as port, pytest.raises(SendFailed, match="ECONNREFUSED"):
        send(f"http://127.0.0.1:{port}/")


def test_a_receiver_that_never_accepts_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):  # its queue is full now
            transport = HttpTransport(allow_private=True, timeout_s=SHORT_S)
            with pytest.raises(SendFailed, match=LATE):
                send(f"http://127.0.0.1:{port}/", transport)


def test_a_header_that_would_split_the_request_is_not_sent() -> None:
    transport = HttpTransport(allow_private=True)
    with serve_receiver(accept_everything) as receiver:
        request = OutgoingRequest(ENDPOINT, receiver.url, {"webhook-id": "a\r\nX: y"}, BODY)
        with pytest.raises(SendFailed, match="cannot be sent"):
            run(transport, lambda open_transport: open_transport.send(request))
        assert receiver.requests == []


@dataclass(frozen=True)
class TlsReceivers:
    """Certificates for `localhost`, one that has expired, and the context of a client that trusts both."""

    valid: Path
    expired: Path

    @property
    def client(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        for certificate in (self.valid, self.expired):
            context.load_verify_locations(certificate)
        return context


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsReceivers:
    folder = tmp_path_factory.mktemp("tls")
    return TlsReceivers(
        write_certificate(folder / "valid.pem", "localhost"),
        write_certificate(folder / "expired.pem", "localhost", is_expired=True),
    )


def trusting_transport(tls: TlsReceivers, timeout_s: float = WAIT_TIMEOUT_S) -> HttpTransport:
    return HttpTransport(allow_private=True, timeout_s=timeout_s, tls=tls.client)


def test_a_valid_certificate_is_accepted(tls: TlsReceivers) -> None:
    with serve_receiver(accept_everything, tls=serve_with(tls.valid), host="localhost") as receiver:
        assert send(receiver.url, trusting_transport(tls)).status == 200


@pytest.mark.parametrize(
    ("certificate", "host", "is_trusted", "reason"),
    [
        ("valid", "localhost", False, "self-signed"),
        ("valid", "127.0.0.1", True, "IP address mismatch"),
        ("expired", "localhost", True, "expired"),
    ],
)
def test_a_bad_certificate_gets_no_request(
    tls: TlsReceivers, certificate: str, host: str, is_trusted: bool, reason: str
) -> None:
    transport = trusting_transport(tls) if is_trusted else HttpTransport(allow_private=True)
    with serve_receiver(accept_everything, tls=serve_with(getattr(tls, certificate)), host=host) as receiver:
        with pytest.raises(SendFailed, match=f"certificate is not valid: .*{reason}"):
            send(receiver.url, transport)
        assert receiver.requests == []


def test_plain_http_where_the_url_says_https_is_a_failure(tls: TlsReceivers) -> None:
    def refuse(connection: ReceiverConnection) -> None:
        connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.wait()

    with serve_receiver(refuse) as receiver, pytest.raises(SendFailed, match="TLS cannot be established"):
        send(receiver.url.replace("http:", "https:"), trusting_transport(tls))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_deliveries_that_time_out_leave_no_socket_open(tls: TlsReceivers, scheme: str) -> None:
    """With https the handshake hangs; httpcore alone would leave it open."""

    async def time_out(transport: HttpTransport) -> int:
        url = receiver.url.replace("http:", f"{scheme}:")
        for _ in range(5):
            with pytest.raises(SendFailed, match=LATE):
                await transport.send(OutgoingRequest(ENDPOINT, url, HEADERS, BODY))
        return count_client_sockets(receiver)

    with serve_receiver(outlast) as receiver:
        assert run_by_hand_clock(receiver, trusting_transport(tls, SHORT_S), time_out) == 0
        assert receiver.connections == 5


def test_cancelled_deliveries_leave_no_socket_open(tls: TlsReceivers) -> None:
    async def cancel(transport: HttpTransport) -> None:
        for wait_s, scheme in itertools.product((0, 0.001, 0.01, 0.05, None), ("http", "https")):
            url = receiver.url.replace("http:", f"{scheme}:")
            sending, before = asyncio.create_task(transport.send(OutgoingRequest(ENDPOINT, url, HEADERS, BODY))), reads
            await asyncio.sleep(wait_s or 0)
            while wait_s is None and reads == before:
                await asyncio.sleep(0.01)  # until it has sent something
            sending.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sending
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            while count_client_sockets(receiver):  # a socket closes in one of the loop's next rounds
                await asyncio.sleep(0.01)

    reads = 0

    def read_and_hang(connection: ReceiverConnection) -> None:
        nonlocal reads
        connection.socket.recv(1)
        reads += 1
        hang(connection)

    with serve_receiver(read_and_hang) as receiver:
        run(trusting_transport(tls), cancel)
        assert reads >= 2, "deliveries were cancelled while the receiver had them"


def count_client_sockets(receiver: Receiver, state: str = "") -> int:
    """Count the open sockets of this machine that are connected to a receiver (proc(5), /proc/net/tcp)."""
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    rows = [row for row in rows if row[9] != "0" and row[3].startswith(state)]  # 0: no process has it open
    remotes = [int(row[2].partition(":")[2], 16) for row in rows]
    return remotes.count(receiver.port)


def test_open_sockets_are_counted() -> None:
    """Otherwise the tests above would prove nothing."""
    with serve_receiver(hang) as receiver, socket.create_connection((receiver.host, receiver.port)):
        assert count_client_sockets(receiver) == 1


def test_a_connection_is_reused_for_the_same_host_name_only() -> None:
    async def send_twice_each(transport: HttpTransport) -> None:
        for host in ("127.0.0.1", "127.0.0.1", "localhost", "localhost"):
            await transport.send(OutgoingRequest(ENDPOINT, f"http://{host}:{receiver.port}/", HEADERS, BODY))

    with serve_receiver(accept_everything) as receiver:
        run(HttpTransport(allow_private=True), send_twice_each)
        hosts = [request.partition(b"Host: ")[2].partition(b":")[0] for request in receiver.requests]
        assert (receiver.connections, hosts) == (2, [b"127.0.0.1"] * 2 + [b"localhost"] * 2)


def test_a_keep_alive_connection_that_the_receiver_closed_is_opened_again() -> None:
    def answer_once(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(OK)

    async def send_repeatedly(transport: HttpTransport) -> list[int]:
        statuses = []
        for _ in range(5):
            statuses.append((await transport.send(OutgoingRequest(ENDPOINT, receiver.url, HEADERS, BODY))).status)
            while count_client_sockets(receiver, ESTABLISHED):
                await asyncio.sleep(0.01)  # until the receiver's close arrives
        return statuses

    with serve_receiver(answer_once) as receiver:
        assert run(HttpTransport(allow_private=True), send_repeatedly) == [200] * 5
        assert receiver.connections == 5


def test_idle_connections_are_closed_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attestlab.webhooks.connections.IDLE_TTL_S", 0.05)

    async def send_and_wait(transport: HttpTransport) -> None:
        await transport.send(OutgoingRequest(ENDPOINT, receiver.url, HEADERS, BODY))
        await asyncio.to_thread(ended.wait, WAIT_TIMEOUT_S)

    ended = threading.Event()

    def serve_until_closed(connection: ReceiverConnection) -> None:
        accept_everything(connection)
        ended.set()

    with serve_receiver(serve_until_closed) as receiver:
        run(HttpTransport(allow_private=True), send_and_wait)
        assert ended.is_set()


def test_cookies_are_not_stored() -> None:
    with serve_receiver(respond("200 OK", "Set-Cookie: a=b; Path=/")) as receiver:

        async def send_twice(transport: HttpTransport) -> None:
            for _ in range(2):
                await transport.send(OutgoingRequest(ENDPOINT, receiver.url, HEADERS, BODY))

        run(HttpTransport(allow_private=True), send_twice)
        assert [b"cookie" in request.lower() for request in receiver.requests] == [False, False]


def test_hundreds_of_deliveries_run_at_once() -> None:
    """All are in flight before the first is answered."""
    together = 300

    async def send_all() -> set[int]:
        everyone = asyncio.Barrier(together)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"}")
            await everyone.wait()
            writer.write(OK)
            await writer.drain()
            writer.close()

        async with await asyncio.start_server(serve, "127.0.0.1", 0, backlog=together) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
            transport = HttpTransport(allow_private=True, timeout_s=WAIT_TIMEOUT_S)
            sending = (transport.send(OutgoingRequest(ENDPOINT, url, HEADERS, BODY)) for _ in range(together))
            statuses = {response.status for response in await asyncio.gather(*sending)}
            await transport.close()
        return statuses

    assert asyncio.run(send_all()) == {200}


def test_the_first_address_that_accepts_gets_the_delivery() -> None:
    """127.0.0.1 refuses, 127.0.0.2 accepts."""

    class BothAddresses:
        async def resolve(self, host: str) -> list[IPAddress]:
            return [IPv4Address("127.0.0.1"), IPv4Address("127.0.0.2")]

    with serve_receiver(accept_everything, address="127.0.0.2") as receiver:
        transport = HttpTransport(allow_private=True, resolver=BothAddresses())
        assert send(f"http://both.test:{receiver.port}/", transport).status == 200
