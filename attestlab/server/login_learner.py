"""The learner of a process: takes the logins of a past into documents, in slices between the writes of requests.

Processes share the work: a slice continues, under the writer's lock, where the last one ended. So a process that is
killed loses the slice that it was in, and any other continues. See `attestlab.risk.account_takeover.backfill`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from uuid import UUID

from attestlab.risk.account_takeover.backfill import LoginBackfill
from attestlab.risk.account_takeover.store import LoginLearningRecord
from attestlab.web.executor import Executor
from attestlab.web.supervisor import Round, Supervised, Supervisor

LOGINS_PER_S = 3_400
MIN_LOGINS_PER_SLICE = 16  # as many while writes of requests wait
POLL_INTERVAL_S = 0.5  # while a load may become quiet
IDLE_INTERVAL_S = 5.0  # for what a process kept that was killed; a process that keeps rows wakes its own learner
QUIET_S = 1.0  # without further rows, a load is complete as far as the learner can know


class LoginLearner:
    """Learns what is kept, from `start` to `finish`; belongs to one event loop."""

    def __init__(self, backfill: LoginBackfill, executor: Executor) -> None:
        self._backfill = backfill
        self._executor = executor
        self._loop = asyncio.get_running_loop()
        self._wake_up = asyncio.Event()
        self._seen: dict[UUID, tuple[int, float]] = {}  # what each load had accepted, and since when

    def start(self, background: Supervisor) -> None:
        """Start to learn, as a task of the running event loop."""
        self._task: Supervised = background.start("login learner", self._run)

    async def finish(self) -> None:
        """Stop after the slice that is being learnt."""
        await self._task.finish(within_s=0)

    async def _run(self, completed_round: Round) -> None:
        self._backfill.on_kept.append(self._wake_from_any_thread)
        try:
            while True:
                unlearnt = await self._list_unlearnt()
                while any([await self._learn(state) for state in unlearnt]):
                    unlearnt = await self._list_unlearnt()
                completed_round()
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_INTERVAL_S if unlearnt else IDLE_INTERVAL_S):
                        await self._wake_up.wait()
                self._wake_up.clear()
        finally:
            self._backfill.on_kept.remove(self._wake_from_any_thread)

    def _wake_from_any_thread(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._wake_up.set)

    async def _list_unlearnt(self) -> list[LoginLearningRecord]:
        found = await asyncio.to_thread(self._backfill.list_unlearnt)
        self._seen = {state.tenant_id: self._observe(state) for state in found}
        return found

    def _observe(self, state: LoginLearningRecord) -> tuple[int, float]:
        """Return how many logins a load has accepted, and since when the number is the same."""
        seen = self._seen.get(state.tenant_id)
        return seen if seen is not None and seen[0] == state.accepted else (state.accepted, self._loop.time())

    async def _learn(self, state: LoginLearningRecord) -> bool:
        """Learn a slice of a tenant's rows; returns whether there was something to do."""
        is_quiet = self._loop.time() - self._seen[state.tenant_id][1] >= QUIET_S
        learn = partial(self._backfill.learn, tenant_id=state.tenant_id, is_quiet=is_quiet, must_end=self._must_end)
        async with self._executor.bulk.piece() as time_s:
            at_most = max(MIN_LOGINS_PER_SLICE, round(LOGINS_PER_S * time_s))
            return await self._executor.write(partial(learn, at_most=at_most))

    def _must_end(self, learnt: int) -> bool:
        """Return whether a slice ends early, because a write of a request came to wait for it; called in any thread."""
        return learnt >= MIN_LOGINS_PER_SLICE and self._executor.count_waiting() > 0
