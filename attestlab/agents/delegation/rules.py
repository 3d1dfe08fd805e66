"""Rules of delegation (CONTRACT 11.10): a child may do at most what its parent may, and not for longer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from attestlab.agents.scopes import MAX_SCOPES, ScopeSet, find_widening
from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed

MAX_DEPTH: Final = 8
DEFAULT_TTL: Final = timedelta(days=30)


class DelegationStatus(StrEnum):
    """Whether a delegation holds; REVOKED and EXPIRED are final."""

    ACTIVE = "active"
    REVOKED = "revoked"
    EXPIRED = "expired"


class Direction(StrEnum):
    """Which delegations of an agent: those that it gave, or those that it received."""

    GIVEN = "given"
    RECEIVED = "received"


class ChainVerdict(StrEnum):
    """The result of verifying a chain; where several apply, the first in this order (CONTRACT 11.10)."""

    CHAIN_BROKEN = "CHAIN_BROKEN"
    DEPTH_EXCEEDED = "DEPTH_EXCEEDED"
    EXPIRED = "EXPIRED"
    REVOKED = "REVOKED"
    SCOPE_VIOLATION = "SCOPE_VIOLATION"
    VALID = "VALID"


def grant_scopes(requested: ScopeSet, holder: ScopeSet) -> ScopeSet:
    """Return what a delegation grants: the requested scopes, with the denies of the parent that grants them.

    Raises:
        PermissionDenied: the parent may not do what a scope allows.
        ValidationFailed: nothing remains to grant, or parent and request deny more than 64 scopes.
    """
    granted = ScopeSet(requested.allows, requested.denies | holder.denies)
    widening = find_widening(granted, holder)
    if widening is not None:
        raise PermissionDenied(
            f"The parent may not grant {widening}: its effective scopes do not cover it. "
            "Request a scope that they cover.",
            details={"reason": "scope_violation", "scope": widening},
        )
    granted = granted.simplify()
    if not granted.allows:
        message = "The delegation would grant nothing. Send at least one scope that no deny covers."
        raise ValidationFailed.of("/scopes", "too_few", message)
    if len(granted.denies) > MAX_SCOPES:
        message = (
            f"The parent's denies and the requested ones are {len(granted.denies)}; the limit is {MAX_SCOPES}. "
            "Deny whole resources, such as '!docs:*'."
        )
        raise ValidationFailed.of("/scopes", "too_many", message)
    return granted


def choose_expiry(requested: datetime | None, ends: Iterable[datetime | None], *, now: datetime) -> datetime:
    """Choose when a delegation expires, in whole seconds; `ends` are those of the hop before and of both agents.

    Without a request it is the earliest of these and of 30 days from now.

    Raises:
        ValidationFailed: the requested time is not after `now`, or later than one of the ends.
    """
    latest = min((end for end in ends if end is not None), default=None)
    if requested is None:
        standard = now + DEFAULT_TTL
        chosen = standard if latest is None else min(standard, latest)
    elif latest is not None and requested > latest:
        message = (
            f"The delegation cannot expire at {format_time(requested)}: the parent, the child or the parent's own "
            f"delegation ends at {format_time(latest)}. Send that time or an earlier one."
        )
        raise ValidationFailed.of("/expires_at", "too_late", message)
    else:
        chosen = requested
    chosen = chosen.replace(microsecond=0)
    if chosen <= now:
        message = (
            f"The delegation would expire at {format_time(chosen)}, which is not in the future. Send a later time."
        )
        raise ValidationFailed.of("/expires_at", "past", message)
    return chosen


def require_place(parent_id: UUID, child_id: UUID, ancestor_ids: Collection[UUID]) -> None:
    """Require that a child has a place below a parent, whose ancestors are `ancestor_ids`.

    Raises:
        Conflict: the child is the parent or one of its ancestors, or would be deeper than 8.
    """
    if child_id == parent_id or child_id in ancestor_ids:
        what = "the parent itself" if child_id == parent_id else "an ancestor of the parent"
        message = f"The agent {child_id} is {what}; delegations form no cycle. Name another child."
        raise Conflict(message, details={"reason": "cycle"})
    depth = len(ancestor_ids) + 1
    if depth > MAX_DEPTH:
        message = f"The child would be at depth {depth}; the limit is {MAX_DEPTH}. Delegate from an agent higher up."
        raise Conflict(message, details={"reason": "depth_exceeded", "depth": depth, "limit": MAX_DEPTH})


def require_unbound(child_id: UUID, *, has_parent: bool, has_children: bool) -> None:
    """Require that a child has no live delegation yet, neither received nor given.

    An agent that has delegated cannot receive: the hops below it name no hop before them.

    Raises:
        Conflict: it has one.
    """
    if has_parent:
        message = f"The agent {child_id} has a parent already, and one is the limit. Revoke that delegation first."
        raise Conflict(message, details={"reason": "already_delegated"})
    if has_children:
        message = f"The agent {child_id} delegates to others. Revoke its delegations first, or name another child."
        raise Conflict(message, details={"reason": "delegates_already"})


def status_at(expires_at: datetime, revoked_at: datetime | None, now: datetime) -> DelegationStatus:
    """Return the status of a delegation at a moment; a revoked one stays revoked when it expires."""
    if revoked_at is not None:
        return DelegationStatus.REVOKED
    return DelegationStatus.EXPIRED if expires_at <= now else DelegationStatus.ACTIVE


def require_unrevoked(status: DelegationStatus) -> None:
    """Require that a delegation can be revoked.

    Raises:
        Conflict: it is revoked already.
    """
    if status is DelegationStatus.REVOKED:
        raise Conflict("The delegation is revoked, which is final.", details={"status": status.value})
