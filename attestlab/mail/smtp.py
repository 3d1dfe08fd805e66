"""SMTP client (RFC 5321) with a deadline for each step.

Two moments matter. Until the final dot is sent, a broken delivery can be repeated without harm, so all steps up to
it share a short deadline. Once the server has accepted the message, later failures are ignored.
"""

from __future__ import annotations

import re
import smtplib
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from attestlab.core.errors import ValidationFailed
from attestlab.core.urls import quote_url
from attestlab.mail.messages import Message

MAX_REPLY_BYTES = 65_536
_PORTS = {"smtp": 25, "smtps": 465}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ACCEPTED = re.compile(rb"2\d\d[ \r\n-]?")


@dataclass(frozen=True)
class SmtpTimeouts:
    """Timeouts of a delivery in seconds; each is for the whole step, not for a single byte."""

    connect_s: float = 10  # to one address of the server
    reply_s: float = 60  # a reply before the final dot
    handover_s: float = 90  # everything up to the final dot; shorter than a lease (`rules.LEASE_TTL`)
    final_reply_s: float = 600  # the reply to the final dot (RFC 5321, 4.5.3.2.6)
    quit_s: float = 5


@dataclass(frozen=True)
class MailServer:
    """A mail server; a password is sent over TLS only, except to the same machine."""

    host: str
    port: int
    is_tls: bool
    user: str | None = None
    password: str = field(default="", repr=False)
    timeouts: SmtpTimeouts = SmtpTimeouts()

    @classmethod
    def of(cls, url: str, *, timeouts: SmtpTimeouts = SmtpTimeouts()) -> MailServer:
        """Parse `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte.

        Raises:
            ValidationFailed: the URL has another form.
        """
        parts = _parse_server_url(url)
        user = None if parts.username is None else unquote(parts.username)
        port = parts.port or _PORTS[parts.scheme]
        password = unquote(parts.password or "")
        return cls(parts.hostname or "", port, parts.scheme == "smtps", user, password, timeouts)

    def deliver(self, message: Message) -> None:
        """Transmit the message; return once the server has accepted it, regardless of later failures.

        Raises:
            OSError: the server is unreachable, refuses (smtplib.SMTPException) or takes too long, or TLS fails.
        """
        session = self._connect()
        try:
            self._secure(session)
            session.transmit(message)
        finally:
            session.quit_quietly()

    def _connect(self) -> _Session:
        if self.is_tls:
            return _TlsSession(self.host, self.port, timeouts=self.timeouts)
        return _Session(self.host, self.port, timeouts=self.timeouts)

    def _secure(self, session: _Session) -> None:
        session.ehlo_or_helo_if_needed()
        if not self.is_tls and session.has_extn("starttls"):
            session.starttls(context=ssl.create_default_context())
            session.ehlo_or_helo_if_needed()
        if self.user is not None:
            self._require_private(session)
            session.login(self.user, self.password)

    def _require_private(self, session: _Session) -> None:
        if self.host not in _LOOPBACK and not isinstance(session.sock, ssl.SSLSocket):
            raise smtplib.SMTPNotSupportedError("The server offers no TLS, and a password is set.")


class _Deadline:
    """The deadline of the current step: at most the end of the handover, except for the final reply."""

    def __init__(self, handover_s: float) -> None:
        self._handover = self._step = time.monotonic() + handover_s

    def start(self, within_s: float) -> None:
        """Start a step of the handover."""
        self._step = min(time.monotonic() + within_s, self._handover)

    def start_after_handover(self, within_s: float) -> None:
        """Start a step after the final dot, with its own full timeout."""
        self._step = time.monotonic() + within_s

    def remaining_s(self) -> float:
        """Return the seconds that remain for the step.

        Raises:
            TimeoutError: the deadline has passed.
        """
        remaining = self._step - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("The mail server timed out.")
        return remaining


class _Replies:
    """Reader of reply lines with a deadline and a limit of `MAX_REPLY_BYTES`; smtplib reads it as a file."""

    def __init__(self, sock: socket.socket, deadline: _Deadline) -> None:
        self._sock = sock
        self._deadline = deadline
        self._buffer = b""
        self._allowed_bytes = MAX_REPLY_BYTES

    def reset(self) -> None:
        """Reset the length limit for the next reply."""
        self._allowed_bytes = MAX_REPLY_BYTES

    def readline(self, limit: int) -> bytes:
        """Read to the end of a line, up to `limit` bytes, or to the end of the connection."""
        while b"\n" not in self._buffer and len(self._buffer) < limit and self._receive():
            pass
        end = min(self._buffer.find(b"\n") + 1 or limit, limit)
        line, self._buffer = self._buffer[:end], self._buffer[end:]
        return line

    def _receive(self) -> bool:
        self._sock.settimeout(self._deadline.remaining_s())
        received = self._sock.recv(min(4096, self._allowed_bytes))
        self._buffer += received
        self._allowed_bytes -= len(received)
        return bool(received)

    def close(self) -> None:
        """Does nothing: the session closes the socket."""


