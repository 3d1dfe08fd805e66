"""How often somebody may guess a password: counted for each account and each address, before anything slow is done.

Every attempt counts as a failure until it has succeeded, so that many at once get no further than many in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from attestlab.core.errors import RateLimited
from attestlab.core.limits.rate_counters import Counters
from attestlab.web.rate_limit.client_address import counted

WINDOW_S = 15 * 60
OF_ACCOUNT = 10
OF_PEER = 30


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
        return f"login:peer:{counted(self.peer)}"


def attempt(counters: Counters, guess: LoginAttempt, *, now: datetime) -> None:
    """Count an attempt.

    Raises:
        RateLimited: there were too many that failed.
    """
    for key, limit in ((guess.peer_key, OF_PEER), (guess.account_key, OF_ACCOUNT)):
        count = counters.count(key, limit=limit, window_s=WINDOW_S, now=now)
        if not count.allowed:
            raise _too_many(limit, count.retry_after_s)


def succeeded(counters: Counters, guess: LoginAttempt, *, now: datetime) -> None:
    """Take the attempt back; the account's count begins anew, the address keeps its other failures."""
    counters.reset(guess.account_key)
    counters.count(guess.peer_key, limit=OF_PEER, window_s=WINDOW_S, now=now, cost=-1)


def _too_many(limit: int, wait_s: float) -> RateLimited:
    details = {"limit": limit, "window_seconds": WINDOW_S, "retry_after_seconds": max(1, -int(-wait_s // 1))}
    return RateLimited("Too many failed sign-ins; wait before the next.", details=details, retry_after_s=wait_s)
