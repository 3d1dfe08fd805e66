"""Rules for the scopes of API keys: how they are stored, and which scopes others imply (CONTRACT 11.0)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from attestlab.orgs.rules import ConsumerScope, Scope

SPEC_SCOPES = frozenset(
    {
        Scope.ATTESTATIONS_MINT,
        Scope.ATTESTATIONS_READ,
        Scope.ATTESTATIONS_REVOKE,
        Scope.ISSUERS_READ,
        Scope.ISSUERS_WRITE,
        Scope.USERS_READ,
        Scope.USERS_WRITE,
        Scope.AUDIT_READ,
    }
)
"""The eight scopes of the specification; a key with all of them has every scope."""

_OPEN_TO_OLDER_KEYS = frozenset(
    {
        Scope.RISK_READ,
        Scope.RISK_WRITE,
        Scope.POLICIES_READ,
        Scope.POLICIES_WRITE,
        Scope.WEBHOOKS_READ,
        Scope.WEBHOOKS_WRITE,
    }
)


def expand(scopes: Iterable[Scope]) -> frozenset[Scope]:
    """Return the scopes of a key for which its creator names these.

    >>> sorted(expand([Scope.RISK_READ]))
    [<Scope.RISK_READ: 'risk:read'>]
    >>> expand(SPEC_SCOPES) == frozenset(Scope)
    True
    """
    named = frozenset(scopes)
    return frozenset(Scope) if named >= SPEC_SCOPES else named


def format_scopes(scopes: Iterable[Scope | ConsumerScope]) -> str:
    """Format scopes for storage, always in the same order."""
    named = frozenset(scopes)
    return " ".join(scope for scope in (*ConsumerScope, *Scope) if scope in named)


@lru_cache(maxsize=256)  # few different lists exist
def parse_scopes(stored: str, *, has_group_scopes: bool) -> frozenset[Scope | ConsumerScope]:
    """Parse the stored scopes of a key.

    Risk, policies and webhooks were open to every key of a tenant before they had scopes. A key that is older, so
    without `has_group_scopes`, may still do all of it; a consumer's key never could.
    """
    names = stored.split()
    if any(name in set(ConsumerScope) for name in names):
        return frozenset(ConsumerScope(name) if name in set(ConsumerScope) else Scope(name) for name in names)
    scopes = expand(map(Scope, names))
    return scopes if has_group_scopes else scopes | _OPEN_TO_OLDER_KEYS
