"""Results of long writes, kept with the idempotency key of their request until its response is stored.

A long write commits before the request has its response (`core.execution.long_writes`). If the server is killed
between the two, the repeated request finds the result here and makes the response of it. The result is a stored
response under an id that is derived from the record's, pickled and sealed: only the service itself can have made it.
"""

from __future__ import annotations

import hashlib
import pickle
from dataclasses import replace
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple

from sqlalchemy import Connection

from attestlab.core.crypto.keyring import Keyring
from attestlab.core.db.transaction import Transaction
from attestlab.core.execution.long_verbs import KeptCall
from attestlab.web.idempotency.keys import IdempotencyKey, lookup, store_response
from attestlab.web.response import Response


class KeyOfResult(NamedTuple):
    """What identifies a kept result, as the child process gets it; see `IdempotencyKey`."""

    record_id: bytes
    fingerprint: bytes
    at: datetime

    @classmethod
    def of(cls, key: IdempotencyKey) -> KeyOfResult:
        """Return the key of the result of a keyed write."""
        return cls(hashlib.sha256(b"result\n" + key.record_id).digest(), key.fingerprint, key.at)


def keep(tx: Transaction, key: KeyOfResult, call: KeptCall, keyring: Keyring) -> None:
    """Keep the result of a call in the transaction of its change."""
    answer = Response(HTTPStatus.PROCESSING, {}, pickle.dumps(call))
    store_response(tx, IdempotencyKey(*key, sealing=keyring), answer)


def recall(connection: Connection, key: IdempotencyKey, keyring: Keyring) -> KeptCall | None:
    """Return the call that an earlier try of a request committed, or None.

    One that another version of the service kept may have another form, and counts as none.

    Raises:
        IdempotencyKeyReused: the key was used for another request.
    """
    found = lookup(connection, replace(key, record_id=KeyOfResult.of(key).record_id, sealing=keyring, link_key_of=None))
    if found is None:
        return None
    try:
        call = pickle.loads(found.body)
    except (pickle.UnpicklingError, AttributeError, ImportError, TypeError):
        return None
    return call if isinstance(call, KeptCall) else None
