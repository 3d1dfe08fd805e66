"""`backfill.*`: a backfill whose server is killed (SIGKILL) within some requests, started again, and asked to continue.

The client sends each request again with its Idempotency-Key, as it must after an interruption. In the end the signals
are counted. `BENCH_SIGNALS` sets their number (200,000), and `BENCH_KILLS` that of the kills (3).
"""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from threading import Timer
from time import perf_counter

import httpx
from sqlalchemy import func, select

from attestlab.installation import Installation
from attestlab.risk.signals.recording import NUMBERED
from attestlab.risk.signals.store import signals
from attestlab.settings import Settings
from benchmarks import servers
from benchmarks.figures import Figure
from benchmarks.risk_over_http import send_bulk
from benchmarks.servers import Server

SIGNALS = int(os.environ.get("BENCH_SIGNALS", "200000"))
KILLS = int(os.environ.get("BENCH_KILLS", "3"))
MAX_LINES = 50_000  # of one request
MIN_REQUESTS = 8  # so that kills come within different ones


@dataclass
class KilledBackfill:
    """A backfill in requests, of which some are interrupted; `recorded` counts the signals after each kill."""

    data: Path
    api_key: str
    count: int
    kills: int
    recorded: list[int] = field(default_factory=list)

    @property
    def lines(self) -> int:
        """The lines of a request."""
        return min(MAX_LINES, -(-self.count // MIN_REQUESTS))

    def run(self) -> None:
        """Send every request until it is answered; the server is killed within `kills` of them."""
        waiting = deque(range(0, self.count, self.lines))
        doomed = {waiting[len(waiting) * number // (self.kills + 1)] for number in range(1, self.kills + 1)}
        while waiting:
            with servers.run_attestlab(self.data) as server:
                self._send(server, waiting, doomed)
            if waiting:
                self.recorded.append(count_recorded(self.data))

    def _send(self, server: Server, waiting: deque[int], doomed: set[int]) -> None:
        """Send requests until none waits, or the server is killed."""
        durations_s = [0.1]
        with httpx.Client(base_url=server.url, headers={"X-API-Key": self.api_key}) as client:
            while waiting:
                first, begin = waiting[0], perf_counter()
                if first in doomed:
                    doomed.remove(first)
                    Timer(median(durations_s) / 2, os.kill, [server.pid, signal.SIGKILL]).start()
                try:
                    size = min(self.lines, self.count - first)
                    send_bulk(client, size, first=first, key=f"backfill-{first}", backfill="true")
                except httpx.TransportError:
                    return
                waiting.popleft()
                durations_s.append(perf_counter() - begin)


def count_recorded(data: Path) -> int:
    """Return the number of signals while no server runs."""
    lab = Installation.open(Settings(data=data, database_url=None))
    with lab.storage.read() as connection:
        count = NUMBERED.count(connection)
    lab.close()
    return count


def count_lost_and_doubled(data: Path, expected: int) -> tuple[int, int]:
    """Return how many of the expected signals are missing, and how many are there more than once."""
    lab = Installation.open(Settings(data=data, database_url=None))
    with lab.storage.read() as connection:
        query = select(func.count(), func.count(signals.c.entity_id.distinct())).select_from(signals)
        count, different = connection.execute(query).one()
    lab.close()
    return expected - different, count - different


def figures(folder: Path) -> Iterator[Figure]:
    """Run the backfill and yield what it took, where the kills came, and what was lost or doubled."""
    made, begin = servers.init_data_folder(folder / "data"), perf_counter()
    backfill = KilledBackfill(folder / "data", made["api_key"], SIGNALS, KILLS)
    backfill.run()
    duration_s = perf_counter() - begin
    lost, doubled = count_lost_and_doubled(backfill.data, SIGNALS)
    within = sum(recorded % backfill.lines > 0 for recorded in backfill.recorded)
    yield Figure("backfill.signals", SIGNALS, "signals")
    yield Figure("backfill.per_s", round(SIGNALS / duration_s), "1/s, with the starts after the kills")
    yield Figure("backfill.kills", len(backfill.recorded), "kills")
    yield Figure("backfill.kills_within_a_request", within, "kills")
    yield Figure("backfill.lost", lost, "signals")
    yield Figure("backfill.doubled", doubled, "signals")
