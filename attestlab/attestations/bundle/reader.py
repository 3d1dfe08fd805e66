"""Typed access to a bundle's JSON; every error names the JSON Pointer of the invalid member."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from attestlab.core.encoding import (
    b64_decode,
    b64url_decode,
    b64url_encode,
    format_time,
    parse_time,
    parse_uuid,
    quote,
)
from attestlab.core.errors import NewerFormat, ValidationFailed
from attestlab.log.entries import NONCE_BYTES

BUNDLE_FORMAT: Final = "attestlab-bundle/1"
NEWER_VERIFIER = "Get a newer verifier: pip install --upgrade attestlab"
_FORMAT = re.compile("attestlab-bundle/[1-9][0-9]*")

Value = TypeVar("Value")


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

    def time(self, name: str) -> datetime:
        """Return the time with this name; one time has one spelling, that of `format_time`."""
        return self._parse(name, parse_time, format_time)

    def time_or_none(self, name: str) -> datetime | None:
        """Return the time with this name; None if it is null or missing."""
        return None if self.value.get(name) is None else self.time(name)

    def uuid(self, name: str) -> UUID:
        """Return the UUID with this name, which is in lowercase."""
        return self._parse(name, parse_uuid, str)

    def _parse(self, name: str, parse: Callable[[str], Value], spell: Callable[[Value], str]) -> Value:
        """Parse a string, and require the spelling of its value that bundles have."""
        text = self.string(name)
        try:
            value = parse(text)
        except ValidationFailed as error:
            raise ValueError(f"{self.path}/{name}: {error.message.rstrip('.')}") from None
        if spell(value) != text:
            raise ValueError(f"{self.path}/{name} is {quote(text)}; a bundle spells this value {spell(value)}")
        return value

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


def require_known_format(top: Reader) -> None:
    """Require a format that this version reads; a bundle without the member has it.

    Raises:
        NewerFormat: this version does not know the format.
        ValueError: the member `format` names none.
    """
    name = top.string("format") if "format" in top.value else BUNDLE_FORMAT
    if not _FORMAT.fullmatch(name):
        raise ValueError(f"/format is {quote(name)}; the format of a bundle is {BUNDLE_FORMAT}")
    if name != BUNDLE_FORMAT:
        raise NewerFormat(
            f"The bundle has the format {quote(name)}, and this version reads {BUNDLE_FORMAT}. {NEWER_VERIFIER}"
        )


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
