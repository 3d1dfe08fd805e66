"""The queries behind an explorer of risk signals, over a lake with a million signals or more.

Each is measured warm, over everything and over one of fifty tenants, from opening the connection to the rows. The rival
is the best query that we wrote by hand for DuckDB on the same files: it knows their names, checks nothing, and keeps
one connection. `BENCH_SIGNALS=10000000` sets the number of signals.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
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
from attestlab.risk.analysis.entity_signals import read_entity_signals
from attestlab.risk.analysis.facets import read_facets
from attestlab.risk.analysis.histogram import read_score_histogram
from attestlab.risk.analysis.summary import read_summary
from attestlab.risk.analysis.top_entities import read_top_entities
from attestlab.risk.analysis.volume import read_volume
from attestlab.risk.rules import Entity, EntityType
from attestlab.risk.signals import recording
from attestlab.risk.signals.store import SignalFilter
from attestlab.settings import Settings
from benchmarks.figures import Figure
from benchmarks.risk_lake_data import END, START, TENANTS, write_signals

SIGNALS_VARIABLE, DEFAULT_SIGNALS = "BENCH_SIGNALS", 1_000_000
ROUNDS = 20
PERIOD = SignalFilter(since=START, until=END)
ENTITY = Entity(EntityType.USER, "entity-77")
_IN_PERIOD = f"occurred_at >= TIMESTAMPTZ '{START}' AND occurred_at < TIMESTAMPTZ '{END}'"
_OF_ENTITY = f"entity_id = '{ENTITY.id}' AND entity_type = '{ENTITY.type}'"

Connect = Callable[[], AbstractContextManager[duckdb.DuckDBPyConnection]]


@dataclass(frozen=True)
class ExplorerQuery:
    """A query of the explorer, and the rival's SQL with `{files}` and `{owned}`."""

    name: str
    run: Callable[[duckdb.DuckDBPyConnection], object]
    rival: str


QUERIES = (
    ExplorerQuery(
        "volume over 30 days by source and type",
        lambda connection: read_volume(connection, PERIOD, bucket=timedelta(days=1)),
        "SELECT epoch_us(occurred_at) // 86400000000, source, signal_type, count(*), avg(score), max(score) "
        f"FROM {{files}} WHERE {_IN_PERIOD}{{owned}} GROUP BY ALL ORDER BY ALL",
    ),
    ExplorerQuery(
        "key figures",
        lambda connection: read_summary(connection, PERIOD),
        "SELECT count(*), count(case_id), approx_count_distinct(hash(entity_type, entity_id)), avg(score), max(score) "
        f"FROM {{files}} WHERE {_IN_PERIOD}{{owned}}",
    ),
    ExplorerQuery(
        "facets",
        lambda connection: read_facets(connection, PERIOD),
        f"SELECT source, signal_type, entity_type, count(*) FROM {{files}} WHERE {_IN_PERIOD}{{owned}} GROUP BY ALL",
    ),
    ExplorerQuery(
        "histogram of scores",
        lambda connection: read_score_histogram(connection, PERIOD),
        f"SELECT least(floor(score / 5)::INTEGER, 19), count(*) FROM {{files}} WHERE {_IN_PERIOD}{{owned}} GROUP BY 1",
    ),
    ExplorerQuery(
        "top entities",
        lambda connection: read_top_entities(connection, PERIOD),
        "SELECT entity_type, entity_id, count(*) AS n, max(score), max(occurred_at) "
        f"FROM {{files}} WHERE {_IN_PERIOD}{{owned}} GROUP BY ALL ORDER BY n DESC LIMIT 20",
    ),
    ExplorerQuery(
        "signals of an entity",
        lambda connection: read_entity_signals(connection, ENTITY),
        "SELECT seq, id, source, signal_type, score, occurred_at, details, case_id FROM {files} "
        f"WHERE {_OF_ENTITY}{{owned}} AND seq >= (SELECT min(seq) FROM (SELECT seq FROM {{files}} "
        f"WHERE {_OF_ENTITY}{{owned}} ORDER BY seq DESC LIMIT 100)) ORDER BY seq DESC",
    ),
)


def figures(folder: Path) -> Iterator[Figure]:
    """Write the signals, then measure each query over everything and over one tenant."""
    count = int(os.environ.get(SIGNALS_VARIABLE, DEFAULT_SIGNALS))
    lab, owner = fill_lake(folder / "data", count)
    files = [str(part.path) for part in find_parts(lab.lake.folder / SIGNALS.name).chain]
    caller = lab.orgs.service_caller(owner)
    yield Figure(f"files of {count:,} signals", len(files), "files")
    yield from _measure("everything", files, lambda: lab.lake.connect_to_all_tenants("signals"))
    yield from _measure("one tenant", files, lambda: lab.lake(caller).connect("signals"), owner)
    lab.close()


def fill_lake(data: Path, count: int) -> tuple[Installation, UUID]:
    """Make an installation whose lake has `count` signals of fifty tenants; return it with the first tenant's id.

    The records have the number of signals only, and no row: only exported signals are read.
    """
    lab, founded = Installation.init(Settings(data=data))
    rng = random.Random(7)
    owner = founded.tenant.tenant_id
    load_signals(lab, count, [owner, *(UUID(int=rng.getrandbits(128)) for _ in range(TENANTS - 1))])
    return lab, owner


def load_signals(lab: Installation, count: int, tenant_ids: list[UUID]) -> None:
    """Write signals of the tenants into the lake, as its exporter leaves them when it has merged their parts."""
    write_signals(lab.lake.folder, count, tenant_ids)
    Exporter(lab.storage, lab.lake.folder, rows_a_part=ROWS_A_PART, merged_lengths=MERGED_LENGTHS).compact()
    _delete_superseded(lab.lake.folder / SIGNALS.name)
    with lab.storage.write() as tx:
        hash_chain.save_head(tx.connection, recording.NUMBERED.chain, count, bytes(32))


def _delete_superseded(folder: Path) -> None:
    """Delete the merged parts now; a server does so an hour later."""
    compaction.delete_superseded(folder, find_parts(folder), now=time() + compaction.SUPERSEDED_TTL_S)


def _measure(scope: str, files: list[str], connect: Connect, owner: UUID | None = None) -> Iterator[Figure]:
    owned = "" if owner is None else f" AND tenant_id = '{owner}'"
    with duckdb.connect(":memory:") as rival:
        rival.execute("SET parquet_metadata_cache = true")
        for query in QUERIES:
            sql = query.rival.format(files=f"read_parquet({files!r})", owned=owned)
            own, other = [], []
            for _ in range(ROUNDS + 1):  # the first round of each is not warm
                own.append(_measure_own(query, connect))
                other.append(_measure_rival(rival, sql))
            name = f"{query.name}, {scope}"
            yield Figure.of_rounds(name, own[1:], "ms")
            yield Figure(f"{name}, p95", round(quantiles(own[1:], n=20, method="inclusive")[-1], 1), "ms")
            ratio = median(own[1:]) / median(other[1:])
            yield Figure(f"{name}, ratio", round(ratio, 2), "", against="hand-written DuckDB")


def _measure_own(query: ExplorerQuery, connect: Connect) -> float:
    start = perf_counter()
    with connect() as connection:
        query.run(connection)
    return (perf_counter() - start) * 1e3


def _measure_rival(connection: duckdb.DuckDBPyConnection, sql: str) -> float:
    start = perf_counter()
    connection.execute(sql).fetchall()
    return (perf_counter() - start) * 1e3
