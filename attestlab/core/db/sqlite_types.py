"""Ids and times as SQLite keeps them, read in a third of the time: an answer is made of a dozen of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Dialect, Uuid
from sqlalchemy.dialects.sqlite import DATETIME

from attestlab.core.ids import id_of


class SqliteUuid(Uuid[UUID]):
    """An id, kept as 32 hex digits."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], UUID | None]:
        """Digits become an id."""
        return _id


class SqliteDateTime(DATETIME):
    """A moment, kept in UTC as `2026-01-02 03:04:05.678000`, without saying so."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """The text becomes an aware time."""
        return _time


TYPES = {Uuid: SqliteUuid, DateTime: SqliteDateTime}


def _id(digits: str | None) -> UUID | None:
    if digits is None:
        return None
    is_plain = len(digits) == 32 and digits.isalnum()
    return id_of(int(digits, 16)) if is_plain else UUID(digits)  # which says what is wrong with it


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text + "+00:00")
