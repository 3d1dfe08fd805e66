"""A mail server on loopback (RFC 5321) that misbehaves where a test wants it to."""

from __future__ import annotations

import socket
import socketserver
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import NamedTuple

from support.timeouts import WAIT_TIMEOUT_S


class SmtpStage(StrEnum):
    """What the server replies to."""

    BANNER = "banner"
    EHLO = "EHLO"
    MAIL = "MAIL"
    RCPT = "RCPT"
    DATA = "DATA"
    DOT = "the final dot"
    QUIT = "QUIT"


class FaultKind(StrEnum):
    """How the server replies where it misbehaves."""

    SILENT = "silent"
    DRIP = "drip"
    ENDLESS = "endless"
    RESET = "reset"
    GARBAGE = "garbage"
    LATER = "4xx"
    NEVER = "5xx"


class MailFault(NamedTuple):
    """One misbehaviour, in one connection."""

    stage: SmtpStage
    kind: FaultKind

    @property
    def accepts(self) -> bool:
        """Whether the server has said 2xx to the message in spite of it."""
        return self.stage is SmtpStage.QUIT or (
            self.stage is SmtpStage.DOT and self.kind in (FaultKind.DRIP, FaultKind.ENDLESS)
        )


EVERY_FAULT = [MailFault(stage, kind) for stage in SmtpStage for kind in FaultKind]
FaultOf = Callable[[int], MailFault | None]  # of the n-th connection, from 0


class Accepted(NamedTuple):
    """A message that the server has accepted, as it came over the wire."""

    recipient: str
    content: bytes


class MailServer(socketserver.ThreadingTCPServer):
    """`accepted` are the messages that it said 2xx to; `commands` are all lines that clients sent."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, fault_of: FaultOf, extensions: tuple[str, ...], tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.fault_of = fault_of
        self.tls = tls
        self.extensions = extensions
        self.connections = 0
        self.messages = 0  # that came with their final dot
        self.accepted: list[Accepted] = []
        self.commands: list[bytes] = []
        self.is_over = threading.Event()
        self.seconds_until_reply_to_dot = 0.0  # unless it is released before
        self.is_released = threading.Event()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.server_address[1]}"

    def next_fault(self) -> MailFault | None:
        with self._lock:
            self.connections += 1
            return self.fault_of(self.connections - 1)


class _Over(Exception):
    """The connection has ended."""


class _Connection(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        with suppress(OSError):
            if self.server.tls is not None and "STARTTLS" not in self.server.extensions:
                self._start_tls()
            self._serve()

    def finish(self) -> None:
        """Close the socket that TLS put around the one which socketserver closes."""
        self.rfile.close()
        self.connection.close()

    def _start_tls(self) -> None:
        assert self.server.tls is not None
        self.rfile.close()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")

    def _serve(self) -> None:
        self.fault = self.server.next_fault()
        with suppress(_Over, OSError):
            self._reply(SmtpStage.BANNER, "220 box ESMTP")
            while line := self.rfile.readline():
                self.server.commands.append(line)
                if line == b"STARTTLS\r\n":
                    self._write(b"220 go ahead\r\n")
                    self._start_tls()
                    continue
                self._answer(line[:4].upper().strip(), line)

    def _answer(self, verb: bytes, line: bytes) -> None:
        if verb in (b"EHLO", b"HELO"):
            *others, last = ("box", *self.server.extensions)
            self._reply(SmtpStage.EHLO, *(f"250-{name}" for name in others), f"250 {last}")
        elif verb == b"MAIL":
            self._reply(SmtpStage.MAIL, "250 ok")
        elif verb == b"RCPT":
            self.recipient = line.decode().partition("<")[2].partition(">")[0]
            self._reply(SmtpStage.RCPT, "250 ok")
        elif verb == b"DATA":
            if self._reply(SmtpStage.DATA, "354 end with a dot"):
                self._take_message()
        elif verb == b"QUIT":
            self._reply(SmtpStage.QUIT, "221 bye")
            raise _Over
        else:
            self._write(b"235 signed in\r\n" if verb == b"AUTH" else b"502 unknown\r\n")

    def _take_message(self) -> None:
        lines = list(iter(self.rfile.readline, b".\r\n"))
        self.server.messages += 1
        self.server.is_released.wait(self.server.seconds_until_reply_to_dot)
        if self.server.is_over.is_set():
            raise _Over
        if self.fault is None or self.fault.stage is not SmtpStage.DOT or self.fault.accepts:
            self.server.accepted.append(Accepted(self.recipient, b"".join(lines)))
        self._reply(SmtpStage.DOT, "250 accepted")

    def _reply(self, stage: SmtpStage, *lines: str) -> bool:
        """Reply, or misbehave; returns whether the client may continue with what it announced."""
        reply = "".join(f"{line}\r\n" for line in lines).encode()
        if self.fault is None or self.fault.stage is not stage:
            self._write(reply)
            return True
        getattr(self, f"_{self.fault.kind.name.lower()}")(reply)
        return False

    def _write(self, content: bytes) -> None:
        self.connection.sendall(content)

    def _wait_until_left(self) -> None:
        self.rfile.read()
        raise _Over

    def _silent(self, reply: bytes) -> None:
        self._wait_until_left()

    def _drip(self, reply: bytes) -> None:
        for byte in reply[:-2] + b" and more" * 1000:
            self._write(bytes([byte]))
            if self.server.is_over.wait(0.05):
                raise _Over

    def _endless(self, reply: bytes) -> None:
        while not self.server.is_over.is_set():
            self._write(reply[:3] + b"-more to come\r\n")

    def _reset(self, reply: bytes) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise _Over

    def _garbage(self, reply: bytes) -> None:
        self._write(b"\x00\xff\xfe neither a code nor a text\r\n")

    def _later(self, reply: bytes) -> None:
        self._write(b"451 later\r\n")

    def _never(self, reply: bytes) -> None:
        self._write(b"554 no\r\n")


def no_fault(connection: int) -> None:
    """Behave."""


@contextmanager
def serve_mail(
    fault_of: FaultOf = no_fault,
    *,
    extensions: tuple[str, ...] = ("8BITMIME",),
    tls: ssl.SSLContext | None = None,
) -> Iterator[MailServer]:
    """Serve until left; with `tls` from the first byte, or where the extensions name STARTTLS, from that command on."""
    with MailServer(fault_of, extensions, tls) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.is_over.set()
            server.is_released.set()
            server.shutdown()
            thread.join(WAIT_TIMEOUT_S)
