"""A backlog shrinks as fast as it was promised, in portions that hold up nobody for long."""

from __future__ import annotations

from itertools import cycle

from attestlab.core.limits.backlog_pacer import BacklogPacer


class Watch:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def paced(watch: Watch) -> BacklogPacer:
    return BacklogPacer(1_000, min_batch=10, max_batch=60, reduction_per_waiter=1, clock=watch)


def test_it_comes_to_so_many_a_second_whatever_the_portions_are() -> None:
    watch, taken = Watch(), 0
    pace = paced(watch)
    pace.batch_size(0)
    for rest_s, waiting in zip(cycle([0.02, 0.05, 0.03]), [0, 25, 10] * 100, strict=False):
        watch.now += rest_s
        taken += pace.batch_size(waiting)

    assert abs(taken - 1_000 * (0.02 + 0.05 + 0.03) * 100) < 100


def test_where_many_wait_few_are_taken_and_the_rest_when_few_wait() -> None:
    watch = Watch()
    pace = paced(watch)

    assert [pace.batch_size(45), pace.batch_size(0)] == [15, 60]


def test_some_are_taken_however_many_wait_and_however_soon_it_asks_again() -> None:
    watch = Watch()
    pace = paced(watch)

    assert [pace.batch_size(1_000) for _ in range(20)] == [10] * 20


def test_a_pace_that_could_not_be_kept_is_not_made_up_for() -> None:
    watch = Watch()
    pace = paced(watch)
    watch.now += 60

    assert sum(pace.batch_size(0) for _ in range(3)) == 60 + 40 + 10


def test_what_an_idle_hour_took_beyond_the_pace_is_not_owed_by_a_busy_one() -> None:
    watch = Watch()
    pace = paced(watch)
    for _ in range(1_000):
        pace.batch_size(0)
    watch.now += 0.0505

    assert pace.batch_size(0) == 50
