"""What an agent may do now: its own scopes, within each delegation and each agent above it (CONTRACT 11.10)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache, reduce
from typing import Final, Protocol

from attestlab.agents.rules import AgentStatus, status_at
from attestlab.agents.scopes import ScopeSet, find_widening, parse_scopes
from attestlab.core.errors import PermissionDenied
from attestlab.orgs.rules import Caller, Scope

NOTHING: Final = ScopeSet()
HOUSE_SCOPES: Final = frozenset(Scope) - {
    Scope.USERS_READ,
    Scope.USERS_WRITE,
    Scope.BILLING_READ,
    Scope.BILLING_WRITE,
}
"""The scopes of this service that an agent can have; whatever it is granted, it reaches neither people nor money."""


class Delegated(Protocol):
    """An agent with its own scopes, and those of the delegation that it got."""

    @property
    def status(self) -> str: ...
    @property
    def expires_at(self) -> datetime | None: ...
    @property
    def scopes(self) -> str: ...
    @property
    def delegated_scopes(self) -> str | None: ...
    @property
    def delegated_until(self) -> datetime | None: ...


@lru_cache(maxsize=4096)
def parse_stored(text: str) -> ScopeSet:
    """Parse scopes as they are stored, separated by spaces."""
    return parse_scopes(text.split())


def compute_effective_scopes(agent: Delegated, ancestors: Iterable[Delegated], *, now: datetime) -> ScopeSet:
    """Compute what an agent may do, whatever its own status is.

    Nothing, if a delegation on the way has ended or an agent above it is revoked.
    """
    above = list(ancestors)
    is_over = any(status_at(each.status, each.expires_at, now) is AgentStatus.REVOKED for each in above)
    links = (agent, *above)
    if is_over or any(each.delegated_until is not None and each.delegated_until <= now for each in links):
        return NOTHING
    limits = [each.scopes for each in links]
    limits += [each.delegated_scopes for each in links if each.delegated_scopes is not None]
    return reduce(ScopeSet.intersect, map(parse_stored, limits))


@lru_cache(maxsize=1024)
def list_house_scopes(granted: ScopeSet) -> frozenset[Scope]:
    """Return the scopes of this service that a grant covers, of those that an agent can have.

    >>> sorted(list_house_scopes(parse_scopes(["risk:*", "users:read", "!risk:write"])))
    [<Scope.RISK_READ: 'risk:read'>]
    """
    return frozenset(scope for scope in HOUSE_SCOPES if granted.permits(scope.value))


def require_grantable(granted: ScopeSet, *, caller: Caller) -> None:
    """Require that a caller grants an agent no more than the caller may do.

    An agent grants what its session covers, with all its denies; a person or key, of this service's scopes, those
    that they have. What tool servers understand is theirs to grant.

    Raises:
        PermissionDenied: `details.required_scope` is the first scope that the caller lacks.
    """
    lacking = find_ungrantable(granted, caller=caller)
    if lacking is not None:
        message = f"An agent cannot have the scope {lacking}, because its creator lacks it."
        raise PermissionDenied(message, details={"required_scope": lacking})


def find_ungrantable(granted: ScopeSet, *, caller: Caller) -> str | None:
    """Find the first scope of a grant that the caller may not give; None if all may be given."""
    if caller.actor_type == "AGENT":
        return find_widening(granted, parse_scopes(caller.agent_scopes))
    lacking = list_house_scopes(granted) - caller.scopes
    return next((scope.value for scope in Scope if scope in lacking), None)
