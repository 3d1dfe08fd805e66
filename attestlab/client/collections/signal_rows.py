"""Signals or logins as people have them, dicts, frames and files, read row by row: a bad row spoils no other."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import suppress
from datetime import UTC, datetime, tzinfo
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast
from zoneinfo import ZoneInfo

from attestlab.client import arguments
from attestlab.client.analysis.caller_frames import open_frame
from attestlab.client.json_values import encode_body
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.core.strict_json import parse_json
from attestlab.risk.logins import members as login_members
from attestlab.risk.signals import members as signal_members
from attestlab.risk.signals.members import MAX_LINE_BYTES, describe_fault

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    BulkRows = Iterable[Mapping[str, object]] | pd.DataFrame | pa.Table | pl.DataFrame | str | PathLike[str]

_TIME = "occurred_at"


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
LOGINS = BulkKind("login", login_members.REQUIRED, login_members.MEMBERS - {"backfill"}, _require_login)


class BulkLine(NamedTuple):
    """A row as a line of a request, or why it cannot be one; `number` counts rows from 1."""

    number: int
    content: bytes
    fault: str | None = None


class OpenedRows(NamedTuple):
    """Rows to send, and their number where it is known before they are read."""

    rows: Iterator[object]
    total: int | None


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


def compose_lines(rows: Iterable[object], *, zone: tzinfo | None) -> Iterator[BulkLine]:
    """Compose the line of each row; times without an offset are those of a zone."""
    for number, row in enumerate(rows, 1):
        try:
            members = arguments.read_mapping(row, name=f"Row {number}")
            yield BulkLine(number, encode_body(localize_time(members, zone)))
        except ValidationFailed as error:
            yield BulkLine(number, b"", describe_fault(error))


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
    time = found.get(_TIME)
    if isinstance(time, str):
        with suppress(ValueError):
            time = datetime.fromisoformat(time.strip())
    if isinstance(time, datetime) and time == time and time.utcoffset() is None:
        if zone is None:
            message = f"{arguments.show(str(time))} has no UTC offset. Pass its zone, such as tz='Europe/Zurich'."
            raise ValidationFailed.of(f"/{_TIME}", "format", message)
        with suppress(OverflowError):
            found[_TIME] = _read_local_time(time.replace(tzinfo=None), zone)
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
    raise ValidationFailed.of(f"/{_TIME}", "local_time", message)


def _open_file(path: Path, kind: BulkKind) -> OpenedRows:
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return OpenedRows(_iterate_csv(path, kind), None)
    if suffix in (".parquet", ".pq"):
        return _open_parquet(path, kind)
    raise ValidationFailed(f"{quote(str(path))} is no .csv or .parquet file. Pass one, or a frame, or dicts.")


def _iterate_csv(path: Path, kind: BulkKind) -> Iterator[object]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            _require_columns(list(reader.fieldnames or ()), kind)
            for row in reader:
                yield _read_cells(row) if None not in row else [*row.values()]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ValidationFailed(f"{quote(str(path))} cannot be read as CSV in UTF-8: {error}.") from None


def _read_cells(row: Mapping[str, str | None]) -> dict[str, object]:
    """Read the cells of a CSV row; an empty one is missing."""
    found: dict[str, object] = {name: cell for name, cell in row.items() if cell}
    with suppress(ValueError, KeyError):
        found["score"] = float(cast("str", found["score"]))
    return _read_details(found)


def _read_details(row: dict[str, object]) -> dict[str, object]:
    """Read details that are JSON text, as files and `lab.signals.df()` have them."""
    if isinstance(row.get("details"), str):
        with suppress(ValueError, RecursionError):
            row["details"] = json.loads(cast("str", row["details"]))
    return row


def _open_parquet(path: Path, kind: BulkKind) -> OpenedRows:
    with naming_extras():
        import pyarrow as pa
        from pyarrow import parquet
    try:
        file = parquet.ParquetFile(os.fspath(path))
    except (pa.ArrowException, OSError) as error:
        raise ValidationFailed(f"{quote(str(path))} cannot be read as Parquet: {_shorten(error)}.") from None
    _require_columns(file.schema_arrow.names, kind)
    return OpenedRows(_iterate_batches(file.iter_batches()), file.metadata.num_rows)


def _open_arrow(frame: object, kind: BulkKind) -> OpenedRows:
    table = open_frame(frame, name=f"{kind.noun}s").read_all()
    _require_columns(table.column_names, kind)
    return OpenedRows(_iterate_batches(table.to_batches()), table.num_rows)


def _iterate_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[object]:
    for batch in batches:
        yield from map(_read_details, batch.to_pylist())


def _open_pandas(frame: pd.DataFrame, kind: BulkKind) -> OpenedRows:
    """Open a frame by its own values: a column of several types has no Arrow form, and one bad cell makes it one."""
    names = list(map(str, frame.columns))
    _require_columns(names, kind)
    rows = (_read_details(_without_missing(names, row)) for row in frame.itertuples(index=False, name=None))
    return OpenedRows(rows, len(frame))


def _without_missing(names: Sequence[str], row: Sequence[object]) -> dict[str, object]:
    return {name: value for name, value in zip(names, row, strict=True) if not _is_missing(value)}


def _is_missing(value: object) -> bool:
    """Whether pandas has no value here: None, NaN, NaT or NA."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


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
