"""Connections that are used again: by one endpoint alone, without bytes of an earlier response, and never stale."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from uuid import UUID

import pytest

from attestlab.webhooks.http_transport import HttpTransport, OutgoingRequest, SendFailed
from support.certificates import serve_with, write_certificate
from support.receivers import Handler, Receiver, ReceiverConnection, accept_everything, serve_receiver
from support.timeouts import WAIT_TIMEOUT_S

ONE, ANOTHER = UUID(int=1), UUID(int=2)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GONE = b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"
LONG = b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000  # the surplus is not read with it
ENDED = "ended before a response"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "valid.pem", "localhost")


@pytest.fixture(params=["http", "https"])
def tls(request: pytest.FixtureRequest, certificate: Path) -> Path | None:
    """The certificate of a receiver with TLS; None for one without."""
    return certificate if request.param == "https" else None


def serve(handle: Handler, certificate: Path | None) -> AbstractContextManager[Receiver]:
    return serve_receiver(handle, tls=serve_with(certificate) if certificate else None, host="localhost")


def send_in_turn(
    receiver: Receiver, *endpoints: UUID, certificate: Path | None = None, pause_s: float = 0.0
) -> list[int | str]:
    """Send a request for each endpoint in turn; returns the statuses, or the reasons why there is none."""
    context = ssl.create_default_context(cafile=certificate) if certificate else None
    transport = HttpTransport(allow_private=True, timeout_s=WAIT_TIMEOUT_S, tls=context)

    async def send(endpoint: UUID) -> int | str:
        try:
            return (await transport.send(OutgoingRequest(endpoint, receiver.url, {}, b"{}"))).status
        except SendFailed as failed:
            return failed.reason

    async def send_all() -> list[int | str]:
        outcomes = []
        for endpoint in endpoints:
            outcomes.append(await send(endpoint))
            await asyncio.sleep(pause_s)
        await transport.close()
        return outcomes

    return asyncio.run(send_all())


def answer_with_surplus(*pieces: bytes) -> Handler:
    """Answer the first request of the receiver with these pieces, and any other with 200."""

    def handle(connection: ReceiverConnection) -> None:
        while connection.read_request():
            connection.send(*(pieces if len(connection.receiver.requests) == 1 else [OK]))

    return handle


@pytest.mark.parametrize("pieces", [[OK + GONE], [LONG + GONE], [OK, GONE], [OK + b"\n"], [OK + GONE * 2000]])
@pytest.mark.parametrize("pause_s", [0.0, 0.05])
def test_a_surplus_response_answers_no_request(tls: Path | None, pieces: list[bytes], pause_s: float) -> None:
    with serve(answer_with_surplus(*pieces), tls) as receiver:
        pause_s = max(pause_s, 0.05 * (len(pieces) - 1))  # until the last piece has arrived separately
        assert send_in_turn(receiver, ONE, ONE, ONE, certificate=tls, pause_s=pause_s) == [200] * 3
        assert receiver.connections == 2, "what has bytes left is closed, and a clean connection is used again"


def test_endpoints_share_no_connection(tls: Path | None) -> None:
    """Two tenants may have the same host, such as that of a shared receiver."""

    def answer_the_next_request_too(connection: ReceiverConnection) -> None:
        """Send 410 when the next request is on its way, which no sender can notice before."""
        while b"Content" in connection.read_request():
            connection.send(OK)
            connection.socket.recv(1)
            connection.send(GONE)

    with serve(answer_the_next_request_too, tls) as receiver:
        assert send_in_turn(receiver, ONE, ANOTHER, certificate=tls) == [200, 200]
        assert receiver.connections == 2


def test_an_endpoint_uses_its_connection_again(tls: Path | None) -> None:
    with serve(accept_everything, tls) as receiver:
        assert send_in_turn(receiver, ONE, ANOTHER, ONE, ANOTHER, certificate=tls) == [200] * 4
        assert receiver.connections == 2


def end_at_second_request(last_words: bytes = b"", *, reset: bool = False) -> Handler:
    """Answer the first request of each connection, and end it at the second one after these bytes."""

    def handle(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(OK)
        if connection.read_request():
            connection.send(last_words)
            if reset:
                with suppress(OSError):
                    connection.reset()

    return handle


@pytest.mark.parametrize("reset", [False, True])
def test_a_request_on_a_connection_that_the_receiver_had_given_up_is_sent_again(tls: Path | None, reset: bool) -> None:
    with serve(end_at_second_request(reset=reset), tls) as receiver:
        assert send_in_turn(receiver, *[ONE] * 6, certificate=tls) == [200] * 6
        assert (receiver.connections, len(receiver.requests)) == (6, 11)


@pytest.mark.parametrize("last_words", [b"H", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_a_request_that_a_receiver_has_begun_to_answer_is_not_sent_again(tls: Path | None, last_words: bytes) -> None:
    with serve(end_at_second_request(last_words), tls) as receiver:
        first, second = send_in_turn(receiver, ONE, ONE, certificate=tls)
        assert (first, len(receiver.requests)) == (200, 2)
        assert ENDED in str(second)


def test_a_request_on_a_new_connection_is_not_sent_again(tls: Path | None) -> None:
    """The second request is sent again once: the connection after that is new."""

    def answer_once_in_all(connection: ReceiverConnection) -> None:
        while connection.read_request() and len(connection.receiver.requests) == 1:
            connection.send(OK)

    with serve(answer_once_in_all, tls) as receiver:
        outcomes = send_in_turn(receiver, ONE, ONE, ONE, certificate=tls)
        assert outcomes[0] == 200
        assert [ENDED in str(outcome) for outcome in outcomes[1:]] == [True, True]
        assert len(receiver.requests) == 4


def test_a_request_that_times_out_is_not_sent_again() -> None:
    """The receiver may be at work on it."""

    def answer_first(connection: ReceiverConnection) -> None:
        connection.read_request()
        connection.send(OK)
        connection.read_request()
        connection.wait()

    with serve_receiver(answer_first) as receiver:

        async def send_twice() -> None:
            transport = HttpTransport(allow_private=True, timeout_s=1)
            await transport.send(OutgoingRequest(ONE, receiver.url, {}, b"{}"))
            with pytest.raises(SendFailed, match="within 1 seconds"):
                await transport.send(OutgoingRequest(ONE, receiver.url, {}, b"{}"))
            await transport.close()

        asyncio.run(send_twice())
        assert (receiver.connections, len(receiver.requests)) == (1, 2)
