"""Limit of password attempts, counted per account and per address before any slow work starts.

Every attempt counts as a failure until it succeeds, so concurrent attempts get no further than sequential ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from attestlab.core.errors import RateLimited
from attestlab.core.limits.rate_counters import Counters
from attestlab.web.rate_limit.client_address import rate_limit_key

WINDOW_S = 15 * 60
MAX_ATTEMPTS_PER_ACCOUNT = 10
MAX_ATTEMPTS_PER_PEER = 30


@dataclass(frozen=True, slots=True)
class LoginAttempt:
    """A login attempt: the SHA-256 of the account's address, which need not exist, and the client's address."""

    address_sha256: str
    peer: str

    @property
    def account_key(self) -> str:
        return f"login:account:{self.address_sha256}"

    @property
    def peer_key(self) -> str:
        return f"login:peer:{rate_limit_key(self.peer)}"


def count_attempt(counters: Counters, attempt: LoginAttempt, *, now: datetime) -> None:
    """Count a login attempt.

    Raises:
        RateLimited: too many attempts failed.
    """
    for key, limit in ((attempt.peer_key, MAX_ATTEMPTS_PER_PEER), (attempt.account_key, MAX_ATTEMPTS_PER_ACCOUNT)):
        count = counters.count(key, limit=limit, window_s=WINDOW_S, now=now)
        if not count.allowed:
            raise _too_many_attempts(limit, count.retry_after_s)


def clear_attempt(counters: Counters, attempt: LoginAttempt, *, now: datetime) -> None:
    """Uncount a successful attempt: reset the account's count; the client's address keeps its other failures."""
    counters.reset(attempt.account_key)
    counters.count(attempt.peer_key, limit=MAX_ATTEMPTS_PER_PEER, window_s=WINDOW_S, now=now, cost=-1)


def forgive_account(counters: Counters, address_sha256: str) -> None:
    """Reset the failures of an account whose person proved that they read its mail."""
    counters.reset(LoginAttempt(address_sha256, "").account_key)


def _too_many_attempts(limit: int, wait_s: float) -> RateLimited:
    details = {"limit": limit, "window_seconds": WINDOW_S, "retry_after_seconds": max(1, -int(-wait_s // 1))}
    return RateLimited(
        f"Too many failed sign-ins (limit {limit}). Retry in {details['retry_after_seconds']} seconds.",
        details=details,
        retry_after_s=wait_s,
    )
