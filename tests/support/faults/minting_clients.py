"""Clients that never give up: each mints under an Idempotency-Key and repeats, until it has an answer, what got none.

They remember each acknowledgement, which has to hold whatever happens to the server.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx

from support.attestations import make_mint_body, mint
from support.faults.mint_jobs import AcknowledgedMint
from support.faults.servers import ForkedServer
from support.timeouts import WAIT_TIMEOUT_S

IN_FLIGHT, UNAVAILABLE = 409, 503
PAUSE_S = 0.01
NO_TLS_CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without one, each httpx.Client reads the system's: 50 ms
CHECKPOINT_INTERVAL = 3  # mints between two reads of the public checkpoint


@dataclass
class MintingClient:
    """One client; `pending` is the key of a mint that it has no answer to, after any of the `refusing` statuses too."""

    issuer: dict[str, Any]
    refusing: frozenset[int] = frozenset({IN_FLIGHT, UNAVAILABLE})
    answers: dict[str, httpx.Response] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    refusals: list[httpx.Response] = field(default_factory=list)
    pending: str | None = None

    def work(self, http: httpx.Client, is_over: Callable[[], bool]) -> None:
        """Mint until it is over, whether the server answers or not."""
        while not is_over():
            try:
                self.step(http)
            except httpx.TransportError:
                time.sleep(PAUSE_S)

    def settle(self, http: httpx.Client) -> None:
        """Repeat what is pending until it is answered."""
        while self.pending is not None:
            self.step(http)

    def step(self, http: httpx.Client) -> None:
        """One mint, or one attempt at the pending one."""
        key = self.pending = self.pending or str(uuid4())
        answer = mint(http, self.body(key), key=key)
        if answer.status_code in self.refusing:
            self.refusals.append(answer)
            time.sleep(PAUSE_S)
            return
        assert answer.status_code == 201, answer.text
        self.answers[key], self.pending = answer, None
        if len(self.answers) % CHECKPOINT_INTERVAL == 0:
            self.read_checkpoint(http)

    def read_checkpoint(self, http: httpx.Client) -> None:
        """Read the public checkpoint."""
        shown = http.get("/log/checkpoint")
        if shown.status_code == 200:
            self.seen.add(shown.text)
        else:
            assert shown.status_code in self.refusing, shown.text

    def body(self, key: str) -> dict[str, Any]:
        """The mint that belongs to a key."""
        return make_mint_body(self.issuer, subject_reference=key)


class MintingClients:
    """Several clients at once, each a thread with its own connection."""

    def __init__(self, issuer: dict[str, Any], count: int) -> None:
        self.clients = [MintingClient(issuer) for _ in range(count)]
        self._faults: list[BaseException] = []

    @contextmanager
    def at_work(self, *servers: ForkedServer) -> Iterator[threading.Event]:
        """Traffic on the servers, in turn, for as long as the block lasts."""
        over = threading.Event()
        threads = [
            threading.Thread(target=self._work, args=(client, servers[number % len(servers)], over))
            for number, client in enumerate(self.clients)
        ]
        for thread in threads:
            thread.start()
        try:
            yield over
        finally:
            over.set()
            for thread in threads:
                thread.join()
        assert not self._faults, self._faults[0]

    def _work(self, client: MintingClient, server: ForkedServer, over: threading.Event) -> None:
        try:
            with server.client(verify=NO_TLS_CONTEXT) as http:
                client.work(http, over.is_set)
        except BaseException as error:  # raised again in the thread that waits for us
            self._faults.append(error)

    def settle(self, server: ForkedServer) -> None:
        """Let every client have its last answer."""
        with server.client(verify=NO_TLS_CONTEXT) as http:
            for client in self.clients:
                client.settle(http)

    @property
    def answers(self) -> dict[str, httpx.Response]:
        """Every acknowledgement, by its key."""
        return {key: answer for client in self.clients for key, answer in list(client.answers.items())}

    def wait_for_answer(self, within_s: float = WAIT_TIMEOUT_S) -> None:
        """Until one more mint is acknowledged."""
        deadline, before = time.monotonic() + within_s, len(self.answers)
        while len(self.answers) == before and not self._faults:
            assert time.monotonic() < deadline, "no client gets an answer"
            time.sleep(0.001)

    def wait_for_answers(self, of_each: int) -> None:
        """Until each client has that many answers, so that all are at work at the same time."""
        deadline = time.monotonic() + WAIT_TIMEOUT_S
        while min(len(client.answers) for client in self.clients) < of_each and not self._faults:
            assert time.monotonic() < deadline, "a client gets no answer"
            time.sleep(0.01)

    @property
    def acknowledged(self) -> list[AcknowledgedMint]:
        """Every acknowledgement, as a fact."""
        return [read_acknowledgement(answer) for answer in self.answers.values()]

    @property
    def seen(self) -> set[str]:
        """Every checkpoint that a client looked at."""
        return {note for client in self.clients for note in client.seen}


def read_acknowledgement(answer: httpx.Response) -> AcknowledgedMint:
    """What a mint's answer states."""
    minted = answer.json()
    return AcknowledgedMint(minted["id"], minted["log_index"], minted["checkpoint"])
