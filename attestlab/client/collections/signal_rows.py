"""Signals or logins as people have them, dicts, frames and files, read row by row: a bad row spoils no other."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast
from zoneinfo import ZoneInfo

from attestlab.agents.observability import members as event_members
from attestlab.client import arguments
from attestlab.client.analysis.caller_frames import open_frame
from attestlab.client.collections.column_encoding import TIME, EncodedRows, encode_rows
from attestlab.client.collections.row_blocks import BLOCK_ROWS, ArrowBlock, CsvBlock, PandasBlock, RowBlock
from attestlab.client.json_values import encode_body
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.strict_json import parse_json
from attestlab.risk.logins import login as login_members
from attestlab.risk.signals import members as signal_members
from attestlab.risk.signals.members import MAX_LINE_BYTES, describe_fault

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    BulkRows = Iterable[Mapping[str, object]] | pd.DataFrame | pa.Table | pl.DataFrame | str | PathLike[str]


def _require_signal(members: Mapping[str, object], now: datetime) -> None:
    signal_members.encode_details(signal_members.read_members(members, now=now).details)


def _require_login(members: Mapping[str, object], now: datetime) -> None:
    login_members.require_within_years(login_members.read_login(members, now=now).occurred_at, now)


class BulkKind(NamedTuple):
    """What rows are: their noun, their columns, and the rules by which the service accepts one."""

    noun: str
    required: tuple[str, ...]
    members: frozenset[str]
    require: Callable[[Mapping[str, object], datetime], None]


SIGNALS = BulkKind("signal", signal_members.REQUIRED, signal_members.MEMBERS, _require_signal)
AGENT_EVENTS = BulkKind("event", event_members.REQUIRED, event_members.MEMBERS, event_members.require_event)
LOGINS = BulkKind("login", login_members.REQUIRED, login_members.MEMBERS - {"backfill"}, _require_login)


class BulkLine(NamedTuple):
    """A row as a line of a request, or why it cannot be one; `number` counts rows from 1."""

    number: int
    content: bytes
    fault: str | None = None


class OpenedRows(NamedTuple):
    """Rows to send, and their number where it is known before they are read.

    Read either `rows`, or the `blocks` of a table, in which the same rows are.
    """

    rows: Iterator[object]
    total: int | None
    blocks: Iterator[RowBlock] | None = None

    @classmethod
    def of_table(cls, blocks: Iterator[RowBlock], total: int | None) -> OpenedRows:
        """Open the rows of a table."""
        rows = chain.from_iterable(block.read_rows(range(block.length)) for block in blocks)
        return cls(rows, total, blocks)


def open_rows(given: object, kind: BulkKind) -> OpenedRows:
    """Open rows: an iterable of dicts, a frame of pandas, Polars or Arrow, or the path of a CSV or Parquet file.

    Raises:
        ValidationFailed: they are none of them, or a column is missing or is no member of such a row.
    """
    if isinstance(given, str | PathLike):
        return _open_file(arguments.find_file(given), kind)
    if hasattr(given, "itertuples"):
        return _open_pandas(cast("pd.DataFrame", given), kind)
    if hasattr(given, "__arrow_c_stream__"):
        return _open_arrow(given, kind)
    name = f"{kind.noun}s"
    rows = arguments.iterate(given, name=name, of="dicts, a frame, or the path of a CSV or Parquet file")
    return OpenedRows(rows, len(given) if isinstance(given, Sized) else None)


def compose_lines(opened: OpenedRows, *, zone: tzinfo | None) -> Iterator[BulkLine]:
    """Compose the line of each row; times without an offset are those of a zone."""
    if opened.blocks is None:
        yield from (compose_line(number, row, zone) for number, row in enumerate(opened.rows, 1))
        return
    first = 1
    for block in opened.blocks:
        yield from _compose_block(block, first, zone)
        first += block.length


def compose_line(number: int, row: object, zone: tzinfo | None) -> BulkLine:
    """Compose the line of one row."""
    try:
        members = arguments.read_mapping(row, name=f"Row {number}")
        return BulkLine(number, encode_body(localize_time(members, zone)))
    except ValidationFailed as error:
        return BulkLine(number, b"", describe_fault(error))


def _compose_block(block: RowBlock, first: int, zone: tzinfo | None) -> Iterator[BulkLine]:
    """Compose the lines of a block by columns; those of unusual rows one by one."""
    places = range(block.length)
    has_names_twice = len({*block.names}) < len(block.names)
    encoded = EncodedRows([b""] * len(places), places) if has_names_twice else encode_rows(block.read_columns(), zone)
    rows = dict(zip(encoded.unusual, block.read_rows(encoded.unusual), strict=True))
    for place, content in enumerate(encoded.lines):
        number = first + place
        yield compose_line(number, rows[place], zone) if place in rows else BulkLine(number, content)


def check_line(line: BulkLine, kind: BulkKind, *, now: datetime) -> BulkLine:
    """Check a line by the rules of the service, so that it accepts what passes."""
    if line.fault is not None:
        return line
    try:
        if len(line.content) > MAX_LINE_BYTES:
            raise ValidationFailed(f"A row has at most {MAX_LINE_BYTES:,} bytes as JSON, not {len(line.content):,}.")
        kind.require(cast("dict[str, object]", parse_json(line.content)), now)
    except ValidationFailed as error:
        return line._replace(fault=describe_fault(error, kind.members))
    return line


def read_zone(zone: object) -> tzinfo | None:
    """Read a time zone: None, its name such as `Europe/Zurich`, or a tzinfo.

    Raises:
        ValidationFailed: there is no such zone.
    """
    if zone is None or isinstance(zone, tzinfo):
        return zone
    try:
        return ZoneInfo(zone)  # type: ignore[arg-type]  # it raises for what is no text
    except (KeyError, OSError, TypeError, ValueError, AttributeError):
        raise ValidationFailed(f"tz={arguments.show(zone)} is no time zone. Pass one like 'Europe/Zurich'.") from None


def localize_time(members: dict[str, object], zone: tzinfo | None) -> dict[str, object]:
    """Give the time of a row its offset, and leave out what it lacks."""
    found = {name: value for name, value in members.items() if value is not None}
    time = found.get(TIME)
    if isinstance(time, str):
        with suppress(ValueError):
            time = datetime.fromisoformat(time.strip())
    if isinstance(time, datetime) and time == time and time.utcoffset() is None:
        if zone is None:
            message = f"{arguments.show(str(time))} has no UTC offset. Pass its zone, such as tz='Europe/Zurich'."
            raise ValidationFailed.of(f"/{TIME}", "format", message)
        with suppress(OverflowError, ValueError):  # beyond the calendar of `datetime`; it has no JSON form either
            found[TIME] = _read_local_time(time.replace(tzinfo=None), zone)
    return found


def _read_local_time(time: datetime, zone: tzinfo) -> datetime:
    """Return the moment of a local time; `fold=1` names the second of two (PEP 495).

    Raises:
        ValidationFailed: clocks showed this time twice, or never, because they changed.
    """
    moment = time.replace(tzinfo=zone).astimezone(UTC)
    other = time.replace(tzinfo=zone, fold=1 - time.fold).astimezone(UTC)
    if moment == other or time.fold:
        return moment
    is_twice = moment.astimezone(zone).replace(tzinfo=None) == time
    how_often = "was twice" if is_twice else "never was"
    message = f"{time.isoformat()} in {zone} {how_often}, because clocks changed. Pass it with its UTC offset."
    raise ValidationFailed.of(f"/{TIME}", "local_time", message)


def _open_file(path: Path, kind: BulkKind) -> OpenedRows:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return OpenedRows.of_table(_iterate_csv(path, kind), None)
    if suffix in (".parquet", ".pq"):
        return _open_parquet(path, kind)
    raise ValidationFailed(f"{quote(str(path))} is no .csv or .parquet file. Pass one, or a frame, or dicts.")


def _iterate_csv(path: Path, kind: BulkKind) -> Iterator[RowBlock]:
    """Read a CSV file block by block; empty lines are no rows. The rows before a fault of the file come before it."""
    names: list[str] = []
    rows: list[list[str]] = []
    fault = None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            names = next(reader, [])
            _require_columns(names, kind)
            for row in filter(None, reader):
                rows.append(row)
                if len(rows) == BLOCK_ROWS:
                    yield CsvBlock(names, rows)
                    rows = []
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        fault = error
    if rows:
        yield CsvBlock(names, rows)
    if fault is not None:
        raise ValidationFailed(f"{quote(str(path))} cannot be read as CSV in UTF-8: {fault}.")


def _open_parquet(path: Path, kind: BulkKind) -> OpenedRows:
    with naming_extras():
        import pyarrow as pa
        from pyarrow import parquet
    try:
        file = parquet.ParquetFile(os.fspath(path))
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(path, error) from None
    _require_columns(file.schema_arrow.names, kind)
    return OpenedRows.of_table(_iterate_parquet(path, file), file.metadata.num_rows)


def _iterate_parquet(path: Path, file: ParquetFile) -> Iterator[RowBlock]:
    import pyarrow as pa

    try:
        yield from map(ArrowBlock, file.iter_batches(BLOCK_ROWS))
    except (pa.ArrowException, OSError) as error:
        raise _not_parquet(path, error) from None


def _not_parquet(path: Path, error: Exception) -> ValidationFailed:
    return ValidationFailed(f"{quote(str(path))} cannot be read as Parquet: {_shorten(error)}.")


def _open_arrow(frame: object, kind: BulkKind) -> OpenedRows:
    table = open_frame(frame, name=f"{kind.noun}s").read_all()
    _require_columns(table.column_names, kind)
    return OpenedRows.of_table(map(ArrowBlock, table.to_batches(BLOCK_ROWS)), table.num_rows)


def _open_pandas(frame: pd.DataFrame, kind: BulkKind) -> OpenedRows:
    names = list(map(str, frame.columns))
    _require_columns(names, kind)
    blocks = (PandasBlock(names, frame.iloc[first : first + BLOCK_ROWS]) for first in range(0, len(frame), BLOCK_ROWS))
    return OpenedRows.of_table(blocks, len(frame))


def _require_columns(names: Sequence[str], kind: BulkKind) -> None:
    unknown = sorted(set(names) - kind.members)
    missing = [name for name in kind.required if name not in names]
    if unknown or missing:
        said = [f"lacks {', '.join(missing)}"] * bool(missing)
        said += [f"has {_shorten(', '.join(unknown))}, which a {kind.noun} has not"] * bool(unknown)
        known = ", ".join(sorted(kind.members))
        raise ValidationFailed(f"The table {' and '.join(said)}. Rename or drop columns; a {kind.noun} has {known}.")


def _shorten(what: object) -> str:
    return " ".join(str(what).split())[:200]
