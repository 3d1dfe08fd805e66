"""Supervisor: a task that ends is restarted after a growing pause, and is down until its next completed round."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from attestlab.core.errors import Unavailable
from attestlab.web import supervisor
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
        background = Supervisor(min_pause_s=0)
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

        task = background.start("mail", work)
        seen.append(is_well(background))
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            await failed.wait()
            while is_well(background):
                await asyncio.sleep(0)
            seen.append(is_well(background))
            may_run.set()
            await ran.wait()
        seen.append(is_well(background))
        await task.finish(within_s=0)
        return seen

    assert asyncio.run(story()) == [True, False, True]


def is_well(background: Supervisor) -> bool:
    try:
        background.check()
    except Unavailable as error:
        return "mail" not in error.message
    return True


def test_the_pause_grows_while_a_task_fails_and_resets_after_a_round(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def end_at_once(pause_s: float) -> asyncio.Timeout:
        pauses.append(pause_s)
        return asyncio.timeout_at(0)

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

    monkeypatch.setattr("attestlab.web.supervisor.asyncio.timeout", end_at_once)
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


def test_finish_leaves_behind_and_logs_a_task_that_cannot_be_cancelled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "CANCEL_TIMEOUT_S", 0.05)

    async def story() -> None:
        began, may_end = asyncio.Event(), asyncio.Event()

        async def work(_completed_round: Round) -> None:
            began.set()
            while not may_end.is_set():
                with suppress(asyncio.CancelledError):
                    await may_end.wait()

        task = Supervisor().start("webhook dispatch", work)
        await began.wait()
        async with asyncio.timeout(WAIT_TIMEOUT_S):
            await task.finish(within_s=0)
        may_end.set()

    asyncio.run(story())

    (line,) = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (line["event"], line["part"]) == ("task did not end", "webhook dispatch")
