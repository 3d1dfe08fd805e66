"""The settler of a process without sweeps: makes labels of the outcomes of cases that can no longer be undone."""

from __future__ import annotations

import asyncio
from functools import partial

from attestlab.core.errors import AttestLabError
from attestlab.risk.enforcement.triage import Triage
from attestlab.web import logging_setup
from attestlab.web.executor import Executor
from attestlab.web.supervisor import Round, Supervised, Supervisor

INTERVAL_S = 5.0  # a first look after as long, so that a lab opened for a moment does nothing
CASES_PER_WRITE = 100


class OutcomeSettler:
    """Settles what is due, from `start` to `finish`; what a closed lab left is settled by the next one."""

    def __init__(self, triage: Triage, executor: Executor) -> None:
        self._triage = triage
        self._executor = executor

    def start(self, background: Supervisor) -> None:
        """Start to settle, as a task of the running event loop."""
        self._task: Supervised = background.start("outcome settler", self._run)

    async def finish(self) -> None:
        """Stop after the write that is running."""
        await self._task.finish(within_s=0)

    async def _run(self, completed_round: Round) -> None:
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                await self.settle()
            except AttestLabError as error:
                logging_setup.log_warning("outcomes not settled", code=error.code, message=error.message)
            completed_round()

    async def settle(self) -> None:
        """Settle all that is due; without any, no write takes the writer's lock."""
        settle = partial(self._triage.settle, at_most=CASES_PER_WRITE)
        while await asyncio.to_thread(self._triage.has_due):
            await self._executor.write(settle)
