"""Transports for e-mails: a mail server (SMTP, RFC 5321) if one is configured, otherwise a Maildir."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from attestlab.core import atomic_files
from attestlab.mail.messages import Message
from attestlab.mail.smtp import MailServer

FOLDERS = ("tmp", "new", "cur")


class Transport(Protocol):
    """Delivers a message; returns once the delivery is certain."""

    def deliver(self, message: Message) -> None:
        """Deliver the message; slow."""
        ...


def open_transport(smtp_url: SecretStr | None, *, folder: Path) -> Transport:
    """Return the mail server at `smtp_url`, or the Maildir `folder`.

    Raises:
        ValidationFailed: the URL is invalid; the message does not repeat it, because it may contain a password.
    """
    return Maildir(folder) if smtp_url is None else MailServer.of(smtp_url.get_secret_value())


@dataclass(frozen=True)
class Maildir:
    """A folder that mail programs read (maildir(5)); each message is a file that only its owner can read."""

    folder: Path

    def deliver(self, message: Message) -> None:
        """Write the message; once it is in `new` it is complete and on disk. A second copy replaces the first."""
        atomic_files.make_private_folder(self.folder)
        for name in FOLDERS:
            atomic_files.make_private_folder(self.folder / name)
        name = str(message.mail_id)
        path = self.folder / "new" / name
        with atomic_files.open_draft(path, within=self.folder / "tmp") as (draft, file):
            file.write(message.content.replace(b"\r\n", b"\n"))
            file.flush()
            os.fsync(file.fileno())
            draft.rename(path)
        atomic_files.fsync_dir(self.folder / "new")


def _write_private(path: Path, content: bytes) -> None:
    descriptor = atomic_files.open_private(path, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
