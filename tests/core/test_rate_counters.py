"""Rate counters shared by processes: buckets, windows and blocks, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.db.urls import database_url
from attestlab.core.limits.rate_counters import FILE_NAME, Counters
from support.fork_server import call_at_once

pytestmark = pytest.mark.both_engines

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@pytest.fixture
def counters(empty_database: str, tmp_path: Path) -> Iterator[Counters]:
    made = Counters.open(database_url(empty_database), tmp_path)
    yield made
    made.close()


def taken(counters: Counters, count: int, *, at: datetime, per_minute: int = 60) -> int:
    return sum(counters.take("bucket", per_minute=per_minute, now=at).allowed for _ in range(count))


@pytest.mark.parametrize(("per_minute", "room"), [(60, 10), (300, 50), (1000, 166), (7, 1), (1, 1)])
def test_a_bucket_holds_a_sixth_of_its_limit(counters: Counters, per_minute: int, room: int) -> None:
    assert taken(counters, room + 20, at=NOON, per_minute=per_minute) == room


def test_process_counts_in_memory_while_the_disk_fails(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    counters = Counters.open(database_url("sqlite://"), folder)
    assert taken(counters, 12, at=NOON) == 10

    folder.mkdir()

    assert taken(counters, 12, at=NOON) == 10
    assert (folder / FILE_NAME).exists()
    counters.close()


def test_read_only_counter_file_is_reopened(tmp_path: Path) -> None:
    """SQLite opens a file so where no descriptor is left for its first attempt; then the counts are shared no more."""
    counters, other = (Counters.open(database_url("sqlite://"), tmp_path) for _ in range(2))
    assert taken(counters, 1, at=NOON) == 1
    counters._engine._connection.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]  # writes fail alike

    assert taken(counters, 1, at=NOON) == 1, "counted by the process for itself"

    assert taken(counters, 20, at=NOON) == 9
    assert taken(other, 1, at=NOON) == 0
    counters.close()
    other.close()


TEN_YEARS = timedelta(days=3653)


def test_bucket_from_a_clock_years_ahead_is_full_after_correction(counters: Counters) -> None:
    assert taken(counters, 20, at=NOON + TEN_YEARS) == 10

    assert counters.peek("bucket", per_minute=60, now=NOON).remaining == 10
    assert taken(counters, 20, at=NOON) == 10, "the limit holds as ever"


def test_slow_clock_of_another_machine_does_not_refill_a_bucket(counters: Counters) -> None:
    assert taken(counters, 20, at=NOON + timedelta(seconds=30)) == 10
    assert taken(counters, 20, at=NOON) == 0


def test_bucket_from_a_clock_slightly_ahead_refills_from_now(counters: Counters) -> None:
    assert taken(counters, 20, at=NOON + timedelta(seconds=15)) == 10

    refused = counters.take("bucket", per_minute=60, now=NOON)

    assert (refused.allowed, refused.retry_after_s) == (False, 1.0)
    assert [taken(counters, 9, at=NOON + timedelta(seconds=second)) for second in (1, 2, 3)] == [1, 1, 1]


def test_window_from_a_clock_slightly_ahead_ends_within_its_length(counters: Counters) -> None:
    for _ in range(3):
        counters.count("window", limit=3, window_s=10, now=NOON + timedelta(seconds=15))

    assert counters.count("window", limit=3, window_s=10, now=NOON).retry_after_s == 10


def test_window_from_a_clock_years_ahead_ends_after_correction(counters: Counters) -> None:
    def try_four_requests(at: datetime) -> list[bool]:
        return [counters.count("window", limit=3, window_s=600, now=at).allowed for _ in range(4)]

    assert try_four_requests(NOON + TEN_YEARS) == [True, True, True, False]
    assert try_four_requests(NOON) == [True, True, True, False]
    assert counters.count("window", limit=3, window_s=600, now=NOON).retry_after_s <= 600


def test_block_from_a_clock_years_ahead_ends_after_correction(counters: Counters) -> None:
    counters.block("block", for_s=900, now=NOON + TEN_YEARS)
    assert counters.blocked_for_s("block", now=NOON) == 0

    counters.block("block", for_s=900, now=NOON)
    assert counters.blocked_for_s("block", now=NOON - timedelta(seconds=30)) == 900


def test_full_bucket_lasts_ten_seconds_at_twice_the_rate(counters: Counters) -> None:
    allowed = [taken(counters, 1, at=NOON + timedelta(seconds=second / 2)) for second in range(60)]

    first_refused = allowed.index(0)
    assert first_refused in (19, 20), "ten seconds of two requests a second"
    assert sum(allowed[first_refused:]) == pytest.approx((60 - first_refused) / 2, abs=1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 4000), min_size=1, max_size=200), st.sampled_from([1, 7, 60, 300]))
def test_no_minute_exceeds_the_limit_by_more_than_a_sixth(pauses_ms: list[int], per_minute: int) -> None:
    at, allowed = NOON, []
    with TemporaryDirectory() as folder:
        counters = Counters.open(database_url("sqlite://"), Path(folder))
        for pause in pauses_ms:
            at += timedelta(milliseconds=pause)
            if counters.take("key", per_minute=per_minute, now=at).allowed:
                allowed.append(at)
        counters.close()

    for begin in allowed:
        within = [moment for moment in allowed if begin <= moment < begin + timedelta(seconds=60)]
        assert len(within) <= per_minute + max(1, per_minute / 6)


def test_bucket_reports_remaining_tokens_and_retry_time(counters: Counters) -> None:
    first = counters.take("bucket", per_minute=60, now=NOON)
    taken(counters, 9, at=NOON)

    refused = counters.take("bucket", per_minute=60, now=NOON)

    assert (first.allowed, first.remaining, first.reset_at) == (True, 9, NOON.timestamp() + 1)
    assert (refused.allowed, refused.remaining, refused.retry_after_s) == (False, 0, 1.0)
    assert counters.take("bucket", per_minute=60, now=NOON + timedelta(seconds=1)).allowed
    assert not counters.take("bucket", per_minute=60, now=NOON + timedelta(seconds=1)).allowed


def test_peek_takes_no_token(counters: Counters) -> None:
    for _ in range(30):
        looked = counters.peek("bucket", per_minute=60, now=NOON)

    assert (looked.allowed, looked.remaining) == (True, 10)


def test_window_begins_with_its_first_request(counters: Counters) -> None:
    counts = [
        counters.count("window", limit=3, window_s=60, now=NOON + timedelta(seconds=second)).allowed
        for second in (0, 1, 2, 3, 59, 60, 61)
    ]

    assert counts == [True, True, True, False, False, True, True]


def test_denied_request_is_not_counted(counters: Counters) -> None:
    counters.count("window", limit=100, window_s=60, now=NOON, cost=60)

    too_much = counters.count("window", limit=100, window_s=60, now=NOON, cost=41)
    ever_too_much = counters.count("another", limit=100, window_s=60, now=NOON, cost=101)

    assert (too_much.allowed, too_much.remaining, too_much.retry_after_s) == (False, 40, 60.0)
    assert (ever_too_much.allowed, ever_too_much.remaining) == (False, 100)
    assert counters.count("window", limit=100, window_s=60, now=NOON, cost=40).allowed


def test_a_block_lasts_to_its_end(counters: Counters) -> None:
    counters.block("address", for_s=900, now=NOON)

    assert counters.blocked_for_s("address", now=NOON + timedelta(seconds=100)) == 800
    assert counters.blocked_for_s("address", now=NOON + timedelta(seconds=900)) == 0
    assert counters.blocked_for_s("unknown", now=NOON) == 0


def test_only_expired_counters_are_deleted(counters: Counters) -> None:
    counters.count("short", limit=9, window_s=10, now=NOON)
    counters.count("long", limit=9, window_s=1000, now=NOON)

    counters.delete_expired(now=NOON + timedelta(seconds=11))

    assert counters.count("long", limit=9, window_s=1000, now=NOON + timedelta(seconds=11)).remaining == 7
    assert counters.count("short", limit=9, window_s=10, now=NOON + timedelta(seconds=11)).remaining == 8


def take_many(records: str, folder: Path, count: int) -> int:
    counters = Counters.open(database_url(records), folder)
    allowed = sum(counters.take("shared", per_minute=600, now=NOON).allowed for _ in range(count))
    counters.close()
    return allowed


def test_processes_share_one_bucket(empty_database: str, tmp_path: Path) -> None:
    """
    Four of them ask for four times as much as there is, at one moment.
    """
    assert sum(call_at_once(take_many, *[(empty_database, tmp_path, 100)] * 4)) == 100


def test_damaged_counter_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database" * 1000)
    counters = Counters.open(database_url("sqlite://"), tmp_path)

    assert counters.take("bucket", per_minute=60, now=NOON).allowed
    counters.close()


def test_reset_deletes_one_counter_only(counters: Counters) -> None:
    for key in ("one", "other"):
        counters.count(key, limit=1, window_s=60, now=NOON)

    counters.reset("one")

    assert [counters.count(key, limit=1, window_s=60, now=NOON).allowed for key in ("one", "other")] == [True, False]


def test_negative_cost_takes_a_count_back(counters: Counters) -> None:
    for _ in range(5):
        assert counters.count("key", limit=1, window_s=60, now=NOON).allowed
        counters.count("key", limit=1, window_s=60, now=NOON, cost=-1)


def test_reads_of_a_block_are_shared_until_a_count_changes(counters: Counters) -> None:
    with counters.share_reads():
        before = counters.peek("bucket", per_minute=60, now=NOON).remaining
        assert taken(counters, 3, at=NOON) == 3
        after = counters.peek("bucket", per_minute=60, now=NOON).remaining
        counters.block("lane", for_s=60, now=NOON)

        assert (before, after, counters.blocked_for_s("lane", now=NOON)) == (10, 7, 60)


def test_count_is_read_once_in_a_block_of_a_thread(counters: Counters, engine: str) -> None:
    shares = engine == "postgresql"  # a file is read each time
    with ThreadPoolExecutor(1) as other, counters.share_reads():
        assert counters.blocked_for_s("lane", now=NOON) == 0
        other.submit(counters.block, "lane", for_s=60, now=NOON).result()

        assert counters.blocked_for_s("lane", now=NOON) == (0 if shares else 60)

    assert counters.blocked_for_s("lane", now=NOON) == 60
