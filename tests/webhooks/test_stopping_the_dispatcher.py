"""The dispatcher stops when it is cancelled, also in the moment in which an event wakes it.

On Python 3.11 `asyncio.wait_for` swallows a cancellation that meets a finished wait. A server that received SIGTERM
while events were published did not stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import pytest

from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.web import supervisor
from attestlab.web.supervisor import Supervised, Supervisor
from support.timeouts import WAIT_TIMEOUT_S

Result = TypeVar("Result")


async def begin_to_wait(task: Supervised) -> None:
    """Return when the task has completed a round, after which it waits to be woken."""
    task.failure = "no round yet"
    async with asyncio.timeout(WAIT_TIMEOUT_S):
        while task.failure is not None:
            await asyncio.sleep(0)
    await asyncio.sleep(0)


# An event wakes its waiter through several callbacks, each in a step of the loop; SIGTERM may come between any two.
@pytest.mark.parametrize("steps", range(6))
def test_dispatcher_obeys_a_cancellation_while_an_event_wakes_it(
    lab: Installation, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "CANCEL_TIMEOUT_S", 5.0)  # whether it ends, not how soon

    async def write(job: Callable[[Transaction], Result]) -> Result:
        with lab.storage.write() as tx:
            return job(tx)

    async def story() -> bool:
        dispatcher = lab.webhook_deliveries.dispatcher
        task = dispatcher.start(Supervisor(), write)
        await begin_to_wait(task)
        for wake_up in dispatcher.on_published:
            wake_up()
        for _ in range(steps):
            await asyncio.sleep(0)
        await task.finish(within_s=0)
        return dispatcher.on_published == []  # as the task leaves it when it ends

    assert asyncio.run(story()), "the dispatcher swallowed its cancellation"
