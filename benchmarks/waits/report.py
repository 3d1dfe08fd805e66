"""`waits.*`: what people wait for, each against a yardstick, measured in turn in one run.

Each module of this folder measures a wait. `BENCH_WAIT=busy_clients` measures one alone, and several are divided by
commas. A run ends with the table of what was promised on stderr: each row's figure, its spread and its goal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import postgresql_mints
from benchmarks.dashboards.crowd import PEOPLE
from benchmarks.figures import Figure
from benchmarks.promises import Promise, format_table
from benchmarks.waits import (
    bulk_over_http,
    bulk_signals,
    busy_clients,
    client_rows,
    first_run,
    million_signals,
    mint_beside_backfill,
    mint_by_name,
)

WAIT_VARIABLE = "BENCH_WAIT"
WAITS: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "bulk_signals": bulk_signals.figures,
    "bulk_over_http": bulk_over_http.figures,
    "mint_beside_backfill": mint_beside_backfill.figures,
    "million_signals": million_signals.figures,
    "busy_clients": busy_clients.figures,
    "postgresql_mints": postgresql_mints.figures,
    "mint_by_name": mint_by_name.figures,
    "client_rows": client_rows.figures,
    "first_run": first_run.figures,
}

_BESIDE = f"waits.bulk_next_to_{bulk_over_http.REQUESTS_PER_S}_verifications"
_CLICK = f"waits.million_signals.{PEOPLE}_people_click"
_TEAM = f"waits.million_signals.{PEOPLE}_team_mates_click"
PROMISES = (
    Promise("bulk in process against executemany, backfill", "2.5", "waits.bulk_signals.backfill_ratio"),
    Promise("bulk in process against executemany, live", "2.5", "waits.bulk_signals.live_ratio"),
    Promise("three entities a signal", "2.5", "waits.bulk_signals.three_entities_ratio"),
    Promise("HTTP, quiet: backfill", "35,000", "waits.bulk_over_http.backfill_per_s"),
    Promise("HTTP, quiet: live", "28,000", "waits.bulk_over_http.live_per_s"),
    Promise("PostgreSQL's insert against binary COPY", "1.3", "waits.bulk_signals.postgresql_insert_ratio"),
    Promise("5,000 lines beside 50 verifications a second, against alone", "1.3", f"{_BESIDE}_ratio"),
    Promise("verify p99 then", "25 ms over the next row", f"{_BESIDE}.verify_p99_ms"),
    Promise("verify p99 alone", "", f"{_BESIDE}.verify_alone_p99_ms"),
    Promise("mint p99 beside a backfill", "not worse", "waits.mint_p99_ms_next_to_backfill"),
    Promise("1 M signals: filter p95", "500", "waits.million_signals.filter_p95_ms"),
    Promise("1 M signals: next page p95", "300", "waits.million_signals.next_page_p95_ms"),
    Promise("twenty people beside a full API: click p95", "3,500 to 4,500", f"{_CLICK}_p95_ms"),
    Promise("what they leave of verifications", "0.8", f"{_CLICK}.verify_ratio"),
    Promise("twenty who look at the same: click p95", "1,500", f"{_TEAM}_p95_ms"),
    Promise("what they leave of verifications", "0.8", f"{_TEAM}.verify_ratio"),
    Promise("verify p99, 64 clients, against bare Tornado", "3.5", "waits.busy_clients.verify_p99_ratio_64"),
    Promise("PostgreSQL, 64 clients: a mint's time under the lock", "1.1", "postgresql.mint_lock_ms"),
    Promise("PostgreSQL, 64 clients: mints against SQLite's", "0.6", "postgresql.mint_ratio"),
    Promise("an item of mint_many by name against one by id", "1.3", "waits.mint_by_name.in_process_ratio"),
    Promise("the same over HTTP", "1.3", "waits.mint_by_name.http_ratio"),
    Promise("fresh clone, make run", "60", "waits.first_run_s"),
    Promise("make run again", "5", "waits.run_again_s"),
)


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures of each wait, measured in a folder for it alone; print the table of promises at the end."""
    selected, measured = os.environ.get(WAIT_VARIABLE), dict[str, Figure]()
    for name in selected.split(",") if selected else WAITS:
        own = folder / name
        own.mkdir()
        for figure in WAITS[name](own):
            measured[figure.name] = figure
            yield figure
    print("\n".join(format_table(PROMISES, measured)), file=sys.stderr)
