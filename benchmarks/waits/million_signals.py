"""A million signals in the risk explorer: one person's waits, and those of twenty people next to a full API.

The people are those of the group `dashboards`; first each asks something else, then they look at the same together.
Next to them, eight connections verify without a pause. Each round has its percentile, so that their spread is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import quantiles
from time import perf_counter

from benchmarks.dashboards.crowd import LOOK_S, PEOPLE, Crowd, list_filters
from benchmarks.dashboards.person import Person
from benchmarks.dashboards.world import DashboardWorld, FilledWorld, fill_world
from benchmarks.figures import Figure
from benchmarks.load import Load, Plan, run_load

SIGNALS, ATTESTATIONS = 1_000_000, 2_000
ROUNDS = 3
FILTERS = 20  # of a round
VERIFIERS = 8
CROWD_S, ALONE_S, WARMUP_S = 30.0, 3.0, 0.5
_NEXT_PAGE = "&page=2"


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the waits of one person, the first page after a start, the waits of twenty and what the verifiers keep."""
    filled = fill_world(folder / "data", signals=SIGNALS, attestations=ATTESTATIONS)
    with filled.serve() as world:
        yield from asyncio.run(_measure_person(world))
    first_ms = [_measure_first_page(filled) for _ in range(ROUNDS)]
    yield Figure.of_rounds("waits.million_signals.first_page_after_start_ms", first_ms, "ms")
    with filled.serve() as world:
        for is_team in (False, True):
            yield from _measure_crowd(world, is_team=is_team)


async def _measure_person(world: DashboardWorld) -> list[Figure]:
    """Measure filters that no one chose before, each with its next page, after a round that warms up."""
    person = await Person(world.server.url).sign_in(world.email, world.password)
    page = await person.open_page("risk")
    waits: dict[str, list[list[float]]] = {"filter": [], "next_page": []}
    filters = (query.partition("&page=")[0] for query in list_filters("risk", 1_000))
    for _ in range(ROUNDS + 1):
        chosen = list(islice(filters, FILTERS))
        found = [(await page.filter(query), await page.filter(query + _NEXT_PAGE)) for query in chosen]
        for of_wait, measured in zip(waits.values(), zip(*found, strict=True), strict=True):
            of_wait.append([1e3 * wait_s for wait_s in measured])
    page.close()
    await person.close()
    return [figure for name, rounds in waits.items() for figure in _describe(name, rounds[1:])]


def _measure_first_page(filled: FilledWorld) -> float:
    """Measure the sign-in whose request starts the dashboards, and the page after it, in milliseconds."""

    async def open_page(world: DashboardWorld) -> float:
        begin = perf_counter()
        person = await Person(world.server.url).sign_in(world.email, world.password)
        page = await person.open_page("risk")
        page.close()
        await person.close()
        return 1e3 * (perf_counter() - begin)

    with filled.serve() as world:
        return asyncio.run(open_page(world))


def _measure_crowd(world: DashboardWorld, *, is_team: bool) -> Iterator[Figure]:
    """Measure the people while the API is full, in turn with the API alone."""
    rounds: list[list[float]] = []
    alone, next_to = list[Load](), list[Load]()
    with Crowd(world, is_team=is_team) as crowd:
        for _ in range(ROUNDS):
            alone.append(_verify(world, ALONE_S))
            for waits in crowd.waits.values():
                waits.clear()
            with crowd.clicking():
                next_to.append(_verify(world, CROWD_S))
            rounds.append([1e3 * wait_s for waits in crowd.waits.values() for wait_s in waits])
    looking = f"{PEOPLE}_{'team_mates' if is_team else 'people'}_click"
    yield from _describe(looking, rounds)
    kept = [full.per_second / quiet.per_second for full, quiet in zip(next_to, alone, strict=True)]
    yield Figure.of_rounds(f"waits.million_signals.{looking}.verify_ratio", kept, "ratio", against="no one clicks")


def _verify(world: DashboardWorld, seconds: float) -> Load:
    """Verify for some time, at least as long as every person has begun."""
    plan = Plan(world.server.port, VERIFIERS, max(seconds, LOOK_S[0]), WARMUP_S, 200, [world.verify])
    return run_load(plan)


def _describe(name: str, rounds: list[list[float]]) -> Iterator[Figure]:
    of_rounds = [quantiles(waits_ms, n=20, method="inclusive") for waits_ms in rounds]
    for share, place in (("p50", 9), ("p95", 18)):
        values = [each[place] for each in of_rounds]
        yield Figure.of_rounds(f"waits.million_signals.{name}_{share}_ms", values, "ms")
