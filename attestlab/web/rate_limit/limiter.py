"""How often somebody may ask (SPEC, Limits; CONTRACT section 2).

A tenant has a bucket of its plan's size, whatever credential, header or spelling of a path it
comes with; whoever shows no valid credential draws on the bucket of their address. Some routes
have a window of their own beside it. Requests that go on regardless are blocked for a while: those of a
tenant at an address, of the address's public pages, or of the address without a valid credential.

Which limit applied is told on every response. The counts are shared by all processes, so a
method here is one or a few short statements; on PostgreSQL it is called in a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from attestlab.core.errors import RateLimited
from attestlab.core.limits.rate_counters import Count, Counters
from attestlab.web.rate_limit.client_address import ClientAddressResolver, rate_limit_key
from attestlab.web.request import Request
from attestlab.web.routing.routes import Limit, Route

VIOLATIONS = Limit("violations", 5, 600)  # the last of which blocks the lane
BLOCK_DURATION_S = 15 * 60
# Of credentials that are not valid, from one address: each leaves a line in an audit trail, which is kept for good.
FAILURES = Limit("failed", 600, 60)

REFUSED_BYTES_PER_REQUEST = 16 * 1024  # a refused body costs its address one request more for each


class RateLimits(Protocol):
    """What the limiter asks of a plan."""

    @property
    def requests_per_minute(self) -> int | None:
        """None is unlimited."""
        ...

    @property
    def has_endpoint_limits(self) -> bool:
        """Whether the limits of single routes hold."""
        ...


# The limit of the day by its name that a caller's tenant has used up; None where there is room.
SpentToday = Callable[[Any, str, datetime], Count | None]


class OverLimit(RateLimited):
    """A limit was violated: `count` says which, `caller` whose credential it was."""

    def __init__(self, count: Count, *, caller: Any = None, wait_s: float | None = None) -> None:
        wait_s = count.retry_after_s if wait_s is None else wait_s
        told = RateLimited.over(
            "Too many requests; send the next one after Retry-After.",
            limit=count.limit,
            window_s=count.window_s,
            wait_s=wait_s,
        )
        super().__init__(told.message, details=told.details, retry_after_s=wait_s)
        self.count = count
        self.caller = caller


class ClientBlocked(OverLimit):
    """A lane exceeded its limits repeatedly and is blocked; further requests do not extend the block."""


class Limiter:
    """Every limit of requests; `allowance_of` tells what a caller's plan allows."""

    def __init__(
        self,
        counters: Counters,
        *,
        address_per_minute: int,
        allowance_of: Callable[[Any], RateLimits],
        spent_today: SpentToday,
        addresses: ClientAddressResolver,
    ) -> None:
        self.addresses = addresses
        self._counters = counters
        self._address_per_minute = address_per_minute
        self._allowance_of = allowance_of
        self._spent_today = spent_today

    def require_unblocked(self, lane: str, *, now: datetime) -> None:
        """Refuse a request of a blocked lane.

        Raises:
            ClientBlocked: the lane is blocked; that does not prolong the block.
        """
        left_s = self._counters.blocked_for_s(f"block:{lane}", now=now)
        if left_s:
            limit, window_s = VIOLATIONS.requests, VIOLATIONS.window_s
            raise ClientBlocked(Count(False, limit, 0, window_s, now.timestamp() + left_s, left_s))

    def charge(self, request: Request, payer: Any) -> Count:
        """Take what the request costs `payer`, or its address where there is none; returns the tightest limit.

        Raises:
            OverLimit: there is not so much left; of several exhausted limits it names the one with the longest wait.
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

    def _find_longest_wait(self, applied: list[Count], limit: Limit | None, payer: Any, *, now: datetime) -> Count:
        """Of all limits that are exhausted, the one with the longest wait."""
        exhausted = [count for count in applied if not count.allowed]
        if limit is not None:
            exhausted += self._list_exhausted(limit, payer, now=now)
        return max(exhausted, key=lambda count: count.retry_after_s)

    def _list_exhausted(self, limit: Limit, payer: Any, *, now: datetime) -> list[Count]:
        """The window of a route, and the day that its requests use up, where nothing is left of them."""
        window = self._count(
            payer, limit, limit.requests + 1, now=now
        )  # more than a window ever allows: counts nothing
        today = None if limit.daily is None else self._spent_today(payer, limit.daily, now)
        return [count for count in (window, today) if count is not None and not count.remaining]

    def charge_refused(self, request: Request, *, body_bytes: int) -> Count | None:
        """Charge a request that was refused, and shows no valid credential, to its address: for itself, where that was
        not done before, and for its body; returns None where neither costs anything.

        Raises:
            OverLimit: there is not so much left.
        """
        cost = (0 if request.route.charged else 1) + body_bytes // REFUSED_BYTES_PER_REQUEST
        return self.charge_address(request.peer, now=request.now, cost=cost) if cost else None

    def charge_address(self, client: str, *, now: datetime, cost: int = 1, page: bool = False) -> Count:
        """Take tokens of the address, or of its public pages.

        Raises:
            OverLimit: it has not so many.
        """
        place = f"address:{lane_of(client, page=page)}"
        count = self._counters.take(place, per_minute=self._address_per_minute, now=now, cost=cost)
        if not count.allowed:
            raise OverLimit(count)
        return count

    def peek(self, client: str, *, now: datetime) -> Count:
        """How the bucket of an address stands; costs nothing of it."""
        return self._counters.peek(f"address:{rate_limit_key(client)}", per_minute=self._address_per_minute, now=now)

    def full_bucket(self, *, now: datetime) -> Count:
        """The bucket of an address from which nothing was taken; for answers that must not depend on the counts."""
        return self._counters.full_bucket(per_minute=self._address_per_minute, now=now)

    def take_available(self, request: Request, limit: Limit, wanted: int) -> tuple[int, OverLimit | None]:
        """How many of `wanted` items of one request still fit into a limit, and what the others are told."""
        if not self._allowance_of(request.caller).has_endpoint_limits:
            return wanted, None
        taken, count = wanted, self._count(request.caller, limit, wanted, now=request.now)
        while not count.allowed and count.remaining:  # as many as there is room for, unless others were quicker
            taken = min(taken, count.remaining)
            count = self._count(request.caller, limit, taken, now=request.now)
        request.rate = count if request.rate is None else tightest([request.rate, count])
        taken = taken if count.allowed else 0
        if taken == wanted:
            return taken, None
        full = count._replace(allowed=False, retry_after_s=count.reset_at - request.now.timestamp())
        longest = self._find_longest_wait([full], limit, request.caller, now=request.now)
        return taken, OverLimit(longest, caller=request.caller)

    def _count(self, payer: Any, limit: Limit, cost: int, *, now: datetime) -> Count:
        place = f"limit:{payer.tenant_id}:{limit.name}"
        return self._counters.count(place, limit=limit.requests, window_s=limit.window_s, now=now, cost=cost)

    def count_failure(self, client: str, *, now: datetime) -> Count:
        """Count an attempt that leaves a line in a trail, and that nobody's plan pays for."""
        return self._count_for_lane(FAILURES, rate_limit_key(client), now)

    def record_violation(self, lane: str, *, now: datetime) -> bool:
        """Count a violation; whether it is the one that blocks the lane, of which there is exactly one."""
        count = self._count_for_lane(VIOLATIONS, lane, now)
        blocks = count.allowed and not count.remaining
        if blocks:
            self._counters.block(f"block:{lane}", for_s=BLOCK_DURATION_S, now=now)
        return blocks

    def _count_for_lane(self, limit: Limit, lane: str, now: datetime) -> Count:
        return self._counters.count(f"{limit.name}:{lane}", limit=limit.requests, window_s=limit.window_s, now=now)


