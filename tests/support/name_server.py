"""A name server on loopback, for proofs of domains and webhooks, which answers over UDP as a test chooses."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from support.timeouts import WAIT_TIMEOUT_S


@dataclass
class NameServer:
    """`texts` are the TXT records by name; it fails while `is_broken`; `asked` is every name that it was asked for.

    `addresses` are what a name's A and AAAA records come from, a function that each question calls.
    While `is_silent` it answers nothing; `speak` answers the questions that came during the silence. A question that a
    client sends again, because it waited longer than it wanted (RFC 1035 section 4.2.1), is answered as before and
    counted once.
    """

    address: str
    texts: dict[str, list[str]] = field(default_factory=dict)
    addresses: dict[str, Callable[[], list[str]]] = field(default_factory=dict)
    is_broken: bool = False
    asked: list[str] = field(default_factory=list)
    is_silent: bool = False
    unanswered: list[tuple[bytes, Any]] = field(default_factory=list)
    socket: socket.socket | None = None
    answers: dict[bytes, bytes] = field(default_factory=dict)

    def receive(self, question: bytes, client: Any) -> None:
        """Answer, or keep the question for later."""
        if self.is_silent:
            self.asked.append(_name_of(dns.message.from_wire(question)))
            self.unanswered.append((question, client))
        else:
            if question not in self.answers:
                self.answers[question] = self.answer(question)
            self._send(self.answers[question], client)

    def speak(self) -> None:
        """Answer what came in the silence, and what comes from now on."""
        self.is_silent = False
        for question, client in self.unanswered:
            self._send(self.answer(question), client)

    def _send(self, message: bytes, client: Any) -> None:
        assert self.socket is not None
        self.socket.sendto(message, client)

    def answer(self, question: bytes) -> bytes:
        query = dns.message.from_wire(question)
        response = dns.message.make_response(query)
        response.flags |= dns.flags.RA
        name = _name_of(query)
        self.asked.append(name)
        if self.is_broken:
            response.set_rcode(dns.rcode.SERVFAIL)
        elif name in self.addresses:
            self._add_addresses(query, response)
        elif name not in self.texts:
            response.set_rcode(dns.rcode.NXDOMAIN)
        else:
            records = map(split_text, self.texts[name])
            response.answer.append(dns.rrset.from_text(query.question[0].name, 60, "IN", "TXT", *records))
        return response.to_wire()

    def _add_addresses(self, query: dns.message.Message, response: dns.message.Message) -> None:
        """Add the records of the kind that is asked for, with a lifetime of 0."""
        question = query.question[0]
        kind, is_v6 = dns.rdatatype.to_text(question.rdtype), question.rdtype == dns.rdatatype.AAAA
        records = [address for address in self.addresses[_name_of(query)]() if (":" in address) is is_v6]
        if records:
            response.answer.append(dns.rrset.from_text(question.name, 0, "IN", kind, *records))


def _name_of(query: dns.message.Message) -> str:
    return query.question[0].name.to_text(omit_final_dot=True)


def split_text(text: str) -> str:
    """A text as a record holds it: in strings of at most 255 bytes."""
    return " ".join(f'"{text[at : at + 200]}"' for at in range(0, len(text), 200))


@contextmanager
def serve_dns() -> Iterator[NameServer]:
    """Serve until left."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        server, over = NameServer(f"127.0.0.1:{opened.getsockname()[1]}", socket=opened), b"over"

        def serve() -> None:
            while (received := opened.recvfrom(4096))[0] != over:
                server.receive(*received)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server
        finally:
            opened.sendto(over, opened.getsockname())
            thread.join(WAIT_TIMEOUT_S)
