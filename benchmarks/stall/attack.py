"""Sends each case in growing sizes and judges what it did: to the probe, to the answer's size, to the processor."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

from benchmarks.stall.shapes import Case
from benchmarks.stall.targets import Target, targets
from benchmarks.stall.world import World

MAX_STALL_MS = 100.0
MAX_ANSWER_BYTES = 64_000
MAX_RATIO = 2.5
SIZES = (16_000, 32_000, 480_000, 960_000)
QUICK_SIZES = (16_000, 960_000)
_DOUBLED = {32_000: 16_000, 960_000: 480_000}
_LEAST_CPU_S = 0.08  # below it a ratio is noise
_ATTEMPTS = 3  # a stall or a ratio that is the server's comes back; a busy machine's does not
_AT_ONCE = 8
_TIMEOUT_S = 90.0
_ENOUGH_S = 1.0  # a case that takes this long is not made larger
_CONTROL_S = 2.0


@dataclass(frozen=True)
class Outcome:
    """What one request, or several at once, did."""

    status: int
    answer_bytes: int
    stall_ms: float
    cpu_s: float
    wall_s: float


class Attack:
    """One run over every route."""

    def __init__(self, world: World, *, only: str, quick: bool, verbose: bool) -> None:
        self._world, self._only, self._verbose = world, only, verbose
        self._sizes = QUICK_SIZES if quick else SIZES
        self.sent = 0
        self.noise_ms = 0.0

    def run(self) -> int:
        """The number of defects, each of which is printed."""
        with _probe(self._world.server.port) as self._read:
            sleep(_CONTROL_S)
            self.noise_ms = self._read()["worst_ms"]
            return sum(self._on(target) for target in targets(self._world))

    def _on(self, target: Target) -> int:
        cases = [case for case in target.cases if self._only in f"{target.name} {case.name}"]
        return sum(self._on_case(target, case) for case in cases)

    def _on_case(self, target: Target, case: Case) -> int:
        defects: list[str] = []
        seen: dict[int, Outcome] = {}
        for size in self._sizes if target.has_body else self._sizes[:1]:
            body = case.make(size)
            found = seen[size] = self._send(target, body)
            defects += self._judge(target, body, found)
            if found.status == 401 or found.wall_s > _ENOUGH_S:
                break
            if size in _DOUBLED and _DOUBLED[size] in seen:
                defects += self._ratio(target, case, size)
        else:
            many = self._send(target, body, at_once=_AT_ONCE)
            if many.stall_ms > self._limit:
                many = min((many, self._send(target, body, at_once=_AT_ONCE)), key=lambda each: each.stall_ms)
            if many.stall_ms > self._limit:
                defects.append(f"{_AT_ONCE} at once stall {many.stall_ms:.0f} ms")
        for defect in defects:
            print(f"DEFECT  {target.name}  {case.name}  {len(body):,} bytes  {found.status}  {defect}", flush=True)
        if self._verbose and not defects:
            print(f"ok      {target.name}  {case.name}  {found}", flush=True)
        return len(defects)

    @property
    def _limit(self) -> float:
        return max(MAX_STALL_MS, 3 * self.noise_ms)

    def _judge(self, target: Target, body: bytes, found: Outcome) -> Iterator[str]:
        if found.stall_ms > self._limit:
            again = [] if found.stall_ms > 2_000 else [self._send(target, body).stall_ms for _ in range(_ATTEMPTS - 1)]
            if (least := min([found.stall_ms, *again])) > self._limit:
                yield f"stalls {least:.0f} ms"
        if found.answer_bytes > target.answer_limit or (found.status >= 400 and found.answer_bytes > MAX_ANSWER_BYTES):
            yield f"answers with {found.answer_bytes:,} bytes"
        if found.status >= 500:
            yield f"answers {found.status}"

    def _ratio(self, target: Target, case: Case, size: int) -> Iterator[str]:
        ratios = []
        for _ in range(_ATTEMPTS):
            small, large = (self._send(target, case.make(each)).cpu_s for each in (_DOUBLED[size], size))
            ratios.append(large / max(small, 0.001))
            if large < _LEAST_CPU_S or ratios[-1] <= MAX_RATIO:
                return
        yield f"twice the input costs {min(ratios):.1f} times as much ({large:.2f} s)"

    def _send(self, target: Target, body: bytes, *, at_once: int = 1) -> Outcome:
        self.sent += at_once
        self._read()
        cpu, begin = cpu_s(self._world.server.pid), perf_counter()
        if at_once == 1:
            answers = [self._exchange(target, body)]
        else:
            with ThreadPoolExecutor(at_once) as pool:
                answers = list(pool.map(lambda _: self._exchange(target, body), range(at_once)))
        wall, used = perf_counter() - begin, cpu_s(self._world.server.pid) - cpu
        status, size = max(answers)
        return Outcome(status, size, self._read()["worst_ms"], used, wall)

    def _exchange(self, target: Target, body: bytes) -> tuple[int, int]:
        connection = http.client.HTTPConnection("127.0.0.1", self._world.server.port, timeout=_TIMEOUT_S)
        headers = {**target.headers, "Idempotency-Key": secrets.token_hex(16)}
        if target.has_body:
            headers["Content-Type"] = "application/json"
        try:
            connection.request(target.method, target.path, body if target.has_body else None, headers)
            answer = connection.getresponse()
            return answer.status, len(answer.read())
        except (OSError, http.client.HTTPException):
            return 599, 0
        finally:
            connection.close()


def cpu_s(pid: int) -> float:
    """Processor time of a process and of its children, ended ones too (Linux /proc)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    used = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return used + sum(_of_child(int(child)) for child in children)


def _of_child(pid: int) -> float:
    try:
        return cpu_s(pid)
    except OSError:
        return 0.0


@contextmanager
def _probe(port: int) -> Iterator[Any]:
    command = [sys.executable, "-m", "benchmarks.stall.probe", str(port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def read() -> Mapping[str, float]:
            stdin.write("\n")
            stdin.flush()
            found: Mapping[str, float] = json.loads(stdout.readline())
            return found

        yield read
        stdin.close()