class _Session(smtplib.SMTP):
    """An SMTP connection; every reply has a deadline and a maximum length."""

    file: _Replies | None

    def __init__(self, host: str, port: int, *, timeouts: SmtpTimeouts) -> None:
        self._timeouts = timeouts
        self._deadline = _Deadline(timeouts.handover_s)
        self._open(host, port)

    def _open(self, host: str, port: int) -> None:
        smtplib.SMTP.__init__(self, host, port, timeout=self._timeouts.connect_s)

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply within `reply_s`."""
        self._deadline.start(self._timeouts.reply_s)
        self._replies().reset()
        return super().getreply()

    def send(self, s: bytes | str) -> None:  # type: ignore[override]  # smtplib itself sends nothing else
        """Send within the remaining time of the current step."""
        if self.sock is not None:
            self.sock.settimeout(self._deadline.remaining_s())
        super().send(s)

    def transmit(self, message: Message) -> None:
        """Send the message with MAIL, RCPT and DATA, up to its acceptance.

        Raises:
            smtplib.SMTPException: the server does not accept it.
        """
        self.command_encoding = "utf-8" if message.needs_smtputf8 else "ascii"
        self._expect(self.docmd("MAIL", f"FROM:<{message.sender}>{self._parameters(message)}"), 250)
        self._expect(self.docmd("RCPT", f"TO:<{message.recipient}>"), 250, 251)
        self._expect(self.docmd("DATA"), 354)
        self._deadline.start(self._timeouts.reply_s)
        sent = message if self.has_extn("8bitmime") else message.in_seven_bits()
        self.send(_dot_stuff(sent.content))
        self._deadline.start_after_handover(self._timeouts.final_reply_s)
        self._require_accepted()

    def quit_quietly(self) -> None:
        """End the session. Never raises: the server's reply to QUIT does not affect the accepted message."""
        with suppress(Exception):
            self._deadline.start_after_handover(self._timeouts.quit_s)
            self.putcmd("QUIT")
            self._replies().reset()
            while (line := self._replies().readline(MAX_REPLY_BYTES)) and not line.startswith(b"221"):
                pass
        with suppress(Exception):
            self.close()

    def _parameters(self, message: Message) -> str:
        if message.needs_smtputf8 and not self.has_extn("smtputf8"):
            raise smtplib.SMTPNotSupportedError("The server takes no address outside of ASCII (SMTPUTF8).")
        utf8 = " SMTPUTF8" if message.needs_smtputf8 else ""
        return (" BODY=8BITMIME" if self.has_extn("8bitmime") else "") + utf8

    def _require_accepted(self) -> None:
        """Read the code of the reply to the final dot.

        The code decides, even if the rest of the reply never arrives.
        """
        self._replies().reset()
        start = self._replies().readline(len("250 "))
        if not start:
            raise smtplib.SMTPServerDisconnected("The connection ended before the reply to the message.")
        if not _ACCEPTED.fullmatch(start):
            raise smtplib.SMTPDataError(int(start[:3]) if start[:3].isdigit() else -1, b"not accepted")

    def _replies(self) -> _Replies:
        if self.sock is None:
            raise smtplib.SMTPServerDisconnected("The connection has ended.")
        if self.file is None:
            self.file = _Replies(self.sock, self._deadline)
        return self.file

    @staticmethod
    def _expect(reply: tuple[int, bytes], *expected_codes: int) -> None:
        if reply[0] not in expected_codes:
            raise smtplib.SMTPResponseException(*reply)


class _TlsSession(_Session, smtplib.SMTP_SSL):
    """A connection with TLS from the first byte; smtplib verifies certificates only with a verifying context."""

    def _open(self, host: str, port: int) -> None:
        context = ssl.create_default_context()
        smtplib.SMTP_SSL.__init__(self, host, port, timeout=self._timeouts.connect_s, context=context)


def _dot_stuff(content: bytes) -> bytes:
    """Terminate the message with the final dot, and double the dot of each line that begins with one."""
    return re.sub(rb"(?m)^\.", b"..", content.removesuffix(b"\r\n")) + b"\r\n.\r\n"


def _parse_server_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
        is_bare = parts.path in ("", "/") and not parts.query and not parts.fragment
    except ValueError:
        is_one = is_bare = False
    if not (is_one and is_bare):
        message = (
            f"{quote_url(url)} is no URL of a mail server. Set ATTESTLAB_SMTP_URL to smtp://user:password@host:port, "
            "or smtps:// for TLS from the start."
        )
        raise ValidationFailed.of("smtp_url", "url", message)
    return parts
