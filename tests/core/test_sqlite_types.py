"""The SQLite type of times reads as SQLAlchemy's own type does, but aware, and rejects malformed values."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy.dialects.sqlite import DATETIME, dialect

from attestlab.core.db.sqlite_types import SqliteDateTime

read_time: Any = SqliteDateTime().result_processor(dialect(), None)
own_time: Any = DATETIME().result_processor(dialect(), None)
written_time: Any = DATETIME().bind_processor(dialect())


@given(st.datetimes())
def test_times_are_read_as_sqlalchemy_reads_them_but_aware(at: datetime) -> None:
    text = written_time(at)

    assert read_time(text) == own_time(text).replace(tzinfo=UTC)


def test_null_is_read_as_none() -> None:
    assert read_time(None) is None


@pytest.mark.parametrize("text", ["", "soon", "2026-11-22 00:00:00+01:00"])
def test_malformed_time_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="isoformat"):
        read_time(text)
