"""The rate limits of the dashboards: requests without a session by address, pages by session and tenant.

The API limits what a page asks of it by the person's plan. What comes before, the form and whatever else a client
without an account sends, has the API's limit of requests without a credential, counted for the dashboards alone. A
page costs a tenth of a second of the one process that all tenants share, so pages have a limit, too.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

from tornado.web import RequestHandler

from attestlab.core.clock import Clock, SystemClock
from attestlab.core.limits.rate_counters import Counters
from attestlab.web.rate_limit.client_address import rate_limit_key
from attestlab_dashboards.sessions import BrowserSession

PAGES_PER_MINUTE: Final = 60
"""Pages that a session may open; 20 of them at once."""
TENANT_PAGES_PER_MINUTE: Final = 300
_PAGES_REFILL_S: Final = 20


class Throttle:
    """The buckets of addresses, sessions and tenants, in the memory of this process."""

    def __init__(self, per_minute: int, clock: Clock | None = None) -> None:
        self._per_minute = per_minute
        self._clock = clock or SystemClock()
        self._counters = Counters.in_memory()

    def take(self, address: str) -> float:
        """Take a token for a request; returns 0, or after how many seconds the address has one again."""
        return self._counters.take(rate_limit_key(address), per_minute=self._per_minute, now=self._now()).retry_after_s

    def take_page(self, session: BrowserSession) -> float:
        """Take a token for a page; returns 0, or after how many seconds the session and its tenant have one again."""
        return self._take_page(session.handle, PAGES_PER_MINUTE) or self._take_page(
            session.facts.tenant_id, TENANT_PAGES_PER_MINUTE
        )

    def _take_page(self, key: str, per_minute: int) -> float:
        taken = self._counters.take(f"pages {key}", per_minute=per_minute, refill_s=_PAGES_REFILL_S, now=self._now())
        return taken.retry_after_s

    def forget_full_buckets(self) -> None:
        """Forget the addresses whose bucket is full again."""
        self._counters.delete_expired(now=self._now())

    def _now(self) -> datetime:
        return self._clock.now()


class TooManyRequests(RequestHandler):
    """The answer to a request whose bucket has no token left: 429 (RFC 6585, section 4)."""

    def initialize(self, what: str, wait_s: float) -> None:
        """Take what was too much, and the time to wait, in seconds."""
        self._what = what
        self._wait_s = max(1, math.ceil(wait_s))

    def prepare(self) -> None:
        """Answer, whatever the method is."""
        self.set_status(429)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("Retry-After", str(self._wait_s))
        self.finish(f"{self._what} Try again in {self._wait_s} s.")
