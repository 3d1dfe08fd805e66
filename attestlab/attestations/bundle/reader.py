"""Typed access to a bundle's JSON; every error names the JSON Pointer of the invalid member."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from attestlab.log.entries import NONCE_BYTES


class Reader:
    """Reader of one JSON object of a bundle; errors are ValueErrors that name the member's JSON Pointer."""

    def __init__(self, value: object, path: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{path or '/'} must be an object")
        self.value, self.path = value, path

    def object(self, name: str) -> Reader:
        """Return the object with this name."""
        return Reader(self.value.get(name), f"{self.path}/{name}")

    def object_or_none(self, name: str) -> Reader | None:
        """Return the object with this name; None if it is null or missing."""
        return None if self.value.get(name) is None else self.object(name)

    def objects(self, name: str) -> list[Reader]:
        """Return the list of objects with this name."""
        value = self.value.get(name)
        if not isinstance(value, list):
            raise ValueError(f"{self.path}/{name} must be a list of objects")
        return [Reader(item, f"{self.path}/{name}/{number}") for number, item in enumerate(value)]

    def string(self, name: str) -> str:
        """Return the string with this name."""
        value = self.value.get(name)
        if not isinstance(value, str):
            raise ValueError(f"{self.path}/{name} must be a string")
        return value

    def string_or_none(self, name: str) -> str | None:
        """Return the string with this name; None if it is null or missing."""
        return None if self.value.get(name) is None else self.string(name)

    def count(self, name: str) -> int:
        """Return the non-negative integer with this name."""
        value = self.value.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{self.path}/{name} must be a non-negative integer")
        return value

    def require_same(self, name: str, proven: str) -> None:
        """Require that a repeated member is missing or equal to the proven value."""
        if self.value.get(name, proven) != proven:
            raise ValueError(f"{self.path}/{name} differs from {proven!r}, its value elsewhere in the bundle")

    def strings(self, name: str) -> list[str]:
        """Return the list of strings with this name."""
        value = self.value.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ValueError(f"{self.path}/{name} must be a list of strings")
        return value


def decode_base64(text: str, path: str) -> bytes:
    """Decode standard base64; `path` names the member in an error."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError(f"{path} is not base64") from None


def parse_nonce(text: str, path: str) -> bytes:
    """Parse the nonce of a log entry; `path` names the member in an error."""
    if not re.fullmatch(f"[0-9a-f]{{{2 * NONCE_BYTES}}}", text):
        raise ValueError(f"{path} must be {NONCE_BYTES} bytes in lowercase hexadecimal")
    return bytes.fromhex(text)


def parse_sha256(text: str) -> bytes:
    """Parse a hash in the log's form `sha256:<hex>`."""
    if not re.fullmatch("sha256:[0-9a-f]{64}", text):
        raise ValueError(f"{text[:80]!r} does not have the form sha256:<hex>")
    return bytes.fromhex(text.removeprefix("sha256:"))
