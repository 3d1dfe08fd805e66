"""Sends requests to a server and measures their effect on it and on other requests."""

from __future__ import annotations

import http.client
import json
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter, sleep

from benchmarks.servers import Server
from benchmarks.stall import processor_time
from benchmarks.stall.targets import Target

REQUEST_TIMEOUT_S = 90.0
MIN_CONTROL_S = 0.2
MAX_CONTROL_S = 2.0
CONNECTION_BROKEN = 599
_CLOCKS = (processor_time.own_s, processor_time.total_s, processor_time.waiting_s)
ReadProbe = Callable[[], float]
"""Returns the longest wait of the probe, in ms, since the last call."""


@dataclass(frozen=True)
class Outcome:
    """The measured effects of one request, or of several concurrent ones."""

    status: int
    answer_bytes: int
    probe_ms: float  # the longest wait for /healthz during the request
    cpu_s: float  # of the server and its children
    own_cpu_s: float  # of the server's process only, which runs the event loop, without the cost of the probe
    wall_s: float
    waiting_s: float = 0.0  # for which the server's threads waited for a processor


class ServerUnderAttack:
    """A server and the probe that measures it; `sent` counts requests."""

    def __init__(self, server: Server, read_probe: ReadProbe) -> None:
        self._server = server
        self._read_probe = read_probe
        self._probe_share = self._measure_probe_share()
        self.sent = 0

    def send(self, target: Target, body: bytes, *, at_once: int = 1) -> Outcome:
        """Send one request, or `at_once` equal ones concurrently, and measure until all have a response."""
        self.sent += at_once
        self._read_probe()
        pid = self._server.pid
        own, total, waited = (read(pid) for read in _CLOCKS)
        begin = perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            answers = list(pool.map(lambda _: self._exchange(target, body), range(at_once)))
        wall_s, probe_ms = perf_counter() - begin, self._read_probe()
        status, size = max(answers)
        now = [read(pid) for read in _CLOCKS]
        probe_s = self._probe_share * wall_s
        own, total = max(0.0, now[0] - own - probe_s), max(0.0, now[1] - total - probe_s)
        return Outcome(status, size, probe_ms, total, own, wall_s, max(0.0, now[2] - waited))

    def _measure_probe_share(self) -> float:
        """Measure the share of a processor that responses to the probe take."""
        sleep(MIN_CONTROL_S)
        before, begin = processor_time.own_s(self._server.pid), perf_counter()
        sleep(MAX_CONTROL_S)
        return (processor_time.own_s(self._server.pid) - before) / (perf_counter() - begin)

    def measure_control_ms(self, as_long_as: Outcome) -> float:
        """Measure the probe's longest wait without any attack, for as long as an attack took."""
        self._read_probe()
        sleep(min(MAX_CONTROL_S, max(MIN_CONTROL_S, as_long_as.wall_s)))
        return self._read_probe()

    def _exchange(self, target: Target, body: bytes) -> tuple[int, int]:
        connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=REQUEST_TIMEOUT_S)
        headers = {**target.headers, "Idempotency-Key": secrets.token_hex(16)}
        if target.has_body:
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(target.method, target.path, body if target.has_body else None, headers)
            answer = connection.getresponse()
            return answer.status, len(answer.read())
        except (OSError, http.client.HTTPException):
            return CONNECTION_BROKEN, 0
        finally:
            connection.close()


@contextmanager
def watch_server(server: Server) -> Iterator[ServerUnderAttack]:
    """Measure a server with a probe process until the block ends."""
    command = [sys.executable, "-m", "benchmarks.stall.probe", str(server.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def read() -> float:
            stdin.write("\n")
            stdin.flush()
            report: Mapping[str, float] = json.loads(stdout.readline())
            return report["worst_ms"]

        yield ServerUnderAttack(server, read)
        stdin.close()
