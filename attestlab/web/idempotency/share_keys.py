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
_SHOWN = re.compile(_ID + rb"([A-Za-z0-9_-]{22})")
_LEFT_OUT = b"\x00"  # stands in no JSON text, which escapes it
_STORED = re.compile(_ID + _LEFT_OUT)


def left_out(body: bytes, key_of: KeyOf) -> bytes:
    """The body without the keys of its share links; any other text stays as it is."""

    def without(link: re.Match[bytes]) -> bytes:
        is_key = link[3].decode() == key_of(UUID(link[2].decode()))
        return link[1] + _LEFT_OUT if is_key else link[0]

    return _SHOWN.sub(without, body)


def put_back(body: bytes, key_of: KeyOf) -> bytes:
    """The body of `left_out` as it was sent."""
    return _STORED.sub(lambda link: link[1] + key_of(UUID(link[2].decode())).encode(), body)
