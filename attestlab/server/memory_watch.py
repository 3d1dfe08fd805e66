"""Watches the memory of a server's child processes: reports it, and ends idle ones sooner when memory is short.

An idle process keeps what it has loaded and decoded, some hundred megabytes, so that the next job of a person does not
wait; that is worth less than memory which others lack.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from attestlab.core.execution import process_memory
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.installation import Installation
from attestlab.web.supervisor import Round, Supervised, Supervisor

INTERVAL_S = 5.0
IDLE_IF_SHORT_S = 10.0  # instead of `worker_processes.IDLE_S`


def list_pools(lab: Installation) -> dict[str, WorkerProcesses]:
    """List the pools of child processes of an installation by the work that they do."""
    return {
        "queries": lab.lake.workers,
        "policies": lab.workers,
        "risk_simulations": lab.risk_simulations.workers,
        "media_scans": lab.risk.media.scanner.workers,
    }


class MemoryWatch:
    """Watches pools of child processes, from `start` to `finish`.

    Args:
        pools: by the work that they do.
        report: takes a pool's work and the bytes of its processes; called in a thread.
        idle_if_short_s: after which an unused process ends when memory is short.
    """

    def __init__(
        self,
        pools: Mapping[str, WorkerProcesses],
        report: Callable[[str, int], None],
        *,
        idle_if_short_s: float = IDLE_IF_SHORT_S,
    ) -> None:
        self._pools = pools
        self._report = report
        self._idle_if_short_s = idle_if_short_s

    def start(self, background: Supervisor) -> None:
        """Start to watch, as a task of the running event loop."""
        self._task: Supervised = background.start("memory watch", self._run)

    async def finish(self) -> None:
        """Stop."""
        await self._task.finish(within_s=0)

    async def _run(self, completed_round: Round) -> None:
        while True:
            await asyncio.to_thread(self.look)
            completed_round()
            await asyncio.sleep(INTERVAL_S)

    def look(self) -> None:
        """End the processes that are idle, if memory is short, and report what the others take."""
        if process_memory.is_memory_short():
            for workers in self._pools.values():
                workers.end_idle(unused_s=self._idle_if_short_s)
        if process_memory.is_measurable():
            for work, workers in self._pools.items():
                self._report(work, sum(map(process_memory.measure_memory_bytes, workers.list_pids())))
