"""A bulk request over HTTP: lines a second on a quiet server, and the time of 5,000 next to verifications.

The verifications come at their moments, whether or not the last one was answered, so that a wait counts for all that
come in it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep
from typing import Self

from benchmarks import world
from benchmarks.figures import Figure
from benchmarks.waits.bulk_signals import make_lines
from benchmarks.world import DOCUMENT_HASH, ServedInstallation

QUIET_LINES, LINES_TOGETHER = 20_000, 5_000
ROUNDS = 5
IN_A_ROW = 4  # requests next to verifications, so that a percentile is one of many
REQUESTS_PER_S = 50
ALONE_S = 3.0  # of verifications without a bulk request


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the rates of a quiet server, then the durations and the latencies next to each other."""
    with world.serve_installation(folder / "data") as served:
        sender = Sender(served)
        for kind in ("backfill", "live"):
            yield from _measure_quiet(sender, kind)
        yield from _measure_together(sender, served)


class Sender:
    """A client that sends other lines each time."""

    def __init__(self, served: ServedInstallation) -> None:
        self._served = served
        self._sent = 0

    def send(self, lines: int, kind: str) -> tuple[float, float]:
        """Send some lines; returns the seconds until they were recorded, and the server's processor seconds."""
        text = make_lines(kind, self._sent, count=lines)
        self._sent += lines
        query, headers = {"backfill": json.dumps(kind == "backfill")}, {"Content-Type": "application/x-ndjson"}
        used, began = self._served.server.cpu_s(), perf_counter()
        answer = self._served.client.post(
            "/v1/risk/signals/bulk", params=query, content=text, headers=headers, timeout=600
        )
        took_s = perf_counter() - began
        if answer.raise_for_status().json()["accepted"] != lines:
            raise RuntimeError(f"The server did not accept every line: {answer.text[:200]}")
        return took_s, self._served.server.cpu_s() - used


def _measure_quiet(sender: Sender, kind: str) -> Iterator[Figure]:
    rounds = [sender.send(QUIET_LINES, kind) for _ in range(ROUNDS + 1)][1:]
    name = f"waits.bulk_over_http.{kind}"
    yield Figure.of_rounds(f"{name}_per_s", [QUIET_LINES / took_s for took_s, _ in rounds], "1/s")
    yield Figure.of_rounds(f"{name}_cpu_us", [1e6 * cpu_s / QUIET_LINES for _, cpu_s in rounds], "us")


def _measure_together(sender: Sender, served: ServedInstallation) -> Iterator[Figure]:
    """Measure both alone and next to each other, in turn."""
    verifier = RegularClient.that_verifies(served)
    alone, together, quiet_ms, busy_ms = [], [], [], []
    for _ in range(ROUNDS):
        alone.append(sender.send(LINES_TOGETHER, "live")[0])
        with verifier.sending() as quiet:
            sleep(ALONE_S)
        with verifier.sending() as busy:
            together.append(sum(sender.send(LINES_TOGETHER, "live")[0] for _ in range(IN_A_ROW)) / IN_A_ROW)
        quiet_ms.append(_find_p99_ms(quiet))
        busy_ms.append(_find_p99_ms(busy))
    ratios = [busy_s / quiet_s for busy_s, quiet_s in zip(together, alone, strict=True)]
    name = f"waits.bulk_next_to_{REQUESTS_PER_S}_verifications"
    yield Figure.of_rounds(f"{name}_ratio", ratios, "ratio", against="alone")
    yield Figure.of_rounds(f"{name}_s", together, "s")
    yield Figure.of_rounds(f"{name}_alone_s", alone, "s")
    yield Figure.of_rounds(f"{name}.verify_p99_ms", busy_ms, "ms")
    yield Figure.of_rounds(f"{name}.verify_alone_p99_ms", quiet_ms, "ms")


def _find_p99_ms(latencies: list[float]) -> float:
    return 1e3 * quantiles(latencies, n=100, method="inclusive")[-1]


class RegularClient:
    """A client that sends a request at its moments, over one connection."""

    def __init__(self, port: int, method: str, path: str, body: str | None, headers: dict[str, str]) -> None:
        self._port, self._request = port, (method, path, body, headers)

    @classmethod
    def that_verifies(cls, served: ServedInstallation) -> Self:
        """Make a client that verifies a new attestation of the operator, which the server counts."""
        body = {"attestation_id": served.mint()["id"], "document_hash_hex": DOCUMENT_HASH}
        return cls(served.server.port, "POST", "/v1/verify", json.dumps(body), {"Content-Type": "application/json"})

    @classmethod
    def that_reads(cls, served: ServedInstallation) -> Self:
        """Make a client that reads a new attestation of the operator."""
        path = f"/v1/attestations/{served.mint()['id']}"
        return cls(served.server.port, "GET", path, None, {"X-API-Key": served.api_key})

    @contextmanager
    def sending(self) -> Iterator[list[float]]:
        """Send within the block; yields the list of latencies, in seconds from the moment of each."""
        ended, latencies = threading.Event(), list[float]()
        thread = threading.Thread(target=self._run, args=(ended, latencies))
        thread.start()
        try:
            yield latencies
        finally:
            ended.set()
            thread.join()

    def _run(self, ended: threading.Event, latencies: list[float]) -> None:
        connection, due = HTTPConnection("127.0.0.1", self._port), perf_counter()
        while not ended.is_set():
            sleep(max(0.0, due - perf_counter()))
            connection.request(*self._request)
            answer = connection.getresponse()
            answer.read()
            if answer.status != 200:
                raise RuntimeError(f"{self._request[:2]} was answered with {answer.status}.")
            latencies.append(perf_counter() - due)
            due += 1 / REQUESTS_PER_S
        connection.close()
