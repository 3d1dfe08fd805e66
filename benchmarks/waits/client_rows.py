"""A row of a frame or file as a line of a bulk request: encoded by columns, against each row alone.

Processor time of the client, which sends nothing. Rows have a time and details in every second row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import process_time

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from attestlab.client.collections.signal_rows import SIGNALS, BulkLine, compose_line, compose_lines, open_rows
from benchmarks.figures import Figure

ROUNDS = 5
ROWS = 20_000


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the cost of a row in each form, and how many times it costs alone."""
    for form, table in _make_tables(folder).items():
        rounds = [
            (_measure_row_us(_compose_by_columns, table), _measure_row_us(_compose_alone, table))
            for _ in range(ROUNDS + 1)
        ][1:]
        name = f"waits.client_rows.{form}"
        yield Figure.of_rounds(f"{name}_ratio", [alone / ours for ours, alone in rounds], "ratio", against="rows alone")
        yield Figure.of_rounds(f"{name}.by_columns_cpu_us", [ours for ours, _ in rounds], "us")
        yield Figure.of_rounds(f"{name}.alone_cpu_us", [alone for _, alone in rounds], "us")


def _make_tables(folder: Path) -> dict[str, object]:
    """Make the same rows as a frame, a CSV file and a Parquet file."""
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    frame = pd.DataFrame(
        {
            "source": ["gateway", "session"] * (ROWS // 2),
            "signal_type": ["behavior"] * ROWS,
            "score": [number % 1_000 / 10 for number in range(ROWS)],
            "entity_type": ["user"] * ROWS,
            "entity_id": [f"user-{number % 5_000:05}" for number in range(ROWS)],
            "occurred_at": [begin + timedelta(seconds=7.123 * number) for number in range(ROWS)],
            "details": [f'{{"page": "/me", "visit": {number}}}' if number % 2 else None for number in range(ROWS)],
        }
    )
    frame.to_csv(folder / "rows.csv", index=False)
    parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "rows.parquet")
    return {"frame": frame, "csv": folder / "rows.csv", "parquet": folder / "rows.parquet"}


def _compose_by_columns(table: object) -> Iterator[BulkLine]:
    return compose_lines(open_rows(table, SIGNALS), zone=None)


def _compose_alone(table: object) -> Iterator[BulkLine]:
    return (compose_line(number, row, None) for number, row in enumerate(open_rows(table, SIGNALS).rows, 1))


def _measure_row_us(compose: Callable[[object], Iterator[BulkLine]], table: object) -> float:
    begin = process_time()
    faults = sum(line.fault is not None for line in compose(table))
    if faults:
        raise RuntimeError(f"{faults:,} rows were refused.")
    return 1e6 * (process_time() - begin) / ROWS
