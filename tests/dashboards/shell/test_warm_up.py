"""The dashboards are started once for all who wait, and the processes of queries with them."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from tornado.iostream import IOStream
from tornado.netutil import bind_unix_socket

from attestlab.installation import Installation
from attestlab.server.dashboards import DashboardFolder, Dashboards
from attestlab.server.warm_up import warm_up
from attestlab.settings import Settings

WAITING = 50


def count_idle(lab: Installation) -> tuple[int, int]:
    """The processes that wait for a query of the lake, and for a what-if over risk."""
    return len(lab.lake.workers._idle), len(lab.risk_simulations.workers._idle)


def test_processes_wait_for_the_first_queries(tmp_path: Path) -> None:
    lab, _ = Installation.init(Settings(data=tmp_path, database_url=None))
    try:
        before = count_idle(lab)
        asyncio.run(warm_up(lab))
        assert (before, count_idle(lab)) == ((0, 0), (2, 1))
    finally:
        lab.close()


def test_the_worker_that_starts_the_dashboards_warms_up(tmp_path: Path) -> None:
    begun: list[str] = []

    async def note() -> None:
        begun.append("warm-up")

    async def run() -> None:
        dashboards = Dashboards(DashboardFolder(tmp_path), Settings(data=tmp_path, database_url=None))
        dashboards.on_start = note
        for _ in range(2):
            (await dashboards.connect()).close()
        await dashboards.stop()

    asyncio.run(run())
    assert begun == ["warm-up"]


class SlowDashboards(Dashboards):
    """Dashboards whose process needs a fifth of a second until it listens; counts attempts, and the most at once."""

    attempts = connecting = most = 0
    listening: socket.socket | None = None

    async def _start(self) -> None:
        if self.attempts == WAITING:
            asyncio.get_running_loop().call_later(0.2, self._listen)

    def _listen(self) -> None:
        self.listening = bind_unix_socket(self.place.own_socket, backlog=2 * WAITING)

    async def _connect(self) -> IOStream | None:
        self.attempts += 1
        self.connecting += 1
        self.most = max(self.most, self.connecting)
        try:
            return await super()._connect()
        finally:
            self.connecting -= 1


def test_one_task_polls_for_all_requests_that_wait_and_they_connect_in_turn(tmp_path: Path) -> None:
    """A stranger may open a thousand connections while the process starts; each attempt takes the loop's time."""

    async def connect_all() -> SlowDashboards:
        dashboards = SlowDashboards(DashboardFolder(tmp_path), Settings(data=tmp_path, database_url=None))
        for stream in await asyncio.gather(*(dashboards.connect() for _ in range(WAITING))):
            stream.close()
        assert dashboards.listening is not None
        dashboards.listening.close()
        return dashboards

    connected = asyncio.run(connect_all())
    assert connected.attempts < 2 * WAITING + 20, "each tries at the beginning and the end"
    assert connected.most < WAITING
