"""Rows of tables that are encoded by columns: each line, number and refusal is that of the row alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from attestlab.client.collections import row_blocks, signal_rows
from attestlab.client.collections.column_encoding import encode_rows
from attestlab.client.collections.signal_rows import SIGNALS, BulkLine, compose_line, compose_lines, open_rows
from attestlab.core.errors import ValidationFailed
from support.property_tests import examples

ZURICH = ZoneInfo("Europe/Zurich")
INDIA = timezone(timedelta(hours=5, minutes=30))


class OwnZone(tzinfo):
    """A zone of the caller: its clocks change in each hour."""

    def utcoffset(self, at: datetime | None) -> timedelta:
        return timedelta(minutes=0 if at is None else at.minute)


ZONES: list[tzinfo | None] = [None, ZURICH, INDIA, OwnZone()]
TEXTS = ["gateway", "Zürich", 'a"b\\c', "\x7f", "\u2028", "\ud800", " ", "%s", "a\0b", "a\nb", "", "2026-01-02"]
NUMBERS: list[object] = [1, 0, -1, 0.0, -0.0, 41.5, 1e-5, 1e16, 5e-324, 2**53, 2**53 + 1, 2**64, 10**30, True, "9"]
NUMBERS += [float("nan"), float("inf"), Decimal("0.1"), Decimal("NaN"), np.float32(0.5), np.int64(3), pd.NA, pd.NaT]
TIMES: list[object] = ["2026-03-29T02:30:00", "2026-10-25T02:30:00", "2026-10-25 03:00", "2026-01-02", "20260102T0304"]
TIMES += ["2026-01-02T03:04:05Z", " 2026-01-02T03:04:05.6789+02:00", "2026-01-02 03:04:05 ", "soon", "9999-12-31T23:59"]
TIMES += [datetime(2026, 1, 2, 3, 4, 5, 678_912), datetime(2026, 10, 25, 2, 30, fold=1), datetime.min, datetime.max]
TIMES += [each.replace(tzinfo=zone) for each in (datetime.min, datetime(1959, 2, 3, 4, 5)) for zone in (UTC, ZURICH)]
TIMES += [pd.Timestamp("2026-01-02 03:04:05.678912345"), pd.Timestamp("2026-01-02", tz="Asia/Tokyo"), date(2026, 1, 2)]
TIMES += [pd.NaT, float("nan"), 7]
JSON_TEXTS = ["{", "null", "NaN", "7", "[null]", '{"a":1e400}', '{"a":-0}', '{"a":0.00001234}', '{"a":1E5}', "[1e-7]"]
JSON_TEXTS += ['{"a":1,"b":2,"a":3}', '{"a":"\\ud800"}', '{"a":"\\u007f\\/\\u0001"}', '{"é":null}', " [1 , 2]"]
JSON_TEXTS += ["[[[", '{"a":{"b":[{}]}}']
JSON_TEXTS += [f'{{"a":{number}}}' for number in (2**53 + 1, 2**63, 2**64, f"{10**25}.5")]
DETAILS: list[object] = [{"a": float("nan")}, {"a": [{}, None]}, {1: 2}, {"a": object()}, {"a": Decimal(3)}]
DETAILS += [[1], {}, b"x"]

plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
json_values = plain | st.dictionaries(st.text(max_size=3), plain | st.lists(plain, max_size=2), max_size=3)
json_texts = st.sampled_from(JSON_TEXTS) | json_values.map(json.dumps)
json_texts |= json_values.map(lambda value: json.dumps(value, ensure_ascii=False))
texts = st.sampled_from([*TEXTS, "gateway", "user-1"]) | st.text(max_size=4)
objects = st.fixed_dictionaries(
    {
        "source": texts | st.sampled_from([None, b"x", 7]),
        "score": st.sampled_from(NUMBERS) | st.floats() | st.integers(),
        "entity_id": texts,
        "occurred_at": st.sampled_from(TIMES) | st.none() | st.datetimes(),
        "details": json_texts | st.sampled_from(DETAILS) | st.none() | json_values,
    }
)
cells = st.lists(st.sampled_from(["gateway", "", "9", "1e3", "nan", "1_0", "x"]) | texts | json_texts, max_size=7)


def read_alone(rows: Sequence[object], zone: tzinfo | None) -> list[BulkLine]:
    return [compose_line(number, row, zone) for number, row in enumerate(rows, 1)]


def require_same_lines(table: Any, zone: tzinfo | None) -> list[BulkLine]:
    """Require the lines of a table to be those of its rows; returns them."""
    lines = list(compose_lines(open_rows(table, SIGNALS), zone=zone))
    assert lines == read_alone([*open_rows(table, SIGNALS).rows], zone)
    return lines


@pytest.fixture(autouse=True)
def any_columns_and_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_rows, "_require_columns", lambda names, kind: None)
    monkeypatch.setattr(signal_rows, "BLOCK_ROWS", 3)


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=5_000))
@given(st.lists(objects, max_size=7), st.sampled_from(ZONES))
def test_a_frame_has_the_lines_of_its_rows(rows: list[dict[str, object]], zone: tzinfo | None) -> None:
    names = ["source", "score", "entity_id", "occurred_at", "details"]
    frame = pd.DataFrame({name: pd.Series([row[name] for row in rows], dtype=object) for name in names})

    assert len(require_same_lines(frame, zone)) == len(rows)


@pytest.mark.more_in_soak
@settings(max_examples=examples(20, many=5_000))
@given(st.lists(cells, max_size=7), st.sampled_from(ZONES))
def test_a_csv_file_has_the_lines_that_the_library_reads(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], zone: tzinfo | None
) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["source", "score", "occurred_at", "details"], *rows])
    path = tmp_path_factory.mktemp("csv") / "rows.csv"
    path.write_bytes(text.getvalue().encode("utf-8", "replace"))

    with path.open(newline="", encoding="utf-8") as file:
        wanted = [
            [*row.values()] if None in row else row_blocks._read_cells({**row, "score": row["score"] or ""})
            for row in csv.DictReader(file)
        ]
    assert [*compose_lines(open_rows(path, SIGNALS), zone=zone)] == read_alone(wanted, zone)
    require_same_lines(path, zone)


DAYS = ["2026-03-29 02:30:00", "2026-10-25 02:30:00", None, "1959-02-03 04:05:06.123456", "2026-07-01 00:00:00"]
NANOSECONDS = pd.Series(np.array(["1969-12-31T23:59:59.999999999", "NaT", "1969-12-31T23:59:59.998"], "datetime64[ns]"))
NAIVE = pd.Series(pd.to_datetime(DAYS, format="ISO8601"))
SERIES = {
    "microseconds": NAIVE,
    "seconds": NAIVE.astype("datetime64[s]"),
    "nanoseconds": NANOSECONDS,
    "zone": NAIVE.dt.tz_localize("Asia/Tokyo"),
    "zone, nanoseconds": NANOSECONDS.dt.tz_localize("UTC"),
    "far seconds": pd.Series(np.array(["2026-01-02", "20000-01-02"], "datetime64[s]")),
    "far seconds, zone": pd.Series(np.array(["2026-01-02", "20000-01-02"], "datetime64[s]")).dt.tz_localize("UTC"),
    "far microseconds": pd.Series(np.array(["2026-01-02", "20000-01-02"], "datetime64[us]")),
    "arrow": NAIVE.astype(pd.ArrowDtype(pa.timestamp("us"))),
    "arrow, zone": NAIVE.astype(pd.ArrowDtype(pa.timestamp("us", "UTC"))),
    "category": pd.Series(DAYS, dtype="category"),
    "texts": pd.Series(DAYS, dtype="str"),
    "nullable texts": pd.Series(DAYS, dtype="string"),
    "durations": pd.Series(np.array([1, 2], "timedelta64[s]")),
    "integers": pd.Series([1, None, 2**62], dtype="Int64"),
    "small": pd.Series([1, 2], dtype="uint8"),
    "single": pd.Series([0.1, None, float("inf")], dtype="float32"),
    "booleans": pd.Series([True, False]),
    "complex": pd.Series([1j]),
}


@pytest.mark.filterwarnings("ignore:Discarding nonzero nanoseconds")
@pytest.mark.parametrize("kind", SERIES)
def test_a_column_of_each_type_of_pandas_has_the_lines_of_its_rows(kind: str) -> None:
    for name, zone in product(("occurred_at", "source", "details"), ZONES):
        require_same_lines(pd.DataFrame({name: SERIES[kind]}), zone)


SECONDS = [0, 1_782_000_000, None, -1, -344_000_001]
UNITS = ("s", "ms", "us", "ns")
ARRAYS = {
    **{f"timestamp {unit}": pa.array(SECONDS, pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    **{
        f"timestamp {unit}, zone": pa.array(SECONDS, pa.timestamp(unit, "Asia/Tokyo"))
        for unit in ("s", "ms", "us", "ns")
    },
    "naive texts": pa.array(DAYS),
    "large texts": pa.array(DAYS, pa.large_string()),
    "dictionary": pa.array(DAYS).dictionary_encode(),
    "day": pa.array([date(2026, 1, 2), None]),
    "decimals": pa.array([Decimal("0.1"), None, Decimal("0.12345678901234567890123")]),
    "floats": pa.array([0.1, None, float("nan"), float("inf"), -0.0]),
    "single": pa.array([0.1, None], pa.float32()),
    "integers": pa.array([1, 2**63, None], pa.uint64()),
    "bytes": pa.array([b"x", None]),
    "booleans": pa.array([True, None]),
    "nothing": pa.nulls(3),
    "nested": pa.array([{"a": [1, None], "b": {"c": "é"}}, None, {"a": [], "b": None}]),
    "nested times": pa.array([{"at": datetime(2026, 1, 2, tzinfo=UTC)}, {"at": None}]),
    "pairs": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "deep": pa.array(["[" * depth + "]" * depth for depth in (200, 300, 2_000)]),
    "details": pa.array(['{"a": 1}', "{", None, '{"a": NaN}']),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_column_of_each_type_of_arrow_has_the_lines_of_its_rows(kind: str) -> None:
    for name, zone in product(("occurred_at", "source", "details"), ZONES):
        require_same_lines(pa.table({name: ARRAYS[kind], "entity_id": ["u1"] * len(ARRAYS[kind])}), zone)


def test_a_name_that_is_there_twice_has_the_value_of_the_last_column() -> None:
    frame = pd.DataFrame([["a", "b"], ["c", None]], columns=["source", "source"])

    assert [line.content for line in require_same_lines(frame, None)] == [b'{"source":"b"}', b'{"source":"c"}']
    assert (
        require_same_lines(pa.table([["a"], ["b"]], names=["source", "source"]), None)[0].content == b'{"source":"b"}'
    )


def test_ordinary_rows_of_each_form_are_encoded_by_columns() -> None:
    """None of them takes the way of a row alone, which costs ten times as much."""
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    columns = {
        "source": ["gateway", "session"],
        "score": [1.5, 2],
        "occurred_at": [at] * 2,
        "details": ['{"a":1}', None],
    }
    frame = pd.DataFrame(columns)
    naive = frame.assign(occurred_at=frame.occurred_at.dt.tz_localize(None))
    for table, zone in ((frame, None), (naive, ZURICH), (pa.table(columns), None), (pl.DataFrame(columns), None)):
        for block in open_rows(table, SIGNALS).blocks or ():
            assert encode_rows(block.read_columns(), zone).unusual == []


def test_a_time_at_the_end_of_the_calendar_rejects_its_row_alone() -> None:
    first = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))

    bad, good = compose_lines(open_rows([{"occurred_at": first}, {"score": 1}], SIGNALS), zone=None)

    assert "cannot be sent as JSON: 0001-01-01T00:00:00+01:00 is out of range in UTC" in str(bad.fault)
    assert good.content == b'{"score":1}'


def test_rows_before_a_fault_of_a_file_come_before_its_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"source\n" + b"a\n" * 10_000 + b"\xff\n" * 4)
    lines = compose_lines(open_rows(path, SIGNALS), zone=None)

    seen = []
    with pytest.raises(ValidationFailed, match="cannot be read as CSV in UTF-8"):
        seen.extend(lines)
    assert {line.content for line in seen} == {b'{"source":"a"}'}


def test_a_parquet_file_that_is_broken_within_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    parquet.write_table(pa.table({"source": [f"source-{number}" for number in range(500)]}), path)
    content = bytearray(path.read_bytes())
    content[4:1_000] = b"\xff" * 996
    path.write_bytes(content)

    with pytest.raises(ValidationFailed, match="cannot be read as Parquet") as caught:
        list(compose_lines(open_rows(path, SIGNALS), zone=None))
    assert "\n" not in str(caught.value)
