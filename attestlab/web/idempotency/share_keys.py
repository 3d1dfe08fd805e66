"""Share keys in stored responses: removed when a response is stored, restored when it is repeated.

A share key opens the claims of an attestation's public page. It is derived from the attestation's id and the
key-encryption key, so the database need not hold it, and a copy of the database opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import UUID

KeyOf = Callable[[UUID], str]

_ID = rb"(/a/([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\?k=)"
_LINK = re.compile(_ID + rb"([A-Za-z0-9_-]{22})")
_PLACEHOLDER = b"\x00"  # never occurs in JSON text, which escapes it
_STORED_LINK = re.compile(_ID + _PLACEHOLDER)


def remove_keys(body: bytes, key_of: KeyOf) -> bytes:
    """Remove the keys of share links from a body; any other text is unchanged."""

    def without(link: re.Match[bytes]) -> bytes:
        is_key = link[3].decode() == key_of(UUID(link[2].decode()))
        return link[1] + _PLACEHOLDER if is_key else link[0]

    return _LINK.sub(without, body)


def restore_keys(body: bytes, key_of: KeyOf) -> bytes:
    """Restore the keys that `remove_keys` removed."""
    return _STORED_LINK.sub(lambda link: link[1] + key_of(UUID(link[2].decode())).encode(), body)
