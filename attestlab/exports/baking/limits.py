"""Bounds on baked pictures, which come from strangers. Each is checked before anything larger is read or kept.

No reader here decodes a pixel or decompresses a byte, so the bounds on bytes bound time and memory, too.
"""

from __future__ import annotations

from typing import Final

from attestlab.core.errors import ValidationFailed

MAX_PICTURE_BYTES: Final = 768_000  # as base64url, the longest that fits the body of a request
MAX_PIXELS: Final = 25_000_000
MAX_CHUNKS: Final = 4_096
MAX_CREDENTIAL_BYTES: Final = 262_144
MAX_SVG_ELEMENTS: Final = 5_000
MAX_SVG_EQUALS_SIGNS: Final = 10_000  # a bound on the attributes, which the parser collects without a pause
MAX_SVG_DEPTH: Final = 64

FIELD: Final = "/content_b64url"
NO_CREDENTIAL: Final = (
    "The picture holds no Open Badge. Many programs drop it when they save a picture; ask for the original file."
)
SEVERAL_CREDENTIALS: Final = (
    "The picture holds more than one Open Badge; Open Badges 3.0 allows one. Export the badge again."
)
JSON_CREDENTIAL: Final = (
    "The picture holds an Open Badge as JSON with an embedded proof. Only badges that are a compact JWT can be "
    "verified here. Verify it with its issuer."
)


def refuse(message: str) -> ValidationFailed:
    """Create the error for a picture that cannot be used."""
    return ValidationFailed.of(FIELD, "badge_picture", message)


def exceed(noun: str, value: int, limit: int) -> ValidationFailed:
    """Create the error for a picture that has more of something than is read."""
    return refuse(f"The picture has {value:,} {noun}; at most {limit:,} are read. Export the badge again.")


def require_picture_size(picture: bytes) -> None:
    """Require that a picture has at most `MAX_PICTURE_BYTES`.

    Raises:
        ValidationFailed: it has more.
    """
    if len(picture) > MAX_PICTURE_BYTES:
        raise exceed("bytes", len(picture), MAX_PICTURE_BYTES)


def require_credential(credential: str) -> str:
    """Require that a picture's credential is a compact JWT of bounded length; return it.

    Raises:
        ValidationFailed: it is JSON, empty or too long.
    """
    if len(credential) > MAX_CREDENTIAL_BYTES:
        raise exceed("characters in its Open Badge", len(credential), MAX_CREDENTIAL_BYTES)
    if credential.lstrip().startswith("{"):
        raise refuse(JSON_CREDENTIAL)
    if not credential.strip():
        raise refuse(NO_CREDENTIAL)
    return credential.strip()
