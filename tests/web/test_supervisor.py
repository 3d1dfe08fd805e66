"""Supervisor: a task that ends is restarted after a growing pause, and is down until its next completed round."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from attestlab.core.errors import Unavailable
from attestlab.web.supervisor import Round, Supervisor
from support.timeouts import WAIT_TIMEOUT_S


async def returns() -> None:
    """Returns as if its work were done."""


async def raises() -> None:
    raise OSError(28, "No space left on device")


async def is_cancelled_from_within() -> None:
    inner = asyncio.get_running_loop().create_future()
    inner.cancel()
    await inner


@pytest.mark.parametrize("ends", [returns, raises, is_cancelled_from_within])
def test_a_task_that_ends_is_restarted_and_down_until_it_has_run(ends: Callable[[], Awaitable[None]]) -> None:
    async def story() -> list[bool]:
        supervisor = Supervisor(min_pause_s=0)
        failed, may_run, ran = asyncio.Event(), asyncio.Event(), asyncio.Event()
        seen: list[bool] = []

        async def work(completed_round: Round) -> None:
            if not failed.is_set():
                failed.set()
                await ends()
                return
            await may_run.wait()
            completed_round()
            ran.set()
            await asyncio.Event().wait()

        task = supervisor.start("mail", work)
        seen.append(is_well(supervisor))
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            await failed.wait()
            while is_well(supervisor):
                await asyncio.sleep(0)
            seen.append(is_well(supervisor))
            may_run.set()
            await ran.wait()
        seen.append(is_well(supervisor))
        await task.finish(within_s=0)
        return seen

    assert asyncio.run(story()) == [True, False, True]


def is_well(supervisor: Supervisor) -> bool:
    try:
        supervisor.check()
    except Unavailable as error:
        return "mail" not in error.message
    return True


def test_the_pause_grows_while_a_task_fails_and_resets_after_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def no_wait(awaited: Awaitable[object], timeout_s: float) -> None:
        pauses.append(timeout_s)
        assert asyncio.iscoroutine(awaited)
        awaited.close()
        await asyncio.sleep(0)
        raise TimeoutError

    async def story() -> None:
        starts = 0
        over = asyncio.Event()

        async def work(completed_round: Round) -> None:
            nonlocal starts
            starts += 1
            if starts == 5:
                completed_round()
            if starts == 7:
                over.set()
                await asyncio.Event().wait()
            raise OSError(28, "No space left on device")

        task = Supervisor(min_pause_s=1, max_pause_s=4).start("mail", work)
        await over.wait()
        await task.finish(within_s=0)

    monkeypatch.setattr("attestlab.web.supervisor.asyncio.wait_for", no_wait)
    asyncio.run(story())

    assert pauses == [1, 2, 4, 4, 1, 2]


@pytest.mark.parametrize("fails", [True, False])
def test_finish_ends_a_running_or_pausing_task_immediately(fails: bool) -> None:
    async def story() -> bool:
        began = asyncio.Event()

        async def work(_completed_round: Round) -> None:
            began.set()
            if fails:
                raise OSError(28, "No space left on device")
            await asyncio.Event().wait()

        task = Supervisor(min_pause_s=3600).start("mail", work)
        await began.wait()
        await asyncio.sleep(0)
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            await task.finish(within_s=3600 if fails else 0)
        return True

    assert asyncio.run(story())
