"""When a delivery is attempted again, and when an endpoint is spared or disabled; pure functions of values.

The delays are those of SPEC (Events, Retries). A circuit breaker spares a receiver that fails: it has one attempt at a
time, at most one a second. A longer pause would break the schedule as soon as a few deliveries wait: with ten, even a
receiver that never responds makes none a minute late.

An endpoint fails from its tenth consecutive failure on, not from the first: a success of a failing endpoint makes all
that waits due, so an event that a receiver rejects would lose its schedule as soon as the next event is accepted.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum, auto
from typing import NamedTuple

from attestlab.webhooks.rules import MAX_ATTEMPTS

RETRY_DELAYS = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 4, 16, 60, 120, 300))
MAX_JITTER = 0.3  # of a delay, added to it
MAX_RETRY_AFTER = timedelta(seconds=300)
GONE = 410  # the status by which a receiver asks for no further deliveries

MAX_ATTEMPTS_AT_ONCE = 512  # of a process
RESERVED_ATTEMPTS = 128  # of these, for tenants that have no attempt running
MAX_ATTEMPTS_AT_ONCE_PER_TENANT = 32
MAX_ATTEMPTS_AT_ONCE_PER_ENDPOINT = 8

CIRCUIT_FAILURES = 10  # consecutive ones that open the circuit
MIN_PROBE_INTERVAL = timedelta(seconds=1)  # from the beginning of one to that of the next

WARN_AFTER = timedelta(days=3)  # of nothing but failures
DISABLE_AFTER = timedelta(days=5)
MIN_WARNING = timedelta(hours=24)  # between the warning and the disabling


class EndpointHealth(NamedTuple):
    """The recent failures of an endpoint."""

    failing_since: datetime | None = None  # the first failure since the last success
    warned_at: datetime | None = None
    consecutive_failures: int = 0
    circuit_open_until: datetime | None = None

    @property
    def is_circuit_open(self) -> bool:
        """Whether attempts wait for a probe, one attempt at a time, to succeed."""
        return self.consecutive_failures >= CIRCUIT_FAILURES


HEALTHY = EndpointHealth()
ANSWERING = EndpointHealth(consecutive_failures=CIRCUIT_FAILURES)  # probes follow at once until all that waits is due


class EndpointAction(Enum):
    """What a failure of an endpoint calls for."""

    NONE = auto()
    WARN = auto()
    DISABLE = auto()


def delay_after(attempts: int, *, jitter_0_1: float, retry_after: timedelta | None = None) -> timedelta | None:
    """Return the pause after a number of failed attempts, from the end of the last one; None if it was the last.

    >>> [int(delay_after(attempts, jitter_0_1=0).total_seconds()) for attempts in range(1, 8)]
    [1, 2, 4, 16, 60, 120, 300]
    >>> delay_after(7, jitter_0_1=1).total_seconds(), delay_after(8, jitter_0_1=0)
    (390.0, None)
    >>> delay_after(1, jitter_0_1=0, retry_after=timedelta(seconds=90)).total_seconds()
    90.0
    """
    if attempts >= MAX_ATTEMPTS:
        return None
    delay = RETRY_DELAYS[attempts - 1] * (1 + MAX_JITTER * jitter_0_1)
    return max(delay, retry_after or delay)


def health_after_failure(health: EndpointHealth, *, began_at: datetime, at: datetime, is_probe: bool) -> EndpointHealth:
    """Return an endpoint's health after an attempt that began at `began_at` and failed at the moment `at`.

    While the circuit is open only its probes count: the other attempts began before it opened.
    """
    health = health._replace(failing_since=health.failing_since or at)
    if health.is_circuit_open and not is_probe:
        return health
    failures = health.consecutive_failures + 1
    open_until = began_at + MIN_PROBE_INTERVAL if failures >= CIRCUIT_FAILURES else None
    return health._replace(consecutive_failures=failures, circuit_open_until=open_until)


def action_after_failure(health: EndpointHealth, *, at: datetime) -> EndpointAction:
    """Return what an endpoint's health calls for at the moment `at`, after a failure.

    An endpoint is never disabled less than 24 hours after its warning, even if nothing was sent to it for days.
    """
    if health.failing_since is None or at - health.failing_since < WARN_AFTER:
        return EndpointAction.NONE
    if health.warned_at is None:
        return EndpointAction.WARN
    is_over = at - health.failing_since >= DISABLE_AFTER and at - health.warned_at >= MIN_WARNING
    return EndpointAction.DISABLE if is_over else EndpointAction.NONE


def further_attempts_of_tenant(running_of_tenant: int, *, running: int) -> int:
    """Return how many further attempts a tenant may begin in a process that has `running` attempts.

    Receivers that hang hold their attempts until the timeout. However many endpoints a tenant has, a quarter of the
    attempts is left for the first one of each other tenant.

    >>> further_attempts_of_tenant(0, running=0), further_attempts_of_tenant(8, running=380)
    (32, 4)
    >>> further_attempts_of_tenant(8, running=384), further_attempts_of_tenant(0, running=384)
    (0, 1)
    """
    unreserved = max(MAX_ATTEMPTS_AT_ONCE - RESERVED_ATTEMPTS - running, 0 if running_of_tenant else 1)
    return min(MAX_ATTEMPTS_AT_ONCE_PER_TENANT - running_of_tenant, unreserved)


def attempts_allowed(health: EndpointHealth, *, now: datetime) -> int:
    """Return how many attempts an endpoint may have at once.

    >>> attempts_allowed(HEALTHY, now=datetime(2026, 11, 24))
    8
    """
    if not health.is_circuit_open:
        return MAX_ATTEMPTS_AT_ONCE_PER_ENDPOINT
    return 1 if health.circuit_open_until is None or health.circuit_open_until <= now else 0
