"""Taking a bundle apart: whatever is missing or of the wrong form is named by its place."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from attestlab.log.entries import NONCE_BYTES


class Reader:
    """One object of a bundle; every complaint is a ValueError that names the place."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, Mapping):
            raise ValueError(f"{where or '/'} must be an object")
        self.value, self.path = value, where

    def object(self, name: str) -> Reader:
        """The object of this name."""
        return Reader(self.value.get(name), f"{self.path}/{name}")

    def object_or_none(self, name: str) -> Reader | None:
        """The object of this name; None where it is null or missing."""
        return None if self.value.get(name) is None else self.object(name)

    def objects(self, name: str) -> list[Reader]:
        """The list of objects of this name."""
        found = self.value.get(name)
        if not isinstance(found, list):
            raise ValueError(f"{self.path}/{name} must be a list of objects")
        return [Reader(item, f"{self.path}/{name}/{number}") for number, item in enumerate(found)]

    def string(self, name: str) -> str:
        """The string of this name."""
        found = self.value.get(name)
        if not isinstance(found, str):
            raise ValueError(f"{self.path}/{name} must be a string")
        return found

    def string_or_none(self, name: str) -> str | None:
        """The string of this name; None where it is null or missing."""
        return None if self.value.get(name) is None else self.string(name)

    def count(self, name: str) -> int:
        """The whole number from 0 of this name."""
        found = self.value.get(name)
        if not isinstance(found, int) or isinstance(found, bool) or found < 0:
            raise ValueError(f"{self.path}/{name} must be a count")
        return found

    def require_same(self, name: str, proven: str) -> None:
        """A copy may be left out, and may not say anything else."""
        if self.value.get(name, proven) != proven:
            raise ValueError(f"{self.path}/{name} is not {proven!r}, which the bundle says elsewhere")

    def strings(self, name: str) -> list[str]:
        """The list of strings of this name."""
        found = self.value.get(name)
        if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
            raise ValueError(f"{self.path}/{name} must be a list of strings")
        return found


def decode_base64(text: str, where: str) -> bytes:
    """Bytes in standard base64."""
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise ValueError(f"{where} is not base64") from None


def parse_nonce(text: str, where: str) -> bytes:
    """The nonce of a log entry."""
    if not re.fullmatch(f"[0-9a-f]{{{2 * NONCE_BYTES}}}", text):
        raise ValueError(f"{where} must be {NONCE_BYTES} bytes in lowercase hexadecimal")
    return bytes.fromhex(text)


def parse_sha256(text: str) -> bytes:
    """A hash as the log writes it."""
    if not re.fullmatch("sha256:[0-9a-f]{64}", text):
        raise ValueError(f"{text[:80]!r} is not of the form sha256:<hex>")
    return bytes.fromhex(text.removeprefix("sha256:"))
