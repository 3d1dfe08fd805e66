"""Shared reads: those that wait for a thread run together, and each has its own result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event

import pytest

from attestlab.installation import Installation
from attestlab.orgs.rules import Scope
from attestlab.server.write_queue import WriteQueue
from attestlab.web.shared_reads import SharedReads
from support.in_process_server import make_client, serve_in_thread, wait_until
from support.statements import statements_of
from support.timeouts import WAIT_TIMEOUT_S


class Blocks:
    """What each block of a thread has read."""

    def __init__(self) -> None:
        self.read: list[list[object]] = []

    @contextmanager
    def open(self) -> Iterator[None]:
        self.read.append([])
        yield

    def note(self, value: object) -> object:
        self.read[-1].append(value)
        return value


async def hold(reads: SharedReads) -> tuple[asyncio.Task[bool], Event]:
    """Let a read occupy the only thread until the event is set."""
    begun, release = Event(), Event()

    def wait() -> bool:
        begun.set()
        return release.wait(WAIT_TIMEOUT_S)

    held = asyncio.create_task(reads.run(wait))
    await asyncio.sleep(0)
    assert await asyncio.to_thread(begun.wait, WAIT_TIMEOUT_S)
    return held, release


def run_held(*calls: Callable[[Blocks], object], cancelled: int = -1) -> tuple[list[object], list[list[object]]]:
    """Ask for reads while the only thread is occupied; return their results and what each block has read."""
    blocks = Blocks()

    async def story() -> list[object]:
        reads = SharedReads(1, blocks.open)
        held, release = await hold(reads)
        tasks = [asyncio.create_task(reads.run(call, blocks)) for call in calls]
        await asyncio.sleep(0)
        for place, task in enumerate(tasks):
            if place == cancelled:
                task.cancel()
        await asyncio.sleep(0)
        release.set()
        results = await asyncio.gather(held, *tasks, return_exceptions=True)
        reads.close()
        return list(results[1:])

    return asyncio.run(story()), blocks.read


def test_reads_that_wait_share_the_next_block_and_none_that_is_open() -> None:
    results, blocks = run_held(*(lambda blocks, n=n: blocks.note(n) for n in range(3)))

    assert results == [0, 1, 2]
    assert blocks == [[], [0, 1, 2]]


def test_failed_read_has_its_own_error() -> None:
    results, blocks = run_held(lambda blocks: int("x"), lambda blocks: blocks.note("next"))

    assert [type(each) for each in results] == [ValueError, str]
    assert blocks == [[], ["next"]]


def test_read_whose_caller_has_left_does_not_run() -> None:
    _, blocks = run_held(lambda blocks: blocks.note("left"), lambda blocks: blocks.note("next"), cancelled=0)

    assert blocks == [[], ["next"]]


def test_thread_goes_on_after_a_block_that_fails_to_end() -> None:
    @contextmanager
    def fail_to_end() -> Iterator[None]:
        yield
        raise OSError("the connection is lost")

    async def story() -> list[int]:
        reads = SharedReads(1, fail_to_end)
        results = [await asyncio.wait_for(reads.run(int, text), WAIT_TIMEOUT_S) for text in ("1", "2")]
        reads.close()
        return results

    assert asyncio.run(story()) == [1, 2]


@pytest.mark.on_postgresql
def test_requests_that_wait_together_look_up_their_caller_and_its_block_once(lab: Installation) -> None:
    key = lab.api_keys.create("Mints", scopes=frozenset(Scope), caller=lab.operator).secret  # type: ignore[attr-defined]
    desks: list[WriteQueue] = []
    release, clients = Event(), 4
    with (
        serve_in_thread(lab, spoil=desks.append) as url,
        make_client(url, key=key) as client,
        ThreadPoolExecutor(clients) as threads,
    ):
        shared = desks[0].executor._shared_reads
        for _ in range(shared._max_threads):
            asyncio.run_coroutine_threadsafe(shared.run(release.wait, WAIT_TIMEOUT_S), desks[0]._loop)
        wait_until(lambda: (shared._working, len(shared._waiting)), (shared._max_threads, 0))
        with statements_of(lab) as sent:
            answers = [threads.submit(client.get, "/v1/issuers") for _ in range(clients)]
            wait_until(lambda: len(shared._waiting), clients)
            release.set()
            assert {answer.result().status_code for answer in answers} == {200}

    assert sum("api_keys" in text for text in sent) == 1
