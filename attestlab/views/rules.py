"""Rules of saved views: the addresses that they hold, and who may change them."""

from __future__ import annotations

import re
from typing import Final
from uuid import UUID

from attestlab.core.encoding import quote
from attestlab.core.errors import Conflict, PermissionDenied, ValidationFailed
from attestlab.orgs.role_rules import is_manager
from attestlab.orgs.rules import Caller

MAX_NAME_LENGTH: Final = 100
MAX_QUERY_LENGTH: Final = 4_096
MAX_VIEWS: Final = 200  # of a person
_NO_QUERY_CHARACTER: Final = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/?%]")  # RFC 3986, 3.4


def require_query(text: str) -> str:
    """Require that a text is what stands after the `?` of an address, percent-encoded (RFC 3986, 3.4).

    Raises:
        ValidationFailed: it has another character, such as a space or `#`.

    >>> require_query("days=30&source=login")
    'days=30&source=login'
    """
    found = _NO_QUERY_CHARACTER.search(text)
    if found is not None:
        message = (
            f"{quote(found[0])} at position {found.start()} cannot stand in an address. "
            "Send what stands after the `?` of the page's address, percent-encoded."
        )
        raise ValidationFailed.of("/query", "query", message)
    return text


def compose_url(page: str, query: str) -> str:
    """Compose the address of a view, below the address of the service.

    >>> compose_url("risk", "days=30"), compose_url("log", "")
    ('/dash/risk?days=30', '/dash/log')
    """
    return f"/dash/{page}?{query}" if query else f"/dash/{page}"


def require_room(count: int) -> None:
    """Require that a person has fewer views than they may have.

    Raises:
        Conflict: they have as many already.
    """
    if count >= MAX_VIEWS:
        message = f"You have {count} views, the most that a person may have. Delete one first."
        raise Conflict(message, details={"limit": MAX_VIEWS, "used": count})


def require_owner(user_id: UUID, *, caller: Caller) -> None:
    """Require that the caller saved a view that the tenant shares.

    Raises:
        PermissionDenied: another person did.
    """
    if str(user_id) != caller.actor_id:
        message = "Another person saved this view; only they can change it. Save it under a name of yours."
        raise PermissionDenied(message, details={"reason": "not_the_owner"})


def require_may_delete(user_id: UUID, *, has_left: bool, caller: Caller) -> None:
    """Require that the caller saved a shared view, or manages what a person left behind.

    Raises:
        PermissionDenied: another person saved it, who is still there, or the caller is no owner or admin.
    """
    if not (has_left and is_manager(caller.roles)):
        require_owner(user_id, caller=caller)
