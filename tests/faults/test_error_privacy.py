"""A failing INSERT into any table exposes none of its values, neither in the log nor in the response."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import JSON, Boolean, Column, Date, Float, Integer, LargeBinary, Table, Uuid
from sqlmodel import SQLModel
from sqlmodel.sql.sqltypes import UTCDateTime

from attestlab.core.db.transaction import Transaction
from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.web import logging_setup
from support.faults.statement_faults import serve_in_process
from support.in_process_server import make_client

pytestmark = pytest.mark.both_engines
LONG_AGO = datetime(1987, 3, 4, 5, 6, 7, tzinfo=UTC)


def value_of(column: Column[Any], number: int) -> Any:
    """A value of the column's type that stands nowhere else."""
    kind, text = column.type, f"zq{number:04}qz"
    if isinstance(kind, Boolean):
        return True
    if isinstance(kind, Integer):
        return 870_000_000 + number
    if isinstance(kind, Float):
        return 870_000.5 + number
    if isinstance(kind, Uuid):
        return UUID(int=0xC0FFEE << 100 | number)
    if isinstance(kind, UTCDateTime):
        return LONG_AGO + timedelta(days=number)
    if isinstance(kind, Date):
        return LONG_AGO.date() + timedelta(days=number)
    if isinstance(kind, LargeBinary):
        return text.encode()
    return {"claim": text} if isinstance(kind, JSON) else text


def spellings(value: Any) -> list[str]:
    """How a value looks in Python's, SQLite's and PostgreSQL's messages."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, bytes):
        return [value.decode(), value.hex()]
    if isinstance(value, UUID):
        return [str(value), value.hex]
    if isinstance(value, dict):
        return [str(value["claim"])]
    return [value.strftime("%Y-%m-%d")] if isinstance(value, date) else [str(value)]


def failing_rows(table: Table, *, is_sqlite: bool) -> Iterator[list[dict[str, Any]]]:
    """Rows that the database refuses: one without a value that it needs, one that is there already, one malformed."""
    row = {column.name: value_of(column, number) for number, column in enumerate(table.columns)}
    needed = [column.name for column in table.columns if not column.nullable and not column.primary_key]
    if needed:
        yield [{**row, needed[-1]: None}]
    yield [row, row]
    times = [column.name for column in table.columns if isinstance(column.type, UTCDateTime)]
    if times and not is_sqlite:  # SQLite would store it
        yield [{**row, times[0]: "zqTimeqz"}]


class FailingSeal:
    """Adds rows to the next transaction, just before its commit."""

    def __init__(self, lab: Installation) -> None:
        self.rows: list[dict[str, Any]] = []
        self.table: Table | None = None
        lab.storage.sequence_hooks.insert(0, self)

    def __call__(self, tx: Transaction) -> None:
        if self.table is not None:
            for row in self.rows:
                tx.add(self.table, row)
                tx.flush()


def test_no_value_of_a_failing_insert_is_logged_or_answered(
    lab: Installation, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging_setup, "REPEAT_INTERVAL_S", 0)
    failing = FailingSeal(lab)
    created = lab.orgs.create_tenant("Registry", plan=Plan.ENTERPRISE)
    kinds = set()
    with serve_in_process(lab) as served, make_client(served.url, key=created.api_key) as http:
        for table in SQLModel.metadata.sorted_tables:
            for rows in failing_rows(table, is_sqlite=lab.storage.is_sqlite):
                failing.table, failing.rows = table, rows
                answer = http.post("/v1/issuers", json={"name": "N", "domain": "n.example", "alg": "Ed25519"})
                logged = capfd.readouterr().err
                assert (answer.status_code, f"INSERT INTO {table.name}" in logged) == (500, True), (table.name, logged)
                kinds.add("null" if "NULL" in logged.upper().partition("INSERT")[0] else "other")
                for value in rows[0].values():
                    for spelt in spellings(value):
                        assert spelt not in logged, (table.name, logged)
                        assert spelt not in answer.text, (table.name, answer.text)
        failing.table = None
    assert kinds == {"null", "other"}
