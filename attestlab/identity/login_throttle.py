"""How often somebody may attempt a password: counted for each account and each address, before anything slow is done.

Every attempt counts as a failure until it has succeeded, so that many at once get no further than many in turn.
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
    """Who guesses whose password: the account by the SHA-256 of its address, known or not."""

    address_sha256: str
    peer: str

    @property
    def account_key(self) -> str:
        return f"login:account:{self.address_sha256}"

    @property
    def peer_key(self) -> str:
        return f"login:peer:{rate_limit_key(self.peer)}"


def count_attempt(counters: Counters, attempt: LoginAttempt, *, now: datetime) -> None:
    """Count an attempt.

    Raises:
        RateLimited: there were too many that failed.
    """
    for key, limit in ((attempt.peer_key, MAX_ATTEMPTS_PER_PEER), (attempt.account_key, MAX_ATTEMPTS_PER_ACCOUNT)):
        count = counters.count(key, limit=limit, window_s=WINDOW_S, now=now)
        if not count.allowed:
            raise _too_many_attempts(limit, count.retry_after_s)


def clear_attempt(counters: Counters, attempt: LoginAttempt, *, now: datetime) -> None:
    """Take the attempt back; the account's count begins anew, the address keeps its other failures."""
    counters.reset(attempt.account_key)
    counters.count(attempt.peer_key, limit=MAX_ATTEMPTS_PER_PEER, window_s=WINDOW_S, now=now, cost=-1)


def _too_many_attempts(limit: int, wait_s: float) -> RateLimited:
    details = {"limit": limit, "window_seconds": WINDOW_S, "retry_after_seconds": max(1, -int(-wait_s // 1))}
    return RateLimited("Too many failed sign-ins; wait before the next.", details=details, retry_after_s=wait_s)
