"""Share keys in remembered answers: left out where an answer is stored, put back where it is repeated.

A share key opens the claims of an attestation's public page. It follows from the attestation's
id and the key-encryption key, so the records need not hold it, and a copy of them opens nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import UUID

KeyOf = Callable[[UUID], str]

_ID = rb"(/a/([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\?k=)"
_LINK = re.compile(_ID + rb"([A-Za-z0-9_-]{22})")
_PLACEHOLDER = b"\x00"  # stands in no JSON text, which escapes it
_STORED_LINK = re.compile(_ID + _PLACEHOLDER)


def remove_keys(body: bytes, key_of: KeyOf) -> bytes:
    """The body without the keys of its share links; any other text stays as it is."""

    def without(link: re.Match[bytes]) -> bytes:
        is_key = link[3].decode() == key_of(UUID(link[2].decode()))
        return link[1] + _PLACEHOLDER if is_key else link[0]

    return _LINK.sub(without, body)


def restore_keys(body: bytes, key_of: KeyOf) -> bytes:
    """The body of `remove_keys` as it was sent."""
    return _STORED_LINK.sub(lambda link: link[1] + key_of(UUID(link[2].decode())).encode(), body)
