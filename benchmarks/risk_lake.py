"""Pages of the list of signals and the view of an entity, over a million signals or more.

Each is measured warm, over everything and over one tenant with a fiftieth of the signals; "everything" is a tenant with
all others. The rival is the best query that we wrote by hand for DuckDB on the same files: it knows their names, checks
nothing, and keeps one connection. `BENCH_SIGNALS=10000000` sets the number of signals, which take 9 GB of disk then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, time
from uuid import UUID

import duckdb

from attestlab.core.records import hash_chain
from attestlab.installation import Installation
from attestlab.lake import compaction
from attestlab.lake.datasets import SIGNALS
from attestlab.lake.exporter import Exporter
from attestlab.lake.parts import find_parts
from attestlab.lake.service import MERGED_LENGTHS, ROWS_A_PART
from attestlab.orgs.rules import Caller, Plan
from attestlab.risk.entities.service import MAX_SIGNALS
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.service import Risk
from attestlab.risk.signals import recording
from attestlab.risk.signals.shapes import SignalFilters
from attestlab.settings import Settings
from benchmarks.figures import Figure
from benchmarks.risk_lake_data import write_signals
from benchmarks.risk_records import write_records

SIGNALS_VARIABLE, DEFAULT_SIGNALS = "BENCH_SIGNALS", 1_000_000
ROUNDS = 40
SHARES = 50
PAGE_SIZE = 51  # as the route reads a page of 50
FREQUENT = Entity(EntityType.USER, "entity-7")
_OF_FREQUENT = f"entity_id = '{FREQUENT.id}' AND entity_type = '{FREQUENT.type}'"


@dataclass(frozen=True)
class TenantRead:
    """A read of one tenant, as its route makes it, and the rival's SQL with `{files}` and `{owned}`."""

    name: str
    run: Callable[[Risk, Caller], object]
    rival: str


def _select_newest(condition: str, limit: int) -> str:
    newest = f"SELECT seq FROM {{files}} WHERE {condition}{{owned}} ORDER BY seq DESC LIMIT {limit}"
    oldest = f"SELECT min(seq) FROM ({newest})"
    return f"SELECT * FROM {{files}} WHERE {condition}{{owned}} AND seq >= ({oldest}) ORDER BY seq DESC"


def _read_page(name: str, filters: SignalFilters, condition: str) -> TenantRead:
    run = partial(_list_page, filters)
    return TenantRead(name, run, _select_newest(condition, PAGE_SIZE))


def _list_page(filters: SignalFilters, risk: Risk, caller: Caller) -> object:
    return risk.signals.page(filters, caller=caller, limit=PAGE_SIZE)


READS = (
    _read_page("page of the list", SignalFilters(), "TRUE"),
    _read_page(
        "page with a filter for 1 in 10,000",
        SignalFilters(source="partner", min_score=95),
        "source = 'partner' AND score >= 95",
    ),
    _read_page(
        "page with a filter for 1 in 2,000,000",
        SignalFilters(source="partner", min_score=99),
        "source = 'partner' AND score >= 99",
    ),
    TenantRead(
        "view of an entity",
        lambda risk, caller: risk.entities.get(FREQUENT, caller=caller),
        _select_newest(_OF_FREQUENT, MAX_SIGNALS),
    ),
)


def figures(folder: Path) -> Iterator[Figure]:
    """Write the signals, then measure each read over everything and over one tenant."""
    count = int(os.environ.get(SIGNALS_VARIABLE, DEFAULT_SIGNALS))
    lab, small, large = fill(folder / "data", count)
    files = [str(part.path) for part in find_parts(lab.lake.folder / SIGNALS.name).chain]
    yield Figure(f"files of {count:,} signals", len(files), "files")
    write_records(lab, files)
    yield from _measure_reads("everything", files, lab.risk, large)
    yield from _measure_reads("one tenant", files, lab.risk, small)
    lab.close()


def fill(data: Path, count: int) -> tuple[Installation, Caller, Caller]:
    """Make an installation whose lake has `count` signals of two tenants; return these, that with a fiftieth first.

    The records have the number of signals only, and no row.
    """
    lab, founded = Installation.init(Settings(data=data))
    small = founded.tenant.tenant_id
    large = lab.orgs.create_tenant("Large", plan=Plan.ENTERPRISE).tenant_id
    load_signals(lab, count, [small, *[large] * (SHARES - 1)])
    return lab, lab.orgs.service_caller(small), lab.orgs.service_caller(large)


def load_signals(lab: Installation, count: int, tenant_ids: list[UUID]) -> None:
    """Write signals into the lake, a share for each item of `tenant_ids`, as its exporter leaves merged parts."""
    write_signals(lab.lake.folder, count, tenant_ids)
    for lengths in (MERGED_LENGTHS[-1:], MERGED_LENGTHS):  # the longest first, so that most rows are sorted once
        Exporter(lab.storage, lab.lake.folder, rows_a_part=ROWS_A_PART, merged_lengths=lengths).compact()
    _delete_superseded(lab.lake.folder / SIGNALS.name)
    with lab.storage.write() as tx:
        hash_chain.save_head(tx.connection, recording.NUMBERED.chain, count, bytes(32))


def _delete_superseded(folder: Path) -> None:
    """Delete the merged parts now; a server does so an hour later."""
    compaction.delete_superseded(folder, find_parts(folder), now=time() + compaction.SUPERSEDED_TTL_S)


def _measure_reads(scope: str, files: list[str], risk: Risk, caller: Caller) -> Iterator[Figure]:
    for read in READS:
        own = partial(read.run, risk, caller)
        yield from _compare(f"{read.name}, {scope}", own, _complete(read.rival, files, caller))


def _complete(rival: str, files: list[str], owner: Caller) -> str:
    return rival.format(files=f"read_parquet({files!r})", owned=f" AND tenant_id = '{owner.tenant_id}'")


def _compare(name: str, read: Callable[[], object], rival: str) -> Iterator[Figure]:
    """Measure a read and its rival in turns: median and spread, the 95 % quantile, and the ratio of the medians."""
    own, other = [], []
    with duckdb.connect(":memory:") as connection:
        connection.execute("SET parquet_metadata_cache = true")
        for _ in range(ROUNDS + 1):  # the first round of each is not warm
            own.append(_measure_ms(read))
            other.append(_measure_ms(lambda: connection.execute(rival).fetchall()))
    yield Figure.of_rounds(name, own[1:], "ms")
    yield Figure(f"{name}, p95", round(quantiles(own[1:], n=20, method="inclusive")[-1], 1), "ms")
    yield Figure(f"{name}, ratio", round(median(own[1:]) / median(other[1:]), 2), "", against="hand-written DuckDB")


def _measure_ms(read: Callable[[], object]) -> float:
    start = perf_counter()
    read()
    return (perf_counter() - start) * 1e3
