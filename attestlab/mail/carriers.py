"""Where e-mails go: to a mail server (SMTP, RFC 5321) where one is set up, else into a Maildir.

What is delivered is an Internet message (RFC 5322) in plain text, never wrapped, so that a
link stays in one piece.
"""

from __future__ import annotations

import os
import secrets
import smtplib
import ssl
from dataclasses import dataclass, field
from datetime import datetime
from email import policy
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit
from uuid import UUID

from pydantic import SecretStr

from attestlab.core import folders
from attestlab.core.errors import ValidationFailed

TIMEOUT_S = 10
FOLDERS = ("tmp", "new", "cur")
_PORTS = {"smtp": 25, "smtps": 465}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Carrier(Protocol):
    """Takes a message to where it is read or passed on; returns once that is sure."""

    def deliver(self, message: EmailMessage) -> None:
        """Deliver; slow."""
        ...


def carrier_of(smtp_url: SecretStr | None, *, folder: Path) -> Carrier:
    """The mail server of `smtp_url`, or the Maildir `folder`.

    Raises:
        ValidationFailed: the address is none; the message does not repeat it, for it may hold a password.
    """
    return Maildir(folder) if smtp_url is None else MailServer.of(smtp_url.get_secret_value())


def sender_address(text: str) -> str:
    """Who mails come from: `name@host`, or `Name <name@host>`.

    Raises:
        ValidationFailed: it is no address.
    """
    try:
        header = policy.SMTP.header_factory("From", text)
        is_one = len(header.addresses) == 1 and not header.defects and bool(header.addresses[0].domain)
    except (ValueError, IndexError):  # the parser's, for what is far from an address
        is_one = False
    if not is_one or len(text.splitlines()) != 1:
        message = "ATTESTLAB_MAIL_FROM is an address such as AttestLab <attestlab@example.org>."
        raise ValidationFailed.of("mail_from", "email", message)
    return text


def composed(*, mail_id: UUID, sender: str, recipient: str, subject: str, text: str, at: datetime) -> EmailMessage:
    """The message; its Message-ID follows from `mail_id`, so that a second copy is known as one.

    Raises:
        ValueError: a header has a line break, or an address is none.
    """
    local, _, domain = recipient.rpartition("@")
    message = EmailMessage(policy=policy.SMTP if recipient.isascii() else policy.SMTPUTF8)
    message["From"] = sender
    message["To"] = Address(username=local, domain=domain)
    message["Subject"] = subject
    message["Date"] = at
    message["Message-ID"] = f"<{mail_id}@{message['From'].addresses[0].domain}>"
    message["Auto-Submitted"] = "auto-generated"  # RFC 3834: nobody's holiday answers it
    message.set_content(text, cte="7bit" if text.isascii() else "8bit")
    return message


@dataclass(frozen=True)
class MailServer:
    """A mail server; a password goes there over TLS alone, but on this very machine."""

    host: str
    port: int
    is_tls: bool
    user: str | None = None
    password: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str) -> MailServer:
        """From `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte.

        Raises:
            ValidationFailed: it is no such address.
        """
        parts = _server_address(url)
        user = None if parts.username is None else unquote(parts.username)
        port = parts.port or _PORTS[parts.scheme]
        return cls(parts.hostname or "", port, parts.scheme == "smtps", user, unquote(parts.password or ""))

    def deliver(self, message: EmailMessage) -> None:
        """Hand the message over.

        Raises:
            OSError: the server cannot be reached, refuses (smtplib.SMTPException), or TLS does not hold.
        """
        with self._connected() as server:
            if not self.is_tls and server.has_extn("starttls"):
                server.starttls(context=ssl.create_default_context())
                server.ehlo()
            if self.user is not None:
                self._require_private(server)
                server.login(self.user, self.password)
            options = ["BODY=8BITMIME"] if server.has_extn("8bitmime") else []
            server.send_message(message, mail_options=options)

    def _connected(self) -> smtplib.SMTP:
        if self.is_tls:
            context = ssl.create_default_context()
            server: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=TIMEOUT_S, context=context)
        else:
            server = smtplib.SMTP(self.host, self.port, timeout=TIMEOUT_S)
        server.ehlo()
        return server

    def _require_private(self, server: smtplib.SMTP) -> None:
        if self.host not in _LOOPBACK and not isinstance(server.sock, ssl.SSLSocket):
            raise smtplib.SMTPNotSupportedError("The server offers no TLS, and a password is set.")


@dataclass(frozen=True)
class Maildir:
    """A folder that mail programs read (maildir(5)); each message is a file for its owner alone."""

    folder: Path

    def deliver(self, message: EmailMessage) -> None:
        """Write the message; once it is in `new` it is whole and on disk. A second copy takes the first one's place."""
        folders.make_private(self.folder)
        for name in FOLDERS:
            folders.make_private(self.folder / name)
        name = str(message["Message-ID"]).strip("<>").partition("@")[0]
        draft = self.folder / "tmp" / f"{name}.{secrets.token_hex(4)}"
        _write_private(draft, message.as_bytes(policy=message.policy.clone(linesep="\n")))
        draft.rename(self.folder / "new" / name)
        folders.sync(self.folder / "new")


def _write_private(path: Path, content: bytes) -> None:
    descriptor = folders.open_private(path, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _server_address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
        is_bare = parts.path in ("", "/") and not parts.query and not parts.fragment
    except ValueError:
        is_one = is_bare = False
    if not (is_one and is_bare):
        message = "ATTESTLAB_SMTP_URL is smtp://user:password@host:port, or smtps:// for TLS from the start."
        raise ValidationFailed.of("smtp_url", "url", message)
    return parts
