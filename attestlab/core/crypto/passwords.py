"""Passwords: argon2id (RFC 9106) at rest, and what a new one must be (NIST SP 800-63B: long, and nothing else).

Hashing takes some 50 ms and 64 MiB on purpose, so nobody does it on the event loop or under the writer's lock.
"""

from __future__ import annotations

import hmac
from base64 import b64encode
from functools import cache
from typing import TYPE_CHECKING

from attestlab.core.errors import ValidationFailed

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_LENGTH = 12  # characters
MAX_BYTES = 1024


def require_acceptable(password: str, *, email: str, field: str) -> None:
    """Refuse a new password that is too easily guessed.

    Raises:
        ValidationFailed: it has fewer than 12 characters, more than 1024 bytes, or is the e-mail address.
    """
    if len(password) < MIN_LENGTH:
        raise ValidationFailed.of(field, "too_short", f"A password has at least {MIN_LENGTH} characters.")
    if len(password.encode()) > MAX_BYTES:
        raise ValidationFailed.of(field, "too_long", f"A password has at most {MAX_BYTES} bytes.")
    if hmac.compare_digest(password.strip().lower().encode(), email.strip().lower().encode()):
        raise ValidationFailed.of(field, "is_email", "A password that is the e-mail address is the first one guessed.")


def hashed(password: str) -> str:
    """The argon2id hash to store, with its own salt and parameters; slow."""
    return _hasher().hash(password)


def matches(password: str, stored: str | None) -> bool:
    """Whether the stored hash is of this password; slow.

    Without a hash it takes as long and the answer is no, so that nobody learns who has an account.
    """
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(stored or _of_nobody(), password)
    except (InvalidHashError, VerificationError):
        return False


def is_outdated(stored: str) -> bool:
    """Whether the hash was made with other parameters than today's."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher  # slow to import, and most processes never need it

    return PasswordHasher()


@cache
def _of_nobody() -> str:
    """A hash of today's parameters that no known password has: all zeros."""
    hasher = _hasher()
    salt, digest = (b64encode(bytes(size)).decode().rstrip("=") for size in (hasher.salt_len, hasher.hash_len))
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
