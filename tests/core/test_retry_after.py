"""`Retry-After` of other hosts: seconds with or without a fraction, an HTTP date, and what is neither."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.core.retry_after import parse_retry_after

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
LIMIT = timedelta(seconds=300)


def parse(header: str | None) -> float | None:
    found = parse_retry_after(header, now=NOW, limit=LIMIT)
    return None if found is None else found.total_seconds()


@given(st.integers(-400, 400))
def test_a_date_is_the_time_until_then(seconds: int) -> None:
    header = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert parse(header) == min(max(seconds, 0), 300)


@given(st.integers(0, 10**12))
def test_seconds_are_bounded(seconds: int) -> None:
    assert parse(str(seconds)) == min(seconds, 300)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        *(("1.5", 2), ("0.2", 1), ("2.0", 2), (" 7 ", 7), ("007", 7), ("299.001", 300), ("300.5", 300)),
        *(("9" * 10, 300), ("9" * 5000, 300), ("9" * 5000 + ".9", 300), ("0" * 5000 + "8", 8)),
    ],
    ids=lambda each: str(each)[:12],
)
def test_a_fraction_is_rounded_up_and_any_number_of_digits_counts(header: str, seconds: int) -> None:
    assert parse(header) == seconds


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "-1",
        "+1",
        "1.",
        ".5",
        "1,5",
        "1e3",
        "1_0",
        "never",
        "nan",
        "inf",
        "Tue, 99 Nov 2026 12:00:00 GMT",
        "٣",
    ],
)
def test_what_is_neither_is_ignored(header: str | None) -> None:
    assert parse(header) is None
