"""Rules of consumers' accounts: usernames, numbers and terms (CONTRACT 11.1)."""

from __future__ import annotations

import re
from datetime import timedelta
from enum import StrEnum

from attestlab.core.errors import Conflict, ValidationFailed

SIGNUP_TTL = timedelta(hours=24)
INVITATION_TTL = timedelta(days=30)
MAX_ADDRESSES = 5
MAX_BIO_LENGTH = 500
MAX_USERNAME_LENGTH = 30
USERNAME_PATTERN = r"[a-z0-9_-]{3,30}"
_USERNAME = re.compile(USERNAME_PATTERN)
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
    """Who sees a consumer's portfolio: anyone, or nobody else."""

    PUBLIC = "public"
    PRIVATE = "private"


def validate_username(username: str, *, field: str = "/username") -> str:
    """Return a username that an account may have.

    Raises:
        ValidationFailed: it has another form.
        Conflict: it is reserved.
    """
    if not _USERNAME.fullmatch(username):
        message = f"A username has 3 to {MAX_USERNAME_LENGTH} characters of a-z, 0-9, _ and -."
        raise ValidationFailed.of(field, "username", message)
    if username in RESERVED_USERNAMES:
        message = f"The username {username} is reserved. Choose another."
        raise Conflict(message, details={"reason": "username_reserved"})
    return username
