"""Tokens with which the service itself reads for a person who is not signed in, to draw a report that they asked for.

Such a token holds a person and a time, and an HMAC under the keyring, so it is stored nowhere. Rights are looked up
with each request: they end with the account, and change with the role. It opens reads alone (`require_read`).
"""

from __future__ import annotations

import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.storage import Storage
from attestlab.core.encoding import b64url_encode
from attestlab.core.errors import AuthInvalid, PermissionDenied
from attestlab.identity import rules, store
from attestlab.identity.sessions import caller_of
from attestlab.orgs import role_rules
from attestlab.orgs.rules import Caller

PREFIX: Final = "reader"
TTL: Final = timedelta(minutes=10)  # longer than a report takes to draw
# Questions that need a body. They change nothing that a person wrote.
READING_POSTS: Final = frozenset(
    {
        "/v1/lake/query",
        "/v1/verify",
        "/v1/receipts/verify",
        "/v1/policies/analyze",
        "/v1/policies/simulate",
        "/v1/risk/simulate",
        "/v1/billing/subscription/preview",
    }
)
_MAX_DIGITS: Final = 11  # of seconds since 1970, until the year 5138
_NO_SESSION: Final = UUID(int=0)


class ReaderTokens:
    """Issues and verifies the tokens."""

    def __init__(self, *, storage: Storage, keyring: Keyring) -> None:
        self.storage = storage
        self.keyring = keyring

    def issue(self, user_id: UUID, *, now: datetime) -> str:
        """Issue a token with which the service reads for a person until `TTL` has passed."""
        expires = int((now + TTL).timestamp())
        return f"{PREFIX}_{user_id}_{expires}_{self._sign(user_id, expires)}"

    def is_token(self, secret: str) -> bool:
        """Whether a bearer token begins like one of these."""
        return secret.startswith(f"{PREFIX}_")

    def authenticate(self, token: str, *, now: datetime) -> Caller:
        """Return the person for whom a token reads, with their rights of now.

        Raises:
            AuthInvalid: it was not issued here, is not current, or the account has ended.
        """
        user_id, expires = self._verify(token)
        expires_at = datetime.fromtimestamp(expires, UTC)
        if not now < expires_at <= now + TTL + timedelta(seconds=rules.MAX_CLOCK_SKEW_S):
            raise AuthInvalid
        with self.storage.read() as connection:
            person = store.find_person(connection, user_id)
        if person is None or not role_rules.is_active(person.status):
            raise AuthInvalid
        return replace(caller_of(person, _NO_SESSION, expires_at), only_reads=True)

    def _verify(self, token: str) -> tuple[UUID, int]:
        try:
            _, user, expires, signature = token.split("_", 3)
            user_id, until = UUID(user), _read_seconds(expires)
        except ValueError:
            raise AuthInvalid from None
        if not hmac.compare_digest(signature.encode(), self._sign(user_id, until).encode()):
            raise AuthInvalid
        return user_id, until

    def _sign(self, user_id: UUID, expires: int) -> str:
        return b64url_encode(self.keyring.keyed_sha256(b"reader " + user_id.bytes + expires.to_bytes(8, "big")))


def _read_seconds(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS):
        raise ValueError(text)
    return int(text)


def require_read(method: str, path: str) -> None:
    """Require that a request reads.

    Raises:
        PermissionDenied: it may write.
    """
    if method not in ("GET", "HEAD") and path not in READING_POSTS:
        raise PermissionDenied("This token only reads. Sign in to make changes.", details={"reason": "reader_token"})