def lane_of(client: str, *, payer: Any = None, page: bool = False) -> str:
    """Which requests of an address are blocked together.

    Those with valid credentials of one tenant, those for public pages, or those without a valid credential. So neither
    another tenant behind the same address nor its readers pay for what one of them does.
    """
    address = rate_limit_key(client)
    if payer is not None:
        return f"{address}:tenant:{payer.tenant_id}"
    return f"{address}:pages" if page else address


def owner_of(request: Request) -> str:
    """The tenant or the address that a request's work is shared out to."""
    return rate_limit_key(request.peer) if request.caller is None else f"tenant:{request.caller.tenant_id}"


def is_probe(route: Route) -> bool:
    """Whether it watches the service: then it is answered even where counts cannot be, and blocks mean nothing."""
    return route.method == "GET" and not route.charged


def tightest(counts: list[Count]) -> Count:
    """The limit of which the least is left."""
    return min(counts, key=lambda count: count.remaining)


def limit_for(fault: RateLimited, *, now: datetime) -> Count | None:
    """The limit that a refusal speaks of, be it one that is not counted here; None where it names none."""
    if isinstance(fault, OverLimit):
        return fault.count
    limit, window_s, wait_s = fault.details.get("limit"), fault.details.get("window_seconds"), fault.retry_after_s
    if not isinstance(limit, int) or not isinstance(window_s, int) or wait_s is None:
        return None
    return Count(False, limit, 0, window_s, now.timestamp() + wait_s, wait_s)


def _all_allowed(counts: list[Count]) -> bool:
    return all(count.allowed for count in counts)
