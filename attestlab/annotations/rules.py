"""Rules of annotations: their times, how many there are, and who removes them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from attestlab.core.encoding import format_time
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.role_rules import MANAGERS, is_manager
from attestlab.orgs.rules import Caller

MAX_TEXT_LENGTH: Final = 200
MAX_ANNOTATIONS: Final = 5_000  # of a tenant


def require_period(at: datetime, until: datetime | None) -> None:
    """Require that a period ends after it begins.

    Raises:
        ValidationFailed: it does not.
    """
    if until is not None and until <= at:
        message = f"{format_time(until)} is not after {format_time(at)}. Choose a later end, or omit it for a moment."
        raise ValidationFailed.of("/until", "reversed", message)


def require_room(count: int) -> None:
    """Require that a tenant has fewer annotations than it may have.

    Raises:
        Conflict: it has as many already.
    """
    if count >= MAX_ANNOTATIONS:
        message = f"The tenant has {count:,} annotations, the most that it may have. Remove old ones first."
        raise Conflict(message, details={"limit": MAX_ANNOTATIONS, "used": count})


def require_may_remove(author_id: str, *, caller: Caller) -> None:
    """Require that the caller wrote an annotation, or is an owner or admin, or this process itself.

    Raises:
        PermissionDenied: the caller is none of them.
    """
    may_remove_all = is_manager(caller.roles) or caller.actor_type == "SERVICE"
    if not may_remove_all and author_id != caller.actor_id:
        message = "Another wrote this annotation. Ask them, an owner or an admin to remove it."
        raise PermissionDenied(message, details={"required_roles": sorted(role.value for role in MANAGERS)})
