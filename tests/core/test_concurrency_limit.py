"""ConcurrencyLimit: excess callers fail immediately, and slots are released."""

from __future__ import annotations

import pytest

from attestlab.core.errors import Unavailable
from attestlab.core.limits.concurrency import ConcurrencyLimit


def test_excess_caller_is_unavailable_with_retry_after() -> None:
    few = ConcurrencyLimit(2, "proofs")
    with (
        few.acquire(),
        few.acquire(),
        pytest.raises(Unavailable, match="Too many proofs are running") as refused,
        few.acquire(),
    ):
        pass

    assert refused.value.retry_after_s == 5


def test_slot_is_released_after_success_and_error() -> None:
    few = ConcurrencyLimit(1, "proofs")
    with pytest.raises(ZeroDivisionError), few.acquire():
        _ = 1 / 0
    with pytest.raises(Unavailable), few.acquire(), few.acquire():
        pass

    with few.acquire():
        pass
