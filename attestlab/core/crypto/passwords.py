"""Passwords: argon2id hashes (RFC 9106), and the only rule for a new one: its length (NIST SP 800-63B).

Hashing deliberately takes some 50 ms and 64 MiB. Never call it on the event loop or under the writer's lock.
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
    """Reject a new password that is too easy to guess.

    Raises:
        ValidationFailed: it has fewer than 12 characters, more than 1024 bytes, or is the e-mail address.
    """
    if len(password) < MIN_LENGTH:
        raise ValidationFailed.of(field, "too_short", f"The password must have at least {MIN_LENGTH} characters.")
    if len(password.encode()) > MAX_BYTES:
        raise ValidationFailed.of(field, "too_long", f"The password must have at most {MAX_BYTES} bytes.")
    if hmac.compare_digest(password.strip().lower().encode(), email.strip().lower().encode()):
        raise ValidationFailed.of(field, "is_email", "The password must not be the e-mail address.")


def hash_password(password: str) -> str:
    """Compute the argon2id hash to store, with a random salt and the parameters; slow."""
    return _hasher().hash(password)


def matches(password: str, stored: str | None) -> bool:
    """Whether the stored hash belongs to this password; slow.

    Without a hash the result is False after the same time, so that timing does not reveal who has an account.
    """
    from argon2.exceptions import InvalidHashError, VerificationError

    try:
        return _hasher().verify(stored or _dummy_hash(), password)
    except (InvalidHashError, VerificationError):
        return False


def is_outdated(stored: str) -> bool:
    """Whether the hash uses other parameters than the current ones."""
    return _hasher().check_needs_rehash(stored)


@cache
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher  # imported late: it is slow to load, and most processes do not need it

    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    """Return a hash with the current parameters that matches no known password: all zeros."""
    hasher = _hasher()
    salt, digest = (b64encode(bytes(size)).decode().rstrip("=") for size in (hasher.salt_len, hasher.hash_len))
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
