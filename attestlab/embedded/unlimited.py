"""The rate limits of an application that only its own process can reach: none. The caps of plans still hold."""

from __future__ import annotations

from datetime import datetime

from attestlab.core.limits.rate_counters import Count, Counters
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.rate_limit.limiter import Limiter, OverLimit, RateLimits
from attestlab.web.request import Request
from attestlab.web.routing.authorization import WebCaller
from attestlab.web.routing.routes import Limit

_PER_MINUTE = 1_000_000  # what the rate limit headers show


class UnlimitedRequests(Limiter):
    """A limiter that admits every request; it neither reads nor writes a counter."""

    def __init__(self, counters: Counters) -> None:
        super().__init__(
            counters,
            address_per_minute=_PER_MINUTE,
            allowance_of=_refuse_to_look,
            spent_today=lambda caller, metric, now: None,
            addresses=ClientAddressResolver(()),
        )

    def require_unblocked(self, lane: str, *, now: datetime) -> None:
        """Admit the request."""

    def charge(self, request: Request, payer: WebCaller | None) -> Count:
        """Admit the request."""
        return self.full_bucket(now=request.now)

    def charge_refused(self, request: Request, *, body_bytes: int) -> Count | None:
        """Charge nothing."""
        return None

    def charge_address(self, client: str, *, now: datetime, cost: int = 1, page: bool = False) -> Count:
        """Charge nothing."""
        return self.full_bucket(now=now)

    def take_available(self, request: Request, limit: Limit, requested: int) -> tuple[int, OverLimit | None]:
        """Admit all items of a request."""
        return requested, None

    def count_failure(self, client: str, *, now: datetime) -> Count:
        """Count nothing; the attempt is recorded in the audit trail."""
        return self.full_bucket(now=now)

    def record_violation(self, lane: str, *, now: datetime) -> bool:
        """Block nothing."""
        return False


def _refuse_to_look(caller: object) -> RateLimits:
    raise AssertionError("no request in process is limited by its plan's rates")
