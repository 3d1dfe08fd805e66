"""A closed-loop load: N keep-alive connections, each of which sends its next request when the last response is in.

It runs in a separate process and does as little work as possible (one epoll, prepared
requests, no HTTP library), so that it measures the server and not itself. It reads plans
as JSON from stdin and writes results as JSON to stdout. Any status other than the expected
one ends the run, because the speed of an error is not a figure.
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

# Each time a request is sent, a fresh number replaces this text.
FRESH = "%FRESH%"
DRAIN_S = 10


@dataclass(frozen=True)
class Plan:
    """A load to run; `requests` are complete HTTP/1.1 requests, sent in turn."""

    port: int
    connections: int
    seconds: float
    warmup_s: float
    status: int
    requests: list[str]


@dataclass(frozen=True)
class Load:
    """The result of a load; latencies are from the first byte sent to the last byte received.

    `responses` counts all responses, including those of the warm-up and after the end.
    """

    responses: int
    per_second: float
    p50_ms: float
    p99_ms: float


def format_request(method: str, path: str, body: dict[str, Any] | None = None, **headers: str) -> str:
    """Return a complete HTTP/1.1 request; `_` in a header's name becomes `-`, and the body is ASCII."""
    raw = "" if body is None else json.dumps(body)
    fields = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if raw:
        fields |= {"Content-Type": "application/json", "Content-Length": str(len(raw))}
    return f"{method} {path} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items()) + "\r\n" + raw


def run_load(plan: Plan) -> Load:
    """Run one load in a separate process.

    Raises:
        RuntimeError: a response had another status than the plan expects.
    """
    return run_loads_in_order([plan], [0])[0]


def run_loads_in_order(plans: Sequence[Plan], order: Sequence[int]) -> list[Load]:
    """Run the plans at the indexes in `order`, one after another, in a separate process; each has its own connections.

    Raises:
        RuntimeError: a response had another status than its plan expects.
    """
    command = [sys.executable, "-m", "benchmarks.load"]
    job = json.dumps({"plans": [asdict(plan) for plan in plans], "order": list(order)})
    done = subprocess.run(command, input=job, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return [Load(**each) for each in json.loads(done.stdout)]


class Connection:
    """One keep-alive connection with at most one request in flight."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._received = b""

    def send(self, request: bytes) -> None:
        self._received = b""
        self.sent_at = perf_counter()
        self.socket.sendall(request)

    def read_response(self) -> bytes | None:
        """Return the complete response, or None while a part of it is missing."""
        received = self.socket.recv(262_144)
        if not received:
            raise RuntimeError("The server closed the connection.")
        self._received += received
        return self._received if _is_complete(self._received) else None


def _is_complete(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    if end < 0:
        return False
    at = answer.index(b"Content-Length:", 0, end) + 15
    return len(answer) >= end + 4 + int(answer[at : answer.index(b"\r\n", at)])


def _cycle_requests(requests: list[str]) -> Iterator[bytes]:
    """Yield the requests in turn, without end; a fresh number replaces `FRESH` in each."""
    parts = [tuple(request.encode().split(FRESH.encode())) for request in requests]
    for number, pieces in zip(count(), cycle(parts)):
        yield (b"%010d" % number).join(pieces)


class LoadRun:
    """One running plan: it counts responses after the warm-up, and only waits for them after the end."""

    def __init__(self, plan: Plan, connections: list[Connection]) -> None:
        self._plan = plan
        self._connections = {connection.socket.fileno(): connection for connection in connections}
        self._requests = _cycle_requests(plan.requests)
        self._expected = f"HTTP/1.1 {plan.status} ".encode()
        self._latencies: list[float] = []
        self._in_flight = plan.connections
        self._responses = 0

    def measure(self) -> Load:
        poll = select.epoll()
        for descriptor in self._connections:
            poll.register(descriptor, select.EPOLLIN)
        self._begin = perf_counter() + self._plan.warmup_s
        self._end = self._begin + self._plan.seconds
        for connection in self._connections.values():
            connection.send(next(self._requests))
        while self._in_flight:
            if perf_counter() > self._end + DRAIN_S:
                raise RuntimeError(f"{self._in_flight} requests had no response within {DRAIN_S} s.")
            for descriptor, _ in poll.poll(1):
                self._on_readable(self._connections[descriptor])
        poll.close()
        return self._summarise()

    def _on_readable(self, connection: Connection) -> None:
        answer = connection.read_response()
        if answer is None:
            return
        now = perf_counter()
        self._responses += 1
        if not answer.startswith(self._expected):
            raise RuntimeError(f"Not the expected {self._plan.status}: {answer[:600].decode(errors='replace')}")
        if self._begin <= now < self._end:
            self._latencies.append(now - connection.sent_at)
        if now < self._end:
            connection.send(next(self._requests))
        else:
            self._in_flight -= 1

    def _summarise(self) -> Load:
        ordered = sorted(self._latencies) or [self._plan.seconds]  # a disk can stall for the whole of a short window
        p50, p99 = (1000 * ordered[int(share * (len(ordered) - 1))] for share in (0.50, 0.99))
        return Load(self._responses, len(self._latencies) / self._plan.seconds, p50, p99)


def _run_plans(job: Any) -> list[Load]:
    plans = [Plan(**each) for each in job["plans"]]
    connected = [[Connection(plan.port) for _ in range(plan.connections)] for plan in plans]
    return [LoadRun(plans[place], connected[place]).measure() for place in job["order"]]


if __name__ == "__main__":
    try:
        print(json.dumps([asdict(load) for load in _run_plans(json.load(sys.stdin))]))
    except RuntimeError as error:
        sys.exit(str(error))
