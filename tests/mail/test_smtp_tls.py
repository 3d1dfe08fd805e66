"""SMTP over TLS: a mail and a password are sent only to a server with a valid certificate for its name."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from attestlab.mail import smtp
from attestlab.mail.messages import Sender, compose
from support.certificates import serve_with, write_certificate
from support.mail_server import MailServer, serve_mail

NOW = datetime.now(UTC)
STARTTLS = ("8BITMIME", "STARTTLS", "AUTH PLAIN")
SMTPS = ("8BITMIME", "AUTH PLAIN")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls") / "certificate.pem", "localhost")


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    return serve_with(certificate)


def deliver(server: MailServer, extensions: tuple[str, ...], host: str = "localhost") -> None:
    scheme = "smtp" if extensions is STARTTLS else "smtps"
    sender = Sender("", "lab@lab.example")
    message = compose(mail_id=uuid4(), sender=sender, recipient="ada@people.example", subject="s", text="t", at=NOW)
    smtp.MailServer.of(f"{scheme}://lab:secret@{host}:{server.server_address[1]}").deliver(message)


@pytest.mark.parametrize("extensions", [STARTTLS, SMTPS], ids=["STARTTLS", "smtps"])
def test_a_server_with_a_valid_certificate_gets_password_and_mail(
    certificate: Path, tls: ssl.SSLContext, extensions: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serve_mail(extensions=extensions, tls=tls) as server:
        deliver(server, extensions)

    assert [accepted.recipient for accepted in server.accepted] == ["ada@people.example"]
    assert any(command.startswith(b"AUTH PLAIN") for command in server.commands)


@pytest.mark.parametrize("extensions", [STARTTLS, SMTPS], ids=["STARTTLS", "smtps"])
def test_a_server_with_an_unknown_certificate_gets_neither(tls: ssl.SSLContext, extensions: tuple[str, ...]) -> None:
    with serve_mail(extensions=extensions, tls=tls) as server, pytest.raises(ssl.SSLCertVerificationError):
        deliver(server, extensions)

    assert {command[:4] for command in server.commands} <= {b"ehlo", b"STAR"}


@pytest.mark.parametrize("extensions", [STARTTLS, SMTPS], ids=["STARTTLS", "smtps"])
def test_a_certificate_for_another_name_is_refused(
    certificate: Path, tls: ssl.SSLContext, extensions: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serve_mail(extensions=extensions, tls=tls) as server, pytest.raises(ssl.SSLCertVerificationError):
        deliver(server, extensions, host="127.0.0.1")
