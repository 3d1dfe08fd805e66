"""BacklogPacer: batches average the configured rate and stay short while requests are queued."""

from __future__ import annotations

from itertools import cycle

from attestlab.core.limits.backlog_pacer import BacklogPacer


class Watch:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def paced(watch: Watch) -> BacklogPacer:
    return BacklogPacer(1_000, min_batch=10, max_batch=60, reduction_per_waiter=1, clock=watch)


def test_batches_average_the_configured_rate() -> None:
    watch, taken = Watch(), 0
    pace = paced(watch)
    pace.batch_size(0)
    for rest_s, waiting in zip(cycle([0.02, 0.05, 0.03]), [0, 25, 10] * 100, strict=False):
        watch.now += rest_s
        taken += pace.batch_size(waiting)

    assert abs(taken - 1_000 * (0.02 + 0.05 + 0.03) * 100) < 100


def test_queued_requests_reduce_the_batch_size() -> None:
    watch = Watch()
    pace = paced(watch)

    assert [pace.batch_size(45), pace.batch_size(0)] == [15, 60]


def test_batch_never_falls_below_its_minimum() -> None:
    watch = Watch()
    pace = paced(watch)

    assert [pace.batch_size(1_000) for _ in range(20)] == [10] * 20


def test_unused_capacity_is_discarded() -> None:
    watch = Watch()
    pace = paced(watch)
    watch.now += 60

    assert sum(pace.batch_size(0) for _ in range(3)) == 60 + 40 + 10


def test_batches_beyond_the_rate_leave_no_debt() -> None:
    watch = Watch()
    pace = paced(watch)
    for _ in range(1_000):
        pace.batch_size(0)
    watch.now += 0.0505

    assert pace.batch_size(0) == 50
