"""Twenty people at the four dashboards, in a thread of their own: they click, look for a while, and click again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from itertools import count
from random import Random
from types import TracebackType
from typing import Self

from benchmarks.dashboards.person import OpenPage, Person
from benchmarks.dashboards.world import DashboardWorld

PAGES = ("risk", "policy", "log", "issuers")
PEOPLE = 20
LOOK_S = (1.0, 5.0)  # how long a person looks at an answer before the next click
_SOURCES = ("", "velocity", "login", "media", "payments", "partner")
_SORTS = ("name", "status", "tier", "risk", "jurisdiction", "keys", "mints", "change", "last")


def list_filters(path: str, person: int) -> Iterator[str]:
    """Yield the queries of a page, each another one, so that no answer of the same window serves again."""
    for number in count(1 + person):
        match path:
            case "risk":
                yield f"?source={_SOURCES[number % len(_SOURCES)]}&min_score={1 + number % 79}&page={1 + number // 79}"
            case "policy":
                yield f"?since={2020 + number // 336 % 5}-{1 + number // 28 % 12:02}-{1 + number % 28:02}"
            case "log":
                yield f"?type=attestation.minted&page={1 + number}"
            case _:
                order = "-" if number % 2 else ""
                yield f"?sort={order}{_SORTS[number % len(_SORTS)]}&trail_page={1 + number}"


class Crowd:
    """People with one open page each, a quarter of them at each dashboard; `waits` are the seconds by page.

    By default each asks something else. A team talks about what it sees: all of a page choose the same filters in
    the same order, each at their own pace.
    """

    def __init__(self, world: DashboardWorld, people: int = PEOPLE, *, is_team: bool = False) -> None:
        self._world = world
        self._count = people
        self._is_team = is_team
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._people: list[Person] = []
        self._open: list[tuple[str, OpenPage, Iterator[str], Random]] = []
        self.waits: dict[str, list[float]] = {path: [] for path in PAGES}

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._enter())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @contextmanager
    def clicking(self) -> Iterator[None]:
        """Let all of them click during the block, which ends with the last answer."""
        over = asyncio.Event()
        running = asyncio.run_coroutine_threadsafe(self._click(over), self._loop)
        try:
            yield
        finally:
            self._loop.call_soon_threadsafe(over.set)
            running.result()

    def _run(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _enter(self) -> None:
        for number in range(self._count):
            path = PAGES[number % len(PAGES)]
            person = await Person(self._world.server.url).sign_in(self._world.email, self._world.password)
            self._people.append(person)
            filters = list_filters(path, 1_000 if self._is_team else 7 * number)
            self._open.append((path, await person.open_page(path), filters, Random(number)))

    async def _leave(self) -> None:
        for _, page, _, _ in self._open:
            page.close()
        for person in self._people:
            await person.close()

    async def _click(self, over: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            for path, page, filters, random in self._open:
                group.create_task(self._click_page(over, path, page, filters, random))

    async def _click_page(
        self, over: asyncio.Event, path: str, page: OpenPage, filters: Iterator[str], random: Random
    ) -> None:
        await _wait(over, random.uniform(0, LOOK_S[1]))
        while not over.is_set():
            self.waits[path].append(await page.filter(next(filters)))
            await _wait(over, random.uniform(*LOOK_S))


async def _wait(over: asyncio.Event, seconds: float) -> None:
    """Look at the answer, until the end at most."""
    try:
        async with asyncio.timeout(seconds):
            await over.wait()
    except TimeoutError:
        return
