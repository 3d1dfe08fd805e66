"""A closed-loop load: N keep-alive connections, each sending its next request when the answer to the last is in.

It runs in a process of its own and does as little as it can (one epoll, requests made
beforehand, no HTTP library), so that the server is what is measured. Plans come in as
JSON on stdin, the results go out as JSON on stdout. Any other status than the expected
one ends the run: a fast error is not a figure.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import count, cycle
from time import perf_counter
from typing import Any

# Where a request carries this, each sending of it carries a number of its own.
FRESH = "%FRESH%"
DRAIN_S = 10


@dataclass(frozen=True)
class Plan:
    """What to send where; `requests` are whole HTTP/1.1 requests, sent in turn."""

    port: int
    connections: int
    seconds: float
    warmup_s: float
    status: int
    requests: list[str]


@dataclass(frozen=True)
class Load:
    """What came of it; latencies are from the first byte sent to the last byte received.

    `answered` counts every answer, those of the warm-up and after the end too.
    """

    answered: int
    per_second: float
    p50_ms: float
    p99_ms: float


def request(method: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> str:
    """A whole HTTP/1.1 request; a header's `_` stands for `-`, and the body has only ASCII."""
    raw = "" if body is None else json.dumps(body)
    fields = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if raw:
        fields |= {"Content-Type": "application/json", "Content-Length": str(len(raw))}
    return f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n" + raw


def run(plan: Plan) -> Load:
    """Carry out the plan in another process.

    Raises:
        RuntimeError: an answer had another status than the plan expects.
    """
    return run_in_turn([plan], [0])[0]


def run_in_turn(plans: Sequence[Plan], order: Sequence[int]) -> list[Load]:
    """Carry out the plans at these places, one after another, in another process; each over connections of its own.

    Raises:
        RuntimeError: an answer had another status than its plan expects.
    """
    command = [sys.executable, "-m", "benchmarks.load"]
    asked = json.dumps({"plans": [asdict(plan) for plan in plans], "order": list(order)})
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return [Load(**each) for each in json.loads(done.stdout)]


class Connection:
    """One keep-alive connection with at most one request under way."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._received = b""

    def send(self, request: bytes) -> None:
        self._received = b""
        self.sent_at = perf_counter()
        self.socket.sendall(request)

    def answer(self) -> bytes | None:
        """The whole answer, or None while some of it is missing."""
        received = self.socket.recv(262_144)
        if not received:
            raise RuntimeError("The server closed the connection.")
        self._received += received
        return self._received if _is_whole(self._received) else None


def _is_whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = answer.index(b"Content-Length:", 0, end) + 15
    return len(answer) >= end + 4 + int(answer[at : answer.index(b"\r\n", at)])


def _texts(requests: list[str]) -> Iterator[bytes]:
    """The requests in turn, without end, each with a number of its own where it asks for one."""
    parts = [tuple(request.encode().split(FRESH.encode())) for request in requests]
    for number, pieces in zip(count(), cycle(parts)):
        yield (b"%010d" % number).join(pieces)


class Run:
    """One plan under way: after the warm-up answers are counted, after the end they are only awaited."""

    def __init__(self, plan: Plan, connections: list[Connection]) -> None:
        self._plan = plan
        self._connections = {connection.socket.fileno(): connection for connection in connections}
        self._texts = _texts(plan.requests)
        self._expected = f"HTTP/1.1 {plan.status} ".encode()
        self._latencies: list[float] = []
        self._under_way = plan.connections
        self._answered = 0

    def measure(self) -> Load:
        poll = select.epoll()
        for descriptor in self._connections:
            poll.register(descriptor, select.EPOLLIN)
        self._begin = perf_counter() + self._plan.warmup_s
        self._end = self._begin + self._plan.seconds
        for connection in self._connections.values():
            connection.send(next(self._texts))
        while self._under_way:
            if perf_counter() > self._end + DRAIN_S:
                raise RuntimeError(f"{self._under_way} requests were not answered within {DRAIN_S} s.")
            for descriptor, _ in poll.poll(1):
                self._readable(self._connections[descriptor])
        poll.close()
        return self._summary()

    def _readable(self, connection: Connection) -> None:
        answer = connection.answer()
        if answer is None:
            return
        now = perf_counter()
        self._answered += 1
        if not answer.startswith(self._expected):
            raise RuntimeError(f"Not the expected {self._plan.status}: {answer[:600].decode(errors='replace')}")
        if self._begin <= now < self._end:
            self._latencies.append(now - connection.sent_at)
        if now < self._end:
            connection.send(next(self._texts))
        else:
            self._under_way -= 1

    def _summary(self) -> Load:
        ordered = sorted(self._latencies)
        p50, p99 = (1000 * ordered[int(share * (len(ordered) - 1))] for share in (0.50, 0.99))
        return Load(self._answered, len(ordered) / self._plan.seconds, p50, p99)


def _measured(asked: Any) -> list[Load]:
    plans = [Plan(**each) for each in asked["plans"]]
    connected = [[Connection(plan.port) for _ in range(plan.connections)] for plan in plans]
    return [Run(plans[place], connected[place]).measure() for place in asked["order"]]


if __name__ == "__main__":
    try:
        print(json.dumps([asdict(load) for load in _measured(json.load(sys.stdin))]))
    except RuntimeError as error:
        sys.exit(str(error))
