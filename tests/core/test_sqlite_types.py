"""SQLite column types read ids and times as SQLAlchemy's own types do, and reject malformed values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Uuid
from sqlalchemy.dialects.sqlite import DATETIME, dialect

from attestlab.core.db.sqlite_types import SqliteDateTime, SqliteUuid

read_id: Any = SqliteUuid().result_processor(dialect(), None)
read_time: Any = SqliteDateTime().result_processor(dialect(), None)
own_id: Any = Uuid().result_processor(dialect(), None)
own_time: Any = DATETIME().result_processor(dialect(), None)
written_id: Any = Uuid().bind_processor(dialect())
written_time: Any = DATETIME().bind_processor(dialect())


@given(st.uuids())
def test_ids_are_read_as_sqlalchemy_reads_them(made: UUID) -> None:
    digits = written_id(made)

    assert read_id(digits) == own_id(digits) == made


@given(st.datetimes())
def test_times_are_read_as_sqlalchemy_reads_them_but_aware(at: datetime) -> None:
    text = written_time(at)

    assert read_time(text) == own_time(text).replace(tzinfo=UTC)


def test_null_is_read_as_none() -> None:
    assert (read_id(None), read_time(None)) == (None, None)


@pytest.mark.parametrize("digits", ["", "0" * 31, "-" + "0" * 31, "_" + "0" * 31, "x" * 32])
def test_malformed_id_is_rejected(digits: str) -> None:
    with pytest.raises(ValueError, match=r"UUID|literal"):
        read_id(digits)


@pytest.mark.parametrize("text", ["", "soon", "2026-11-22 00:00:00+01:00"])
def test_malformed_time_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="isoformat"):
        read_time(text)
