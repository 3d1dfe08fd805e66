"""Of what is long a few run at once, and who comes too late is told so at once."""

from __future__ import annotations

import pytest

from attestlab.core.errors import Unavailable
from attestlab.core.limits.concurrency import ConcurrencyLimit


def test_one_too_many_is_refused_and_told_when_to_ask_again() -> None:
    few = ConcurrencyLimit(2, "proofs")
    with (
        few.acquire(),
        few.acquire(),
        pytest.raises(Unavailable, match="Too many proofs are running") as refused,
        few.acquire(),
    ):
        pass

    assert refused.value.retry_after_s == 5


def test_a_place_is_free_again_whatever_came_of_the_work() -> None:
    few = ConcurrencyLimit(1, "proofs")
    with pytest.raises(ZeroDivisionError), few.acquire():
        _ = 1 / 0
    with pytest.raises(Unavailable), few.acquire(), few.acquire():
        pass

    with few.acquire():
        pass
