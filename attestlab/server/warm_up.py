"""Starts the child processes of queries before their first job, while a person signs in to the dashboards.

A process takes one to three seconds to start and to load DuckDB and pyarrow, and a page of the dashboards asks several
at once. They run with low priority, and end if no job comes within five minutes (`core.execution.worker_processes`),
or sooner when memory is short (`server.memory_watch`).
"""

from __future__ import annotations

import asyncio
from typing import Final

from attestlab.installation import Installation
from attestlab.lake import jobs as lake_jobs
from attestlab.lake.rules import QUERIES_OF_A_TENANT
from attestlab.simulation.risk import jobs as risk_jobs

_TIMEOUT_S: Final = 30.0


async def warm_up(lab: Installation) -> None:
    """Start the processes; the first job of one that fails says why."""
    risk = lab.risk_simulations.workers
    starts = [
        lab.lake.workers.run(("warm-up", place), lake_jobs.load_libraries, timeout_s=_TIMEOUT_S)
        for place in range(QUERIES_OF_A_TENANT)
    ]
    await asyncio.gather(
        *starts, risk.run("warm-up", risk_jobs.load_libraries, timeout_s=_TIMEOUT_S), return_exceptions=True
    )
