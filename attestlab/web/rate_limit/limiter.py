"""Rate limits of requests (SPEC, Limits; CONTRACT section 2).

A tenant has a bucket of its plan's size, whichever credential, header or spelling of a path it uses. A client
without a valid credential draws on the bucket of its address. Some routes also have a window of their own. A client
that keeps exceeding limits is blocked for a while, per lane: a tenant at an address, the address's public pages, or
the address without a valid credential.

Every response states the limit that applied. All processes share the counts, so each method here is one or a few
short statements; on PostgreSQL it is called in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from attestlab.core.errors import RateLimited
from attestlab.core.limits.rate_counters import Count, Counters
from attestlab.web.rate_limit.client_address import ClientAddressResolver, rate_limit_key
from attestlab.web.request import Request
from attestlab.web.routing.authorization import WebCaller
from attestlab.web.routing.routes import Limit, Route

VIOLATIONS = Limit("violations", 5, 600)  # the last one blocks the lane
BLOCK_DURATION_S = 15 * 60
# Invalid credentials from one address: each is recorded in an audit trail, which is kept permanently.
FAILURES = Limit("failed", 600, 60)

REFUSED_BYTES_PER_REQUEST = 16 * 1024  # a rejected body costs its address another request for each


class RateLimits(Protocol):
    """The limits of a plan that the limiter reads."""

    @property
    def requests_per_minute(self) -> int | None:
        """None is unlimited."""
        ...

    @property
    def has_endpoint_limits(self) -> bool:
        """Whether the limits of single routes apply."""
        ...


# Returns the named daily limit if the caller's tenant has exhausted it, otherwise None.
SpentToday = Callable[[Any, str, datetime], Count | None]  # Any: the capabilities' class of callers


class OverLimit(RateLimited):
    """A limit was exceeded: `count` is that limit, `caller` the one whose credential was used."""

    def __init__(self, count: Count, *, caller: WebCaller | None = None, wait_s: float | None = None) -> None:
        wait_s = count.retry_after_s if wait_s is None else wait_s
        error = RateLimited.of_limit(
            "Too many requests. Retry after the time in Retry-After.",
            limit=count.limit,
            window_s=count.window_s,
            wait_s=wait_s,
        )
        super().__init__(error.message, details=error.details, retry_after_s=wait_s)
        self.count = count
        self.caller = caller


class ClientBlocked(OverLimit):
    """A lane exceeded its limits repeatedly and is blocked; further requests do not extend the block."""


class Limiter:
    """All rate limits of requests; `allowance_of` returns the limits of a caller's plan."""

    def __init__(
        self,
        counters: Counters,
        *,
        address_per_minute: int,
        allowance_of: Callable[[Any], RateLimits],  # as above
        spent_today: SpentToday,
        addresses: ClientAddressResolver,
    ) -> None:
        self.addresses = addresses
        self._counters = counters
        self._address_per_minute = address_per_minute
        self._allowance_of = allowance_of
        self._spent_today = spent_today

    def require_unblocked(self, lane: str, *, now: datetime) -> None:
        """Reject a request of a blocked lane.

        Raises:
            ClientBlocked: the lane is blocked; this request does not extend the block.
        """
        left_s = self._counters.blocked_for_s(f"block:{lane}", now=now)
        if left_s:
            limit, window_s = VIOLATIONS.requests, VIOLATIONS.window_s
            raise ClientBlocked(Count(False, limit, 0, window_s, now.timestamp() + left_s, left_s))

    def charge(self, request: Request, payer: WebCaller | None) -> Count:
        """Charge the request to `payer`, or to its address without one; return the tightest limit.

        Raises:
            OverLimit: a limit is exhausted; if several are, it names the one with the longest wait.
        """
        if not request.route.charged:
            return self.peek(request.peer, now=request.now)
        if payer is None:
            return self.charge_address(request.peer, now=request.now, page=request.route.page)
        allowed, applied = self._allowance_of(payer), []
        if allowed.requests_per_minute is not None:
            place, per_minute = f"tenant:{payer.tenant_id}", allowed.requests_per_minute
            applied.append(self._counters.take(place, per_minute=per_minute, now=request.now))
        limit = request.route.limit if allowed.has_endpoint_limits else None
        if limit is not None and _all_allowed(applied):
            applied.append(self._count(payer, limit, 1, now=request.now))
        if not _all_allowed(applied):
            raise OverLimit(self._find_longest_wait(applied, limit, payer, now=request.now), caller=payer)
        return tightest(applied) if applied else self.peek(request.peer, now=request.now)

    def _find_longest_wait(
        self, applied: list[Count], limit: Limit | None, payer: WebCaller, *, now: datetime
    ) -> Count:
        """Return the exhausted limit with the longest wait."""
        exhausted = [count for count in applied if not count.allowed]
        if limit is not None:
            exhausted += self._list_exhausted(limit, payer, now=now)
        return max(exhausted, key=lambda count: count.retry_after_s)

    def _list_exhausted(self, limit: Limit, payer: WebCaller, *, now: datetime) -> list[Count]:
        """List the route's window and its daily limit, if exhausted."""
        window = self._count(
            payer, limit, limit.requests + 1, now=now
        )  # more than a window allows, so it counts nothing
        today = None if limit.daily is None else self._spent_today(payer, limit.daily, now)
        return [count for count in (window, today) if count is not None and not count.remaining]

    def charge_refused(self, request: Request, *, body_bytes: int) -> Count | None:
        """Charge a rejected request without a valid credential to its address.

        The charge is for its body, and for the request itself if it was not charged yet. Returns None if neither costs
        anything.

        Raises:
            OverLimit: the address has too few tokens left.
        """
        cost = (0 if request.route.charged else 1) + body_bytes // REFUSED_BYTES_PER_REQUEST
        return self.charge_address(request.peer, now=request.now, cost=cost) if cost else None

    def charge_address(self, client: str, *, now: datetime, cost: int = 1, page: bool = False) -> Count:
        """Take tokens from the bucket of the address, or of its public pages.

        Raises:
            OverLimit: the bucket has too few tokens.
        """
        place = f"address:{lane_of(client, page=page)}"
        count = self._counters.take(place, per_minute=self._address_per_minute, now=now, cost=cost)
        if not count.allowed:
            raise OverLimit(count)
        return count

    def peek(self, client: str, *, now: datetime) -> Count:
        """Return the state of an address's bucket without taking a token."""
        return self._counters.peek(f"address:{rate_limit_key(client)}", per_minute=self._address_per_minute, now=now)

    def full_bucket(self, *, now: datetime) -> Count:
        """Return the state of an untouched bucket, for responses that must not depend on the counts."""
        return self._counters.full_bucket(per_minute=self._address_per_minute, now=now)

    def take_available(self, request: Request, limit: Limit, requested: int) -> tuple[int, OverLimit | None]:
        """Charge as many of `requested` items of one request as a limit allows.

        Returns their number, and the error for the other items.
        """
        caller = request.caller
        assert caller is not None, "a route with a limit authenticates its caller"
        if not self._allowance_of(caller).has_endpoint_limits:
            return requested, None
        taken, count = requested, self._count(caller, limit, requested, now=request.now)
        while not count.allowed and count.remaining:  # retry with the remaining number, which other requests may reduce
            taken = min(taken, count.remaining)
            count = self._count(caller, limit, taken, now=request.now)
        request.rate = count if request.rate is None else tightest([request.rate, count])
        taken = taken if count.allowed else 0
        if taken == requested:
            return taken, None
        full = count._replace(allowed=False, retry_after_s=count.reset_at - request.now.timestamp())
        longest = self._find_longest_wait([full], limit, caller, now=request.now)
        return taken, OverLimit(longest, caller=caller)

    def _count(self, payer: WebCaller, limit: Limit, cost: int, *, now: datetime) -> Count:
        place = f"limit:{payer.tenant_id}:{limit.name}"
        return self._counters.count(place, limit=limit.requests, window_s=limit.window_s, now=now, cost=cost)

    def count_failure(self, client: str, *, now: datetime) -> Count:
        """Count an attempt that is recorded in an audit trail and that no plan limits."""
        return self._count_for_lane(FAILURES, rate_limit_key(client), now)

    def record_violation(self, lane: str, *, wait_s: float, now: datetime, is_guess: bool = False) -> bool:
        """Count a violation; return whether it is the one that blocks the lane, of which there is exactly one.

        `wait_s` is what the refusal asks its client to wait. A client that waited this time since the refusal before
        keeps to the limit, and is not counted, unless the request is a guess of a credential.
        """
        asked = f"wait:{lane}"
        has_waited = not self._counters.blocked_for_s(asked, now=now)
        self._counters.block(asked, for_s=wait_s, now=now)
        if has_waited and not is_guess and self._has_violated(lane, now):
            return False
        count = self._count_for_lane(VIOLATIONS, lane, now)
        blocks = count.allowed and not count.remaining
        if blocks:
            self._counters.block(f"block:{lane}", for_s=BLOCK_DURATION_S, now=now)
        return blocks

    def _has_violated(self, lane: str, now: datetime) -> bool:
        """Whether a violation of the lane was counted within the window."""
        beyond = VIOLATIONS.requests + 1  # more than a window allows, so it counts nothing
        return self._count_for_lane(VIOLATIONS, lane, now, cost=beyond).remaining < VIOLATIONS.requests

    def _count_for_lane(self, limit: Limit, lane: str, now: datetime, *, cost: int = 1) -> Count:
        place = f"{limit.name}:{lane}"
        return self._counters.count(place, limit=limit.requests, window_s=limit.window_s, now=now, cost=cost)


