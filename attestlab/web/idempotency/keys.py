"""Idempotency-Key: the response of a write is stored with its key, in the write's own transaction.

A repeated request gets the stored status and body byte for byte. Response and change are one commit, so a client
that retries after a crash between commit and response finds the result. Errors (400, 401, 403, 429) are not stored,
because they changed nothing.

If a route is `secret`, the stored response is sealed and bound to its record, and the fingerprint is keyed: without
the key-encryption key, the response cannot be read and passwords cannot be tested against the fingerprint.

A share key opens the claims of an attestation's public page. It is derived from the attestation's id and the
key-encryption key. So it is removed when a response is stored and restored when it is repeated, and a copy of the
database opens nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from attestlab.core.crypto import sealing
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.core.errors import IdempotencyKeyReused, IntegrityFailed, ValidationFailed
from attestlab.core.records.hash_chain import HEADS
from attestlab.web.idempotency import store as idempotency_store
from attestlab.web.idempotency.store import ChainedResponse
from attestlab.web.request import Request
from attestlab.web.response import Response

HEADER = "Idempotency-Key"
RECORD_TTL = timedelta(hours=24)
MEMO = "idempotency.expired responses were deleted"
SEALED = b"sealed "  # prefix of the stored headers of a sealed response; others begin as JSON
_KEY = re.compile(r"[\x20-\x7e]{1,255}")
_ID = rb"(/a/([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\?k=)"
_LINK = re.compile(_ID + rb"([A-Za-z0-9_-]{22})")
_PLACEHOLDER = b"\x00"  # never occurs in JSON text, which escapes it
_STORED_LINK = re.compile(_ID + _PLACEHOLDER)

KeyOf = Callable[[UUID], str]


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """One keyed write. `record_id` identifies tenant, route and key; `fingerprint` the request. Both are SHA-256.

    `sealing` is the keyring that seals the whole response if it is secret; `link_key_of` returns the key of a share
    link, which is removed from every stored response.
    """

    record_id: bytes
    fingerprint: bytes
    at: datetime
    sealing: Keyring | None = None
    link_key_of: KeyOf | None = None

    @property
    def purpose(self) -> str:
        """The purpose to which a sealed response is bound."""
        return f"answer {self.record_id.hex()}"


def is_keyed(request: Request) -> bool:
    """Whether the request carries a key that its route honours."""
    return request.route.idempotency != "none" and request.header(HEADER) is not None


def read_key(request: Request, *, keyring: Keyring, link_key_of: KeyOf) -> IdempotencyKey | None:
    """Read the request's idempotency key; None if it has none or the route ignores it.

    `keyring` seals the responses of secret routes, `link_key_of` restores the keys of share links in other responses.

    Raises:
        ValidationFailed: the key is missing where it is required, or malformed.
    """
    route, key = request.route, request.header(HEADER)
    if route.idempotency == "none":
        return None
    if key is None:
        if route.idempotency == "required":
            raise ValidationFailed.of(
                f"/{HEADER}", "missing", "Send an Idempotency-Key header: 1-255 printable characters."
            )
        return None
    if not _KEY.fullmatch(key):
        raise ValidationFailed.of(
            f"/{HEADER}", "malformed", "An Idempotency-Key must be 1-255 printable ASCII characters."
        )
    owner = str(request.caller.tenant_id) if request.caller is not None else _anonymous_owner(request)
    record_id, fingerprint = _hash_key(owner, route.method, route.path, key), _fingerprint_of(request)
    if not route.secret:
        return IdempotencyKey(
            record_id,
            fingerprint,
            request.now,
            link_key_of=link_key_of,
        )
    # Each person of a tenant has their own secrets, so another person's repeat is another request.
    credential_id = "" if request.caller is None else request.caller.credential_id
    return IdempotencyKey(record_id, keyring.keyed_sha256(fingerprint + credential_id.encode()), request.now, keyring)


def _anonymous_owner(request: Request) -> str:
    """Identify a client without authentication: its address, and its credential where that gives more access."""
    credentials = [request.header(name) for name in ("X-API-Key", "Authorization")]
    return "\n".join([f"anonymous {request.peer}", *filter(None, credentials)])


def _hash_key(owner: str, method: str, path: str, key: str) -> bytes:
    return hashlib.sha256(f"{owner}\n{method} {path}\n{key}".encode()).digest()


def _fingerprint_of(request: Request) -> bytes:
    digest = hashlib.sha256(f"{request.method} {request.path}\n".encode())
    digest.update(canonical(request.document) if request.canonical is None else request.canonical)
    if request.payload is not None:
        digest.update(request.payload.sha256)
    return digest.digest()


def lookup(connection: Connection, key: IdempotencyKey) -> Response | None:
    """Return the stored response, or None.

    Raises:
        IdempotencyKeyReused: the key was used for another request.
    """
    row = idempotency_store.find_response(connection.execute, key.record_id)
    return _response_of(None if row is None or row.created_at < key.at - RECORD_TTL else row, key)


def reserve(tx: Transaction, key: IdempotencyKey, *, group_record_ids: Collection[bytes]) -> Response | None:
    """Run `lookup` under the writer lock; if nothing is stored, the key is free for this write.

    The records of the whole group (`group_record_ids`) are loaded in one query, on PostgreSQL those that it foresees.
    """
    if MEMO not in tx.cache:
        tx.cache[MEMO] = True
        idempotency_store.delete_expired(tx, now=key.at, ttl=RECORD_TTL)
        if tx.connection.dialect.name == "sqlite":
            idempotency_store.STORED.get_all(tx, list(group_record_ids))
    return _response_of(idempotency_store.STORED.get(tx, key.record_id), key)


def foresee(foreseen: Foreseen, key: IdempotencyKey) -> None:
    """Name what `reserve` and the commit of the response will read."""
    idempotency_store.OLDEST.foresee(foreseen)
    idempotency_store.STORED.foresee(foreseen, key.record_id)
    HEADS.foresee(foreseen, idempotency_store.CHAIN)


def _response_of(row: ChainedResponse | None, key: IdempotencyKey) -> Response | None:
    if row is None:
        return None
    if row.fingerprint != key.fingerprint:
        raise IdempotencyKeyReused
    headers, body = row.headers, row.body
    if headers.startswith(SEALED):
        body = _require_keyring(key).unseal_secret(body, purpose=key.purpose)
    elif key.link_key_of is not None:
        body = restore_keys(body, key.link_key_of)
    stored_headers = json.loads(headers.removeprefix(SEALED))
    return Response(row.status, {**stored_headers, "Idempotent-Replayed": "true"}, body)


def _require_keyring(key: IdempotencyKey) -> Keyring:
    if key.sealing is None:
        raise IntegrityFailed("A stored response is sealed, but this route does not seal responses.")
    return key.sealing


def store_response(tx: Transaction, key: IdempotencyKey, answer: Response) -> None:
    """Store the response in the transaction of its change."""
    headers, body = json.dumps(dict(answer.headers)).encode(), answer.body
    if key.sealing is not None:
        headers, body = SEALED + headers, sealing.seal_secret(tx, key.sealing, body, purpose=key.purpose)
    elif key.link_key_of is not None:
        body = remove_keys(body, key.link_key_of)
    idempotency_store.add_response(
        tx, ChainedResponse(key.record_id, key.fingerprint, answer.status, headers, body, key.at)
    )


def remove_keys(body: bytes, key_of: KeyOf) -> bytes:
    """Remove the keys of share links from a body; any other text is unchanged."""

    def without(link: re.Match[bytes]) -> bytes:
        is_key = link[3].decode() == key_of(UUID(link[2].decode()))
        return link[1] + _PLACEHOLDER if is_key else link[0]

    return _LINK.sub(without, body)


def restore_keys(body: bytes, key_of: KeyOf) -> bytes:
    """Restore the keys that `remove_keys` removed."""
    return _STORED_LINK.sub(lambda link: link[1] + key_of(UUID(link[2].decode())).encode(), body)
