"""SQLite column types for ids and times; they read in a third of the time, and a response has a dozen of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import DateTime, Dialect, Uuid
from sqlalchemy.dialects.sqlite import DATETIME

from attestlab.core.ids import uuid_from_int


class SqliteUuid(Uuid[UUID]):
    """A UUID column, stored as 32 hex digits."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], UUID | None]:
        """Return the function that converts hex digits to a UUID."""
        return _parse_uuid


class SqliteDateTime(DATETIME):
    """A time column, stored in UTC as `2026-01-02 03:04:05.678000`, without an offset."""

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], datetime | None]:
        """Return the function that converts the text to an aware datetime."""
        return _parse_time


TYPES = {Uuid: SqliteUuid, DateTime: SqliteDateTime}


def _parse_uuid(digits: str | None) -> UUID | None:
    if digits is None:
        return None
    is_plain = len(digits) == 32 and digits.isalnum()
    return uuid_from_int(int(digits, 16)) if is_plain else UUID(digits)  # which raises a precise error


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text + "+00:00")
