"""No function of SQL that a query may call reads the clock of the machine: the time is that of the service."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta

import duckdb
import pytest

from attestlab.lake.sealed_connections import open_sealed

MACHINE = datetime.now(UTC)
NOW = MACHINE - timedelta(days=400, hours=12)
PAST = datetime(2001, 2, 3, tzinfo=UTC)
# Values of each type that a function of one argument may take.
ARGUMENTS = (
    "",
    "TIMESTAMP '2001-02-03'",
    "TIMESTAMPTZ '2001-02-03 00:00+00'",
    "DATE '2001-02-03'",
    "INTERVAL '0 days'",
)
KEYWORDS = ("current_timestamp", "current_date", "current_time", "localtime", "localtimestamp")
IDS = {"uuidv7", "sleep_ms", "pg_sleep"}  # ids of no data set, and functions that the lake refuses


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_sealed({}, now=NOW) as opened:
        yield opened


def list_calls(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """A call of each function without an argument and of each with a time or duration, and the keywords."""
    rows = connection.execute(
        "SELECT DISTINCT function_name, len(parameters) FROM duckdb_functions() "
        "WHERE function_type IN ('scalar', 'macro') AND len(parameters) <= 1 AND function_name ~ '^[a-z_0-9]+$'"
    ).fetchall()
    pairs = [(name, value) for name, count in rows for value in ARGUMENTS if bool(value) == count]
    calls = [f"{name}({value})" for name, value in pairs if name not in IDS]
    return [*calls, *KEYWORDS]


def is_of_the_machine(value: object) -> bool:
    """Whether a value is within half a day of the machine's time, by date, clock, or distance from `PAST`."""
    match value:
        case datetime():
            return abs(value.replace(tzinfo=UTC) - MACHINE) < timedelta(hours=11)
        case date():
            return abs(value - MACHINE.date()) <= timedelta(days=1)
        case time():
            return value.hour == MACHINE.hour
        case timedelta():
            return abs(PAST + value - MACHINE) < timedelta(days=200)
    return False


def evaluate(connection: duckdb.DuckDBPyConnection, call: str) -> object:
    """The value of a call; None where its argument does not fit."""
    try:
        return connection.execute(f"SELECT {call}").fetchall()[0][0]
    except (duckdb.Error, ValueError, OverflowError):
        return None


def test_no_function_returns_the_time_of_the_machine(connection: duckdb.DuckDBPyConnection) -> None:
    values = {call: evaluate(connection, call) for call in list_calls(connection)}

    assert {call: value for call, value in values.items() if is_of_the_machine(value)} == {}
    assert sum(isinstance(value, datetime) and value == NOW for value in values.values()) >= 4
    assert values["age(TIMESTAMP '2001-02-03')"] is not None


def test_the_age_of_two_moments_is_their_distance(connection: duckdb.DuckDBPyConnection) -> None:
    row = connection.execute("SELECT age(TIMESTAMP '2020-03-01', TIMESTAMP '2020-02-28')::VARCHAR").fetchone()

    assert row == ("2 days",)
