"""An e-mail goes to the mail server that is set up, over real SMTP; and waits while that server is away."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator

import pytest

from attestlab.core.clock import SystemClock
from attestlab.core.ids import new_id
from attestlab.mail.carriers import MailServer, composed


class Letterbox(socketserver.StreamRequestHandler):
    """The little of RFC 5321 that a delivery needs."""

    def handle(self) -> None:
        self.wfile.write(b"220 letterbox ESMTP\r\n")
        while line := self.rfile.readline():
            verb = line[:4].upper().rstrip()
            if verb == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                self.server.letters.append(b"".join(iter(self.rfile.readline, b".\r\n")))  # type: ignore[attr-defined]
            self.wfile.write(b"221 bye\r\n" if verb == b"QUIT" else b"250 ok\r\n")
            if verb == b"QUIT":
                return


@pytest.fixture
def letterbox() -> Iterator[socketserver.ThreadingTCPServer]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Letterbox) as server:
        server.letters = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join(10)


def test_the_mail_server_gets_the_whole_letter(letterbox: socketserver.ThreadingTCPServer) -> None:
    now = SystemClock().now()
    link = "http://127.0.0.1/invitations/accept?token=" + "x" * 80
    letter = composed(
        mail_id=new_id(now),
        sender="AttestLab <attestlab@localhost.example>",
        recipient="ada@people.example",
        subject="Invitation",
        text=f"Choose a password:\n\n{link}\n",
        at=now,
    )

    MailServer.of(f"smtp://127.0.0.1:{letterbox.server_address[1]}").deliver(letter)

    (received,) = letterbox.letters  # type: ignore[attr-defined]
    assert b"To: ada@people.example\r\n" in received
    assert link.encode() in received


def test_a_mail_server_that_is_away_is_an_error_that_is_tried_again() -> None:
    now = SystemClock().now()
    letter = composed(mail_id=new_id(now), sender="a@b.example", recipient="c@d.example", subject="s", text="t", at=now)

    with pytest.raises(OSError, match="refused"):
        MailServer.of("smtp://127.0.0.1:1").deliver(letter)
