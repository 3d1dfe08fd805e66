"""The figures of the dashboards. The people, the loads and both processes share one machine, as do all figures.

BENCH_PARTS names the parts to measure, of `person`, `browser`, `crowd` and `memory`; by default all of them.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from time import sleep

from benchmarks.dashboards.browser import measure_pages
from benchmarks.dashboards.crowd import LOOK_S, PAGES, PEOPLE, Crowd, list_filters
from benchmarks.dashboards.person import OpenPage, Person
from benchmarks.dashboards.world import SIGNALS, DashboardWorld, serve_world
from benchmarks.figures import Figure
from benchmarks.load import Load, Plan, run_load

OPENINGS = 7
FILTERS = 40
CROWD_S = 60.0
API_ROUNDS = 6
API_SECONDS = 5.0
WARMUP_S = 0.5
CONNECTIONS = 8
PROBE_PAUSE_S = 0.02  # the probe itself must not load the processors
MEMORY_ROUNDS = 3
DISCARD_S = 40.0  # Bokeh looks every 17 s for documents whose browser has been gone for 15 s
_ALONE = "the same while no one clicks"
_CROWD = f"{PEOPLE} people"


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures; the server writes to `folder`."""
    parts: dict[str, Callable[[DashboardWorld], Iterable[Figure]]] = {
        "person": lambda world: asyncio.run(_measure_one_person(world)),
        "browser": _measure_browser,
        "crowd": _measure_crowd,
        "memory": _measure_memory,
    }
    chosen = os.environ.get("BENCH_PARTS", ",".join(parts)).split(",")
    if unknown := set(chosen) - set(parts):
        raise ValueError(f"BENCH_PARTS names no part {', '.join(sorted(unknown))}; the parts are {', '.join(parts)}.")
    with serve_world(folder / "data") as world:
        for name in chosen:
            yield from parts[name](world)


async def _measure_one_person(world: DashboardWorld) -> list[Figure]:
    """Measure the opening of each page and its filters; the first opening starts the process and warms up."""
    person = await Person(world.server.url).sign_in(world.email, world.password)
    found = []
    for path in PAGES:
        pages = [await person.open_page(path) for _ in range(OPENINGS + 1)]
        filters = islice(list_filters(path, 1_000), FILTERS)
        waits = [1000 * await pages[-1].filter(query) for query in filters]
        found += [
            *_describe_openings(path, pages[1:]),
            *_describe_waits(f"{path}_filter", f"one person, {SIGNALS:,} signals", waits),
        ]
        for page in pages:
            page.close()
    await person.close()
    return found


def _measure_browser(world: DashboardWorld) -> Iterator[Figure]:
    for path, waits in measure_pages(world):
        for name, waits_ms in waits.items():
            yield from _describe_waits(f"{path}_browser_{name}", f"Chromium, {SIGNALS:,} signals", waits_ms)


def _describe_openings(path: str, pages: list[OpenPage]) -> Iterator[Figure]:
    yield Figure.of_rounds(f"dash.{path}_first_markup_ms", [1000 * page.first_markup_s for page in pages], "ms")
    yield Figure.of_rounds(f"dash.{path}_ready_ms", [1000 * page.ready_s for page in pages], "ms")


def _describe_waits(name: str, circumstances: str, waits_ms: list[float]) -> Iterator[Figure]:
    ordered = sorted(waits_ms)
    p95 = ordered[round(0.95 * (len(ordered) - 1))]
    yield Figure.of_rounds(f"dash.{name}_ms, {circumstances}", waits_ms, "ms")
    yield Figure(f"dash.{name}_p95_ms, {circumstances}", round(p95, 1), "ms")


def _measure_crowd(world: DashboardWorld) -> Iterator[Figure]:
    """Measure 20 people at once, and mint, verify and /healthz next to them, in turns with no one clicking."""
    with Crowd(world) as crowd:
        with _probe(world.server.port) as read_worst_ms:
            sleep(CROWD_S / 6)
            alone_ms = read_worst_ms()
            with crowd.clicking():
                sleep(CROWD_S)
            yield Figure("dash.healthz_worst_ms, alone", round(alone_ms, 1), "ms")
            yield Figure(f"dash.healthz_worst_ms, {_CROWD}", round(read_worst_ms(), 1), "ms")
        looked = f"{_CROWD} who look for {LOOK_S[0]:g} to {LOOK_S[1]:g} s, {SIGNALS:,} signals"
        for path, waits in crowd.waits.items():
            yield from _describe_waits(f"{path}_filter", looked, [1000 * wait for wait in waits])
        everything = [1000 * wait for waits in crowd.waits.values() for wait in waits]
        yield from _describe_waits("filter", looked, everything)
        for name, request, status in (("mint", world.mint, 201), ("verify", world.verify, 200)):
            plan = Plan(world.server.port, CONNECTIONS, API_SECONDS, WARMUP_S, status, [request])
            yield from _measure_api(crowd, plan, name)


@contextmanager
def _probe(port: int) -> Iterator[Callable[[], float]]:
    """Request /healthz 50 times a second; the function returns the longest wait since its last call, in ms."""
    command = [sys.executable, "-m", "benchmarks.stall.probe", str(port), str(PROBE_PAUSE_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def read_worst_ms() -> float:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            return float(json.loads(process.stdout.readline())["worst_ms"])

        try:
            yield read_worst_ms
        finally:
            process.terminate()


def _measure_api(crowd: Crowd, plan: Plan, name: str) -> Iterator[Figure]:
    alone: list[Load] = []
    next_to: list[Load] = []
    for _ in range(API_ROUNDS):
        alone.append(run_load(plan))
        with crowd.clicking():
            sleep(LOOK_S[1])  # until each of them has begun
            next_to.append(run_load(plan))
    shares = [two.per_second / one.per_second for one, two in zip(alone, next_to, strict=True)]
    yield Figure.of_rounds(f"dash.{name}_ratio, {_CROWD}", shares, "ratio", against=_ALONE)
    yield Figure.of_rounds(f"dash.{name}_per_s, alone", [load.per_second for load in alone], "1/s")
    yield Figure.of_rounds(f"dash.{name}_per_s, {_CROWD}", [load.per_second for load in next_to], "1/s")
    yield Figure.of_rounds(f"dash.{name}_p99_ms, {_CROWD}", [load.p99_ms for load in next_to], "ms")


def _measure_memory(world: DashboardWorld) -> Iterator[Figure]:
    """Measure what a session takes, and what remains when the windows of all are closed, round by round."""
    process = world.find_process()
    sleep(DISCARD_S)
    begin, per_session, left = _read_mib(process), [], []
    for _ in range(MEMORY_ROUNDS):
        before = _read_mib(process)
        with Crowd(world):
            per_session.append((_read_mib(process) - before) / PEOPLE)
        sleep(DISCARD_S)
        left.append(_read_mib(process))
    yield Figure("dash.memory_mib, before", round(begin, 1), "MiB")
    yield Figure.of_rounds(f"dash.session_mib, {_CROWD}", per_session, "MiB")
    yield Figure.of_rounds("dash.memory_mib, sessions closed", left, "MiB")
    yield Figure("dash.growth_mib, first to last round", round(left[-1] - left[0], 1), "MiB")


def _read_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
