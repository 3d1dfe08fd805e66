"""Typed access to a bundle's JSON; every error names the JSON Pointer of the invalid member."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from attestlab.core.encoding import b64_decode, b64url_decode, b64url_encode, quote
from attestlab.core.errors import NewerFormat, ValidationFailed
from attestlab.log.entries import NONCE_BYTES

BUNDLE_VERSION = 1
BUNDLE_FORMAT: Final = "attestlab-bundle/1"
NEWER_VERIFIER = "Get a newer verifier: pip install --upgrade attestlab"
_FORMAT = re.compile("attestlab-bundle/([1-9][0-9]{0,8})")


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
        return b64_decode(text)
    except ValueError as error:
        raise ValueError(f"{path} is {error}") from None


def decode_base64url(text: str, path: str) -> bytes:
    """Decode unpadded base64url; `path` names the member in an error."""
    try:
        raw = b64url_decode(text)
    except ValidationFailed as error:
        raise ValueError(f"{path}: {error.message.rstrip('.')}") from None
    if b64url_encode(raw) != text:
        raise ValueError(f"{path} is padded base64url; leave the padding out")
    return raw


def read_format(top: Reader) -> int:
    """Read the number of a bundle's format, which is the first for a bundle without one.

    Raises:
        NewerFormat: this version does not know the format.
        ValueError: the member `format` names none.
    """
    if "format" not in top.value:
        return BUNDLE_VERSION
    name = top.string("format")
    number = _FORMAT.fullmatch(name)
    if number is None:
        raise ValueError(f"/format is {quote(name)}; the format of a bundle is {BUNDLE_FORMAT}")
    if int(number[1]) > BUNDLE_VERSION:
        raise NewerFormat(f"The bundle has the format {name}, and this version reads {BUNDLE_FORMAT}. {NEWER_VERIFIER}")
    return BUNDLE_VERSION


def find_different(copies: Mapping[str, object], proven: Mapping[str, object]) -> str | None:
    """Return the name of the first member whose readable copy differs from its proven value; a copy may be missing.

    Types are compared as well, because JSON's `true` and `1.0` equal `1` in Python.
    """
    for name, value in proven.items():
        copy = copies.get(name, value)
        if type(copy) is not type(value) or copy != value:
            return name
    return None


def parse_nonce(text: str, path: str) -> bytes:
    """Parse the nonce of a log entry; `path` names the member in an error."""
    if not re.fullmatch(f"[0-9a-f]{{{2 * NONCE_BYTES}}}", text):
        raise ValueError(f"{path} must be {NONCE_BYTES} bytes in lowercase hexadecimal")
    return bytes.fromhex(text)
