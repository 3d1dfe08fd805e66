"""Who may bring whom into a tenant, and as what: sentences over roles (CONTRACT sections 3 and 11).

A person has one role in the tenant; the operator's people may have one on the platform
beside it. Owners answer for owners, super admins for the platform; a key has no role,
so it can do neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Set
from datetime import timedelta
from enum import StrEnum

from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.rules import PLATFORM_ROLES, Caller, Role

INVITATION_TTL = timedelta(days=7)
TOKEN_BYTES = 32
_BY_RANK = (Role.MEMBER, Role.ANALYST, Role.ADMIN, Role.OWNER)
_REQUIRED_ROLES = (Role.OWNER, Role.SUPER_ADMIN)


class UserStatus(StrEnum):
    """INVITED becomes ACTIVE with a password; REMOVED is final."""

    ACTIVE = "ACTIVE"
    INVITED = "INVITED"
    REMOVED = "REMOVED"


def normalize_address(text: str, *, field: str = "/email") -> str:
    """An e-mail address as accounts are found by it: in lower case (RFC 5321, 6531).

    Raises:
        ValidationFailed: mail could never arrive there.
    """
    from email_validator import EmailNotValidError, validate_email  # slow to import, and most processes never need it

    try:
        valid = validate_email(text.strip(), check_deliverability=False)
        if "=?" in valid.local_part:  # RFC 2047: in a header, a reader could decode it to another address
            raise EmailNotValidError("The part before the @-sign has =?, with which encoded words begin.")
        return valid.normalized.lower()
    except EmailNotValidError as error:
        raise ValidationFailed.of(
            field, "email", f"An e-mail address like ada@example.org is needed. {error}"
        ) from None


def removed_address(user_id: object) -> str:
    """What stands in the place of a removed person's address; no mail can arrive there (RFC 2606)."""
    return f"{user_id}@removed.invalid"


def hash_invitation(token: str) -> bytes:
    """By what an invitation is found; the token itself is nowhere but in the mail."""
    return hashlib.sha256(token.encode()).digest()


def parse_roles(stored: str) -> frozenset[Role]:
    """The roles of a stored list."""
    return frozenset(map(Role, stored.split()))


def format_roles(roles: Set[Role]) -> str:
    """Roles as they are stored, always in the same order.

    >>> format_roles({Role.SUPER_ADMIN, Role.OWNER})
    'owner super_admin'
    """
    return " ".join(role for role in Role if role in roles)


def public_roles(roles: Set[Role]) -> str:
    """Roles as events tell them, separated by commas."""
    return format_roles(roles).replace(" ", ",")


def with_role(current: Set[Role], role: Role) -> frozenset[Role]:
    """The roles of somebody who is given one more: a platform role stands beside that in the tenant.

    A role in the tenant stands alone, so that whoever becomes a member is a member and nothing else.

    >>> format_roles(with_role({Role.OWNER}, Role.REVIEWER))
    'owner reviewer'
    >>> format_roles(with_role({Role.OWNER, Role.REVIEWER}, Role.MEMBER))
    'member'
    """
    return frozenset({*(current - PLATFORM_ROLES), role} if role in PLATFORM_ROLES else {role})


def require_may_grant(role: Role, *, caller: Caller, is_operators: bool) -> None:
    """Refuse a caller who may not make anyone this; `is_operators` says whose tenant it is.

    Raises:
        PermissionDenied: an owner is made by an owner, a platform role given by a super admin, and only there.
    """
    if role in PLATFORM_ROLES and not is_operators:
        message = f"{role} is a role of the operator's own tenant."
        raise PermissionDenied(message, details={"required_roles": [Role.SUPER_ADMIN.value]})
    require_may_change(frozenset({role}), caller=caller)


def require_may_change(roles: Set[Role], *, caller: Caller) -> None:
    """Refuse a caller who may not change or remove somebody with these roles.

    Raises:
        PermissionDenied: it takes an owner, or a super admin.
    """
    needed = [Role.OWNER] if Role.OWNER in roles else []
    needed += [Role.SUPER_ADMIN] if roles & PLATFORM_ROLES else []
    for role in needed:
        if role not in caller.roles:
            raise PermissionDenied(f"This needs the role {role}.", details={"required_roles": [role.value]})


def require_no_self_promotion(current: Set[Role], role: Role) -> None:
    """Refuse to raise oneself in the tenant.

    Raises:
        PermissionDenied: somebody else has to do that.
    """
    if role in _BY_RANK and _BY_RANK.index(role) > max(map(_rank, current), default=-1):
        raise PermissionDenied("Nobody raises their own role; ask an owner.", details={"reason": "own_role"})


def _rank(role: Role) -> int:
    return _BY_RANK.index(role) if role in _BY_RANK else -1


def require_not_last(losing: Set[Role], others: Set[Role]) -> None:
    """Refuse to leave a tenant without an owner, or the platform without a super admin.

    `losing` are the roles that somebody is about to lose, `others` those that the other active people have.

    Raises:
        Conflict: `details.reason` is `last_owner` or `last_super_admin`.
    """
    for role in _REQUIRED_ROLES:
        if role in losing and role not in others:
            shown = role.replace("_", " ")
            message = f"This is the last {shown}; make somebody else one first."
            raise Conflict(message, details={"reason": f"last_{role}"})