def lane_of(client: str, *, payer: WebCaller | None = None, page: bool = False) -> str:
    """Return the lane of a request: requests of an address in the same lane are blocked together.

    A lane holds requests with valid credentials of one tenant, requests for public pages, or requests without a valid
    credential. So a block affects neither another tenant behind the same address nor its readers.
    """
    address = rate_limit_key(client)
    if payer is not None:
        return f"{address}:tenant:{payer.tenant_id}"
    return f"{address}:pages" if page else address


def owner_of(request: Request) -> str:
    """Return the tenant or address that a request's work is scheduled for."""
    return rate_limit_key(request.peer) if request.caller is None else f"tenant:{request.caller.tenant_id}"


def is_probe(route: Route) -> bool:
    """Whether a route monitors the service.

    Such a route is answered even if counts are unavailable, and ignores blocks.
    """
    return route.method == "GET" and not route.charged


def tightest(counts: list[Count]) -> Count:
    """Return the limit with the least remaining."""
    return min(counts, key=lambda count: count.remaining)


def limit_for(fault: RateLimited, *, now: datetime) -> Count | None:
    """Return the limit that an error reports, including limits counted elsewhere, or None."""
    if isinstance(fault, OverLimit):
        return fault.count
    limit, window_s, wait_s = fault.details.get("limit"), fault.details.get("window_seconds"), fault.retry_after_s
    if not isinstance(limit, int) or not isinstance(window_s, int) or wait_s is None:
        return None
    return Count(False, limit, 0, window_s, now.timestamp() + wait_s, wait_s)


def _all_allowed(counts: list[Count]) -> bool:
    return all(count.allowed for count in counts)
