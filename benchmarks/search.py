"""`search.*`: the time of a search among a million signals, cases and links, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from uuid import UUID

import psycopg

from attestlab.installation import Installation
from attestlab.lake.datasets import SIGNALS
from attestlab.lake.parts import find_parts
from attestlab.orgs.rules import Caller
from attestlab.risk.enforcement.store import cases
from attestlab.risk.links import links
from attestlab.risk.signals.store import signals
from attestlab.search.shapes import TenantSearchQuery
from attestlab.settings import Settings
from benchmarks.figures import Figure
from benchmarks.postgresql_mints import run_postgresql
from benchmarks.risk_lake import DEFAULT_SIGNALS, SIGNALS_VARIABLE, fill
from benchmarks.risk_records import write_records

ROUNDS = 30
ROUNDS_OF_TEXT = 3
TEXTS = {  # by what is searched
    "prefix": "entity-4",  # the beginning of some ten thousand ids
    "entity": "entity-4711",
    "id": "019a",  # the beginning of nearly all ids of a month
    "hash": "00ff00",
    "name": "institute",
    "nothing": "no-such-thing",
}


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the 95th percentile of each kind of search; `BENCH_SIGNALS` is the number of signals."""
    lab, _, caller = fill(folder / "data", int(os.environ.get(SIGNALS_VARIABLE, DEFAULT_SIGNALS)))
    with closing(lab):
        write_records(lab, [str(part.path) for part in find_parts(lab.lake.folder / SIGNALS.name).chain])
        _derive_cases_and_links(lab)
        yield from _measure("sqlite", lab, caller)
        with run_postgresql() as url:
            other, founded = Installation.init(Settings(data=folder / "postgresql", database_url=url))
            with closing(other):
                _copy_records(lab, url, founded.tenant.tenant_id, caller.tenant_id)
                yield from _measure("postgresql", other, other.orgs.service_caller(founded.tenant.tenant_id))


def _measure(engine: str, lab: Installation, caller: Caller) -> Iterator[Figure]:
    for name, text in TEXTS.items():
        rounds = [_measure_p95_ms(lab, caller, text) for _ in range(ROUNDS_OF_TEXT)]
        yield Figure.of_rounds(f"search.{engine}.{name}_p95_ms", rounds, "ms")


def _copy_records(lab: Installation, url: str, tenant_id: UUID, source_id: UUID) -> None:
    """Copy the large tenant's rows into PostgreSQL, as those of another tenant, and count them as autovacuum does."""
    source = sqlite3.connect(str(lab.storage.url.database))
    with closing(source), psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as target:
        target.execute("SET session_replication_role = replica")  # cases of signals come later
        for table in (signals, cases, links):
            names = ", ".join(column.name for column in table.columns)
            rows = source.execute(f"SELECT {names} FROM {table.name} WHERE tenant_id = ?", [source_id.hex])
            with target.cursor().copy(f"COPY {table.name} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row([tenant_id if value == source_id.hex else value for value in row])
            target.execute(f"ANALYZE {table.name}")


def _derive_cases_and_links(lab: Installation) -> None:
    """Give each entity with a high score a resolved case, and each signal's entity a link to a device."""
    with closing(sqlite3.connect(str(lab.storage.url.database))) as records:
        records.execute(
            "INSERT INTO risk_cases (id, tenant_id, entity_type, entity_id, status, signal_count, max_score, opened_at)"
            " SELECT max(case_id), tenant_id, entity_type, entity_id, 'resolved', count(*), max(score), min(created_at)"
            " FROM risk_signals WHERE case_id IS NOT NULL GROUP BY tenant_id, entity_type, entity_id"
        )
        records.execute(
            "INSERT OR IGNORE INTO risk_links (tenant_id, first_type, first_id, second_type, second_id, kind, count,"
            " first_seen, last_seen) SELECT tenant_id, 'device', 'device-' || (seq % 300000), 'user', entity_id,"
            " source, 1, created_at, created_at FROM risk_signals"
        )
        records.commit()


def _measure_p95_ms(lab: Installation, caller: Caller, text: str) -> float:
    find = partial(lab.search.find, TenantSearchQuery(q=text), caller=caller)
    return quantiles([_time_ms(find) for _ in range(ROUNDS)], n=20)[-1]


def _time_ms(find: Callable[[], object]) -> float:
    began = perf_counter()
    find()
    return (perf_counter() - began) * 1_000
