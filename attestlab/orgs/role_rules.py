"""Rules for roles: which caller may invite, change or remove which member (CONTRACT sections 3 and 11).

A person has one role in the tenant; the operator's people may also have one on the platform. Only owners manage
owners, and only super admins manage platform roles; a key has no role, so it can do neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set
from datetime import timedelta
from enum import StrEnum
from typing import Final

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import PLATFORM_ROLES, Caller, Role
from attestlab.web.routing.authorization import Requirement, users_with

INVITATION_TTL = timedelta(days=7)
TOKEN_BYTES = 32
MANAGERS: Final = (Role.OWNER, Role.ADMIN)  # manage what other people of the tenant made, and its keys and plan
_BY_RANK = (Role.MEMBER, Role.ANALYST, Role.ADMIN, Role.OWNER)
# Of what has a scope for each part, so that the route itself needs none. A content admin reads nothing of a tenant.
_DATA_ROLES = tuple(role for role in Role if role is not Role.CONTENT_ADMIN)
DATA_READERS = Requirement(tenant_only=True, people_roles=_DATA_ROLES)
PEOPLE_READING_DATA = users_with(_DATA_ROLES)
_REQUIRED_ROLES = (Role.OWNER, Role.SUPER_ADMIN)


class UserStatus(StrEnum):
    """Status of a member. INVITED becomes ACTIVE when a password is set; REMOVED is final."""

    ACTIVE = "ACTIVE"
    INVITED = "INVITED"
    REMOVED = "REMOVED"


def is_active(status: str | None) -> bool:
    """Whether a person may sign in: not while only invited, and never again once removed.

    Without a status a person is active.
    """
    return status is None or status == UserStatus.ACTIVE


def normalize_address(text: str, *, field: str = "/email") -> str:
    """Validate and normalize an e-mail address for account lookup, in lower case (RFC 5321, 6531).

    Raises:
        ValidationFailed: mail cannot be delivered to it.
    """
    from email_validator import EmailNotValidError, validate_email  # slow to import; most processes never need it

    try:
        valid = validate_email(text.strip(), check_deliverability=False)
        if "=?" in valid.local_part:  # RFC 2047: a reader could decode it in a header to another address
            raise EmailNotValidError("The part before the @-sign has =?, with which encoded words begin.")
        return valid.normalized.lower()
    except EmailNotValidError as error:
        raise ValidationFailed.of(
            field, "email", f"Invalid e-mail address. Expected an address such as ada@example.org. {error}"
        ) from None


def removed_address(user_id: object) -> str:
    """Return the placeholder for a removed person's address; no mail can be delivered to it (RFC 2606)."""
    return f"{user_id}@removed.invalid"


def placeholder_address(user_id: object) -> str:
    """Return the placeholder for the address of an invited person, who has no account with it yet (RFC 2606)."""
    return f"{user_id}@invited.invalid"


def hash_invitation(token: str) -> bytes:
    """Compute the SHA-256 by which an invitation is looked up; the token itself exists only in the mail."""
    return hashlib.sha256(token.encode()).digest()


def parse_roles(stored: str) -> frozenset[Role]:
    """Parse a stored list of roles."""
    return frozenset(map(Role, stored.split()))


def format_roles(roles: Set[Role]) -> str:
    """Format roles for storage, always in the same order.

    >>> format_roles({Role.SUPER_ADMIN, Role.OWNER})
    'owner super_admin'
    """
    return " ".join(role for role in Role if role in roles)


def public_roles(roles: Set[Role]) -> str:
    """Format roles for events, separated by commas."""
    return format_roles(roles).replace(" ", ",")


def with_role(current: Set[Role], role: Role) -> frozenset[Role]:
    """Return the roles after a person is given `role`.

    A platform role is added to the role in the tenant. A role in the tenant replaces all others, so that a new member
    is a member and nothing else.

    >>> format_roles(with_role({Role.OWNER}, Role.REVIEWER))
    'owner reviewer'
    >>> format_roles(with_role({Role.OWNER, Role.REVIEWER}, Role.MEMBER))
    'member'
    """
    return frozenset({*(current - PLATFORM_ROLES), role} if role in PLATFORM_ROLES else {role})


def is_manager(roles: Set[Role]) -> bool:
    """Whether a person with these roles manages the tenant, as its owners and admins do.

    >>> is_manager({Role.ADMIN, Role.REVIEWER}), is_manager({Role.SUPER_ADMIN}), is_manager(set())
    (True, False, False)
    """
    return not roles.isdisjoint(MANAGERS)


def require_may_grant(role: Role, *, caller: Caller, is_operators: bool) -> None:
    """Require that the caller may grant a role; `is_operators` tells whether the tenant is the operator's.

    Raises:
        PermissionDenied: only an owner makes owners, and only a super admin gives platform roles, in the operator's
            tenant.
    """
    if role in PLATFORM_ROLES and not is_operators:
        message = f"{role} is a role of the operator's own tenant."
        raise PermissionDenied(message, details={"required_roles": [Role.SUPER_ADMIN.value]})
    require_may_change(frozenset({role}), caller=caller)


def require_may_change(roles: Set[Role], *, caller: Caller) -> None:
    """Require that the caller may change or remove a person with these roles.

    Raises:
        PermissionDenied: the caller is not an owner, or not a super admin.
    """
    needed = [Role.OWNER] if Role.OWNER in roles else []
    needed += [Role.SUPER_ADMIN] if roles & PLATFORM_ROLES else []
    for role in needed:
        if role not in caller.roles:
            raise PermissionDenied(f"This needs the role {role}.", details={"required_roles": [role.value]})


def require_no_self_promotion(current: Set[Role], role: Role) -> None:
    """Reject a promotion of oneself in the tenant.

    Raises:
        PermissionDenied: another person must do that.
    """
    if role in _BY_RANK and _BY_RANK.index(role) > max(map(_rank, current), default=-1):
        raise PermissionDenied("You cannot raise your own role. Ask an owner.", details={"reason": "own_role"})


def _rank(role: Role) -> int:
    return _BY_RANK.index(role) if role in _BY_RANK else -1


def require_not_last(losing: Set[Role], others: Set[Role]) -> None:
    """Require that the tenant keeps an owner, and the platform a super admin.

    `losing` are the roles that a person is about to lose, `others` the roles of the other active people.

    Raises:
        Conflict: `details.reason` is `last_owner` or `last_super_admin`.
    """
    for role in _REQUIRED_ROLES:
        if role in losing and role not in others:
            role_name = role.replace("_", " ")
            message = f"This is the last {role_name}. Give the role to another person first."
            raise Conflict(message, details={"reason": f"last_{role}"})
