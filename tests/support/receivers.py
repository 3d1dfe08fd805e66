"""Receivers of webhooks with real sockets: each connection is handled by a function that may do anything with it."""

from __future__ import annotations

import errno
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from support.hand_clock import HandClockLoop, wait_until_delivered
from support.timeouts import WAIT_TIMEOUT_S

RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER without a wait (socket(7))


@dataclass
class Receiver:
    """A listening receiver; `connections` counts those that it accepted, `sent_bytes` what clients took.

    `clock` is that of the sender, where a test lets its time pass by hand.
    """

    host: str
    port: int
    scheme: str
    over: threading.Event = field(default_factory=threading.Event)
    requests: list[bytes] = field(default_factory=list)
    connections: int = 0
    sent_bytes: int = 0
    clock: HandClockLoop | None = None

    @property
    def url(self) -> str:
        """The URL of a hook."""
        return f"{self.scheme}://{self.host}:{self.port}/hook"


@dataclass
class ReceiverConnection:
    """One accepted connection, as a handler sees it."""

    receiver: Receiver
    socket: socket.socket

    def read_request(self) -> bytes:
        """Read a request, head and body; returns b"" at the end of the connection."""
        stream = self.socket.makefile("rb")
        head = b""
        while line := stream.readline():
            head += line
            if line == b"\r\n":
                break
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        request = head + stream.read(int(length[1]) if length else 0)
        if request:
            self.receiver.requests.append(request)
        return request

    def send(self, *pieces: bytes) -> None:
        """Send some bytes."""
        for piece in pieces:
            self.socket.sendall(piece)
            self.receiver.sent_bytes += len(piece)

    def wait(self, seconds: float = WAIT_TIMEOUT_S) -> None:
        """Do nothing, until the test is over at the latest; the sender has read by then what was sent before."""
        if self.receiver.clock is None:
            self.receiver.over.wait(seconds)
        else:
            wait_until_delivered(self.socket)
            self.receiver.clock.pass_time(seconds)

    def reset(self) -> None:
        """Close the connection with RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self.socket.close()


Handler = Callable[[ReceiverConnection], None]


@contextmanager
def serve_receiver(
    handle: Handler,
    *,
    tls: ssl.SSLContext | None = None,
    address: str = "127.0.0.1",
    host: str | None = None,
    listening: socket.socket | None = None,
) -> Iterator[Receiver]:
    """Accept connections until left, and handle each in a separate thread."""
    with listening or _listen(address) as listening:
        address = listening.getsockname()[0]
        shown = host or (f"[{address}]" if ":" in address else address)
        receiver = Receiver(shown, listening.getsockname()[1], "https" if tls else "http")
        accepting = threading.Thread(target=_accept, args=(listening, handle, receiver, tls))
        accepting.start()
        try:
            yield receiver
        finally:
            receiver.over.set()
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join(WAIT_TIMEOUT_S)


def listen_on_one_port(*addresses: str) -> list[socket.socket]:
    """Listen on several addresses, on a port that is free on all of them."""
    while True:
        listening = [_listen(addresses[0])]
        port = listening[0].getsockname()[1]
        try:
            for address in addresses[1:]:
                listening.append(_listen(address, port))
        except OSError as error:
            for one in listening:
                one.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return listening


def _listen(address: str, port: int = 0) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=512)


def _accept(listening: socket.socket, handle: Handler, receiver: Receiver, tls: ssl.SSLContext | None) -> None:
    with suppress(OSError):
        while True:
            accepted, _ = listening.accept()
            receiver.connections += 1
            threading.Thread(target=_handle, args=(accepted, handle, receiver, tls), daemon=True).start()


def _handle(accepted: socket.socket, handle: Handler, receiver: Receiver, tls: ssl.SSLContext | None) -> None:
    with accepted, suppress(OSError, ValueError):
        if tls is None:
            handle(ReceiverConnection(receiver, accepted))
            return
        with tls.wrap_socket(accepted, server_side=True) as secured:
            handle(ReceiverConnection(receiver, secured))


def respond(status: str, *fields: str, body: bytes = b"ok") -> Handler:
    """Respond to every request of a connection."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields, "", ""]
    response = "\r\n".join(lines).encode() + body

    def handle(connection: ReceiverConnection) -> None:
        while connection.read_request():
            connection.send(response)

    return handle


def accept_everything(connection: ReceiverConnection) -> None:
    """Respond 200 to every request."""
    respond("200 OK")(connection)
