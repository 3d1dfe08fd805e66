"""Fair threads: each owner runs one task at a time, and password hashing has its own threads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event
from typing import Any

from attestlab.web.shared_threads import FairThreads
from support.sample_application import make_sample_application
from support.timeouts import WAIT_TIMEOUT_S


def test_an_owner_with_many_tasks_delays_only_itself() -> None:
    async def story() -> list[str]:
        threads, release = FairThreads(2, "test"), Event()
        held = [asyncio.create_task(threads.run("one", release.wait, WAIT_TIMEOUT_S)) for _ in range(20)]
        await asyncio.sleep(0)
        others = [
            await asyncio.wait_for(threads.run(owner, str.upper, owner), WAIT_TIMEOUT_S) for owner in ("two", "three")
        ]
        release.set()
        assert await asyncio.gather(*held) == [True] * 20
        threads.close()
        return others

    assert asyncio.run(story()) == ["TWO", "THREE"]


def test_an_owners_tasks_run_one_at_a_time_in_order() -> None:
    running, most, done = 0, 0, []

    def work(number: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        done.append(number)
        running -= 1

    async def story() -> None:
        threads = FairThreads(4, "test")
        await asyncio.gather(*[threads.run("one", work, number) for number in range(50)])
        threads.close()

    asyncio.run(story())
    assert (done, most) == (list(range(50)), 1)


def test_a_failed_task_frees_its_slot() -> None:
    async def story() -> tuple[Any, ...]:
        threads = FairThreads(1, "test")
        failed, done = await asyncio.gather(
            threads.run("one", int, "x"), threads.run("one", int, "7"), return_exceptions=True
        )
        threads.close()
        return type(failed), done

    assert asyncio.run(story()) == (ValueError, 7)


def test_password_hashing_does_not_wait_for_bodies_or_proofs() -> None:
    """Six bodies of eight megabytes once occupied all threads that a sign-in needs."""

    async def story() -> str:
        site, release = make_sample_application(), Event()

        def hold(run: Callable[..., Awaitable[Any]], *arguments: Any) -> asyncio.Future[Any]:
            return asyncio.ensure_future(run(*arguments, release.wait, WAIT_TIMEOUT_S))

        held = [hold(site.executor.run_in_thread) for _ in range(10)]
        held += [hold(site.executor.bodies.run, f"address {number}") for number in range(10)]
        await asyncio.sleep(0)
        found = await asyncio.wait_for(site.executor.hash_password(str.upper, "signed in"), WAIT_TIMEOUT_S)
        release.set()
        await asyncio.gather(*held)
        site.close()
        return found

    assert asyncio.run(story()) == "SIGNED IN"
