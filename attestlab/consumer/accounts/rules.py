"""Rules of consumers' accounts: usernames, numbers and terms (CONTRACT 11.1)."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum

from attestlab.core.errors import Conflict
from attestlab.core.text_forms import describe_form

SIGNUP_TTL = timedelta(hours=24)
INVITATION_TTL = timedelta(days=30)
MAX_ADDRESSES = 5
MAX_BIO_LENGTH = 500
USERNAME_FORM = describe_form(r"^[a-z0-9_-]{3,30}$", "Send 3-30 of a-z 0-9 _ -, such as ada-lovelace.")
MAX_SIGNUPS_PER_PEER = 10
SIGNUP_WINDOW_S = 60 * 60
# Of the service, of its pages, and what readers would take for the service itself.
_RESERVED = """
about abuse account accounts admin administrator api assets attestlab billing blog consumer contact dash dashboard
docs everyone help home hostmaster inbox info legal login logout mail me moderator news noreply no-reply null
official operator owner page portal postmaster privacy protect register reset-password root security settings
shop signin signout signup sitemap spam staff static status support system team terms test undefined user users
v1 verify verify-email webmaster well-known www
"""
RESERVED_USERNAMES = frozenset(_RESERVED.split())


class PortfolioVisibility(StrEnum):
    """Who sees a consumer's portfolio: anyone, or only its owner."""

    PUBLIC = "public"
    PRIVATE = "private"


class SignupStatus(StrEnum):
    """Whether the address of a sign-up is verified."""

    PENDING_VERIFICATION = "PENDING_VERIFICATION"
    ACTIVE = "ACTIVE"


def require_unreserved(username: str) -> None:
    """Reject a username that readers would take for the service itself.

    Raises:
        Conflict: it is reserved.
    """
    if username in RESERVED_USERNAMES:
        message = f"The username {username} is reserved. Choose another."
        raise Conflict(message, details={"reason": "username_reserved"})


def username_taken(username: str) -> Conflict:
    """Build the error for a username that an account has or had."""
    return Conflict(f"The username {username} is taken. Choose another.", details={"reason": "username_taken"})
