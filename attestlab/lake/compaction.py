"""Compaction: merges runs of adjacent short parts into long ones, so that a query opens few files.

Long parts are sorted by tenant and time like short ones, so a query of one tenant reads few of their row groups. The
steps are safe to interrupt: a long part gets its name when it is complete, and from then on readers prefer it to the
short parts of its range. These are deleted an hour later, when every query that began with them has ended: a query of a
caller takes at most minutes. A relation that a notebook opened before and evaluates later is refused as unavailable.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
from pyarrow import parquet

from attestlab.core.atomic_files import temporary_folder
from attestlab.core.errors import Conflict
from attestlab.core.file_caching import cache_while_unchanged
from attestlab.lake import context_columns
from attestlab.lake.datasets import Dataset
from attestlab.lake.parts import LakePart, Parts, column_names, list_parts, write_groups
from attestlab.policy.sql.compiler import quote_identifier

MAX_UNMERGED_BYTES = 1 << 28  # a part with as many bytes, before compression, is as long as any
ROWS_A_GROUP = 20_480
SUPERSEDED_TTL_S = 3_600.0
MEMORY_LIMIT = "512MB"  # for sorting; beyond it, DuckDB writes to a temporary folder


class PartSize(NamedTuple):
    """The rows of a part, and their bytes before compression."""

    rows: int
    size_bytes: int


class Run(NamedTuple):
    """Adjacent parts of one sequence that are to be merged."""

    folder: Path
    dataset: Dataset
    parts: Sequence[LakePart]


def find_run(folder: Path, dataset: Dataset, parts: Parts, lengths: Sequence[int]) -> Run | None:
    """Find the first run of adjacent parts that can be merged, at the shortest of the lengths that has one."""
    runs = (_find_run_of_length(parts.chain, length) for length in sorted(lengths))
    found = next((run for run in runs if run), None)
    return None if found is None else Run(folder, dataset, found)


def _find_run_of_length(chain: Sequence[LakePart], length: int) -> Sequence[LakePart]:
    """Return the first adjacent parts, each short, that are long together; empty if there are none."""
    run: list[LakePart] = []
    for part in chain:
        run = [] if _is_long([part], length) else [*run, part]
        if _is_long(run, length):
            return run
    return []


def _is_long(parts: Sequence[LakePart], length: int) -> bool:
    if sum(part.last - part.first + 1 for part in parts) >= length:
        return True
    return sum(read_size(part.path).size_bytes for part in parts) >= MAX_UNMERGED_BYTES


@cache_while_unchanged
def read_size(path: str) -> PartSize:
    """Return the size of a part from its footer."""
    footer = parquet.read_metadata(path)
    return PartSize(footer.num_rows, sum(footer.row_group(n).total_byte_size for n in range(footer.num_row_groups)))


def merge(run: Run) -> LakePart:
    """Write the rows of a run as one part, sorted, in bounded memory; the parts of the run stay.

    Raises:
        OSError: the disk is full or gone; then no file has the part's name.
        Conflict: a part of the run was changed during the merge.
    """
    schema = _merge_schemas(run)
    with temporary_folder("attestlab-merge-") as spill, _open_sorter(spill) as connection:
        groups = _read_sorted(connection, run, schema)
        return write_groups(run.folder, run.parts[0].first, run.parts[-1].last, schema, groups)


def _merge_schemas(run: Run) -> pa.Schema:
    """Return every column of the run; of context columns, each part has only those with values."""
    names = {name for part in run.parts for name in column_names(part.path)}
    return pa.schema(list({**run.dataset.columns, **context_columns.column_types(names)}.items()))


def _open_sorter(spill: Path) -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY_LIMIT,
        "temp_directory": str(spill),
        "threads": 1,
    }
    connection = duckdb.connect(":memory:", config=config)
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _read_sorted(connection: duckdb.DuckDBPyConnection, run: Run, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a run in the order of a part, `ROWS_A_GROUP` at a time."""
    columns = ", ".join(map(quote_identifier, schema.names))
    files, order = [str(part.path) for part in run.parts], ", ".join(map(quote_identifier, run.dataset.order))
    query = f"SELECT {columns} FROM read_parquet(?, union_by_name = true, hive_partitioning = false) ORDER BY {order}"
    pending, count = schema.empty_table(), 0
    for batch in connection.sql(query, params=[files]).to_arrow_reader(ROWS_A_GROUP):
        pending = pa.concat_tables([pending, pa.Table.from_batches([batch]).cast(schema)])
        while pending.num_rows >= ROWS_A_GROUP:
            yield pending.slice(0, ROWS_A_GROUP)
            pending = pending.slice(ROWS_A_GROUP)
        count += batch.num_rows
    if count != sum(read_size(part.path).rows for part in run.parts):
        raise Conflict(f"Parts of the lake's {run.dataset.name} changed while they were merged; retry.")
    if pending.num_rows:
        yield pending


def delete_superseded(folder: Path, parts: Parts, *, now: float | None = None) -> int:
    """Delete the parts whose numbers a longer part of the chain has had for an hour; return their number.

    `now` is in seconds since 1970. Only the holder of the lake's lock may call it.
    """
    now = time.time() if now is None else now
    settled = [part for part in parts.chain if now - part.path.stat().st_mtime >= SUPERSEDED_TTL_S]
    superseded = [
        part
        for part in list_parts(folder)
        if part not in parts.chain and any(long.first <= part.first and part.last <= long.last for long in settled)
    ]
    for part in superseded:
        part.path.unlink(missing_ok=True)
    return len(superseded)
