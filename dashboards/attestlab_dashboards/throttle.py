"""The rate limit before sign-in: requests without a session draw on the bucket of their client's address.

The API limits the requests of a session by the person's plan. What comes before, the form and whatever else a client
without an account sends, has the API's limit of requests without a credential, counted for the dashboards alone.
"""

from __future__ import annotations

import math
from datetime import datetime

from tornado.web import RequestHandler

from attestlab.core.clock import Clock, SystemClock
from attestlab.core.limits.rate_counters import Counters
from attestlab.web.rate_limit.client_address import rate_limit_key


class Throttle:
    """The buckets of addresses, in the memory of this process."""

    def __init__(self, per_minute: int, clock: Clock | None = None) -> None:
        self._per_minute = per_minute
        self._clock = clock or SystemClock()
        self._counters = Counters.in_memory()

    def take(self, address: str) -> float:
        """Take a token for a request; returns 0, or after how many seconds the address has one again."""
        return self._counters.take(rate_limit_key(address), per_minute=self._per_minute, now=self._now()).retry_after_s

    def forget_full_buckets(self) -> None:
        """Forget the addresses whose bucket is full again."""
        self._counters.delete_expired(now=self._now())

    def _now(self) -> datetime:
        return self._clock.now()


class TooManyRequests(RequestHandler):
    """The answer to a request whose address has no token left: 429 (RFC 6585, section 4)."""

    def initialize(self, wait_s: float) -> None:
        """Take the time to wait, in seconds."""
        self._wait_s = max(1, math.ceil(wait_s))

    def prepare(self) -> None:
        """Answer, whatever the method is."""
        self.set_status(429)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Retry-After", str(self._wait_s))
        self.finish(f"Too many requests without a sign-in came from your address. Try again in {self._wait_s} s.")
