"""The processes of queries are started with the dashboards, so that the first page finds them ready."""

from __future__ import annotations

import asyncio
from pathlib import Path

from attestlab.installation import Installation
from attestlab.server.dashboards import DashboardFolder, Dashboards
from attestlab.server.warm_up import warm_up
from attestlab.settings import Settings


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
