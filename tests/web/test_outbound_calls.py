"""Outbound calls: limited in number, one per owner, and no other work waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event, current_thread
from typing import Any

import pytest

from attestlab.core.errors import Unavailable
from attestlab.web.shared_threads import MAX_CALLS, OutboundCalls
from support.sample_application import make_sample_application
from support.timeouts import WAIT_TIMEOUT_S


def running(calls: OutboundCalls, owner: str, release: Event) -> asyncio.Task[bool]:
    return asyncio.create_task(calls.run(owner, release.wait, WAIT_TIMEOUT_S))


def test_an_owner_has_one_call_in_flight() -> None:
    async def story() -> None:
        calls, release = OutboundCalls(), Event()
        first = running(calls, "one", release)
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match="for this tenant") as refused:
            await calls.run("one", str.upper, "x")
        assert refused.value.retry_after_s == 5
        assert await calls.run("two", str.upper, "x") == "X"
        release.set()
        assert await first
        assert await calls.run("one", str.upper, "x") == "X"
        calls.close()

    asyncio.run(story())


def test_a_call_beyond_the_limit_is_rejected_not_queued() -> None:
    async def story() -> None:
        calls, release = OutboundCalls(), Event()
        held = [running(calls, str(number), release) for number in range(MAX_CALLS)]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable, match=f"limit {MAX_CALLS}"):
            await calls.run("another", str.upper, "x")
        release.set()
        assert all(await asyncio.gather(*held))
        assert await calls.run("another", str.upper, "x") == "X"
        calls.close()

    asyncio.run(story())


def test_a_disconnected_clients_call_occupies_its_slot_until_it_ends() -> None:
    """Otherwise a client that sends requests and disconnects would occupy all threads."""

    async def story() -> None:
        calls, release = OutboundCalls(), Event()
        first = running(calls, "one", release)
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        with pytest.raises(Unavailable):
            await calls.run("one", str.upper, "x")
        release.set()
        while calls._owners:
            await asyncio.sleep(0.01)
        assert await calls.run("one", str.upper, "x") == "X"
        calls.close()

    asyncio.run(story())


def test_a_failed_call_releases_its_slot() -> None:
    async def story() -> None:
        calls = OutboundCalls(1)
        for _ in range(3):
            with pytest.raises(ValueError, match="invalid literal"):
                await calls.run("one", int, "x")
        calls.close()

    asyncio.run(story())


def test_reads_long_work_passwords_and_calls_use_separate_threads() -> None:
    async def story() -> None:
        site, release = make_sample_application(reads_inline=False), Event()
        kinds: dict[str, Callable[..., Awaitable[Any]]] = {
            "reads": site.executor.read,
            "long": site.executor.run_in_thread,
            "passwords": site.executor.hash_password,
        }
        for filled, fill in kinds.items():
            held = [asyncio.ensure_future(fill(release.wait, WAIT_TIMEOUT_S)) for _ in range(20)]
            held += [running(site.executor.outbound, str(number), release) for number in range(MAX_CALLS)]
            await asyncio.sleep(0)
            for name, run in kinds.items():
                if name != filled:
                    thread = await asyncio.wait_for(run(current_thread), WAIT_TIMEOUT_S)
                    assert thread.name.startswith(f"attestlab-{name}")
            release.set()
            await asyncio.gather(*held)
            release.clear()
        site.close()

    asyncio.run(story())
