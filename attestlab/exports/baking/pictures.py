"""Baked pictures of either format, which their first bytes distinguish."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from attestlab.core.png_chunks import SIGNATURE
from attestlab.exports.baking.limits import MAX_CREDENTIAL_BYTES, refuse
from attestlab.exports.baking.png import bake_png, read_png_credential
from attestlab.exports.baking.svg import bake_svg, read_svg_credential

_BOM: Final = b"\xef\xbb\xbf"
_JWT: Final = b"eyJ"  # base64url of `{"`


class PictureFormat(StrEnum):
    """The formats into which Open Badges 3.0 bakes a badge."""

    PNG = "png"
    SVG = "svg"

    @property
    def media_type(self) -> str:
        """The media type of a picture of this format."""
        return "image/png" if self is PictureFormat.PNG else "image/svg+xml"


def detect_format(content: bytes) -> PictureFormat | None:
    """Detect the format of a picture; None if the bytes begin neither like a PNG nor like XML.

    >>> detect_format(b"<svg/>"), detect_format(b'{"attestation": {}}')
    (<PictureFormat.SVG: 'svg'>, None)
    """
    if content.startswith(SIGNATURE):
        return PictureFormat.PNG
    if content.removeprefix(_BOM).lstrip().startswith(b"<"):
        return PictureFormat.SVG
    return None


def find_credential(content: bytes) -> str | None:
    """Find the credential in a file that is a baked picture or the JWT alone; None if it is neither.

    Raises:
        ValidationFailed: it is a picture, and `read_credential` refuses it.
    """
    if detect_format(content) is not None:
        return read_credential(content)
    if content.startswith(_JWT) and len(content) <= MAX_CREDENTIAL_BYTES:
        return content.decode("ascii", "replace").strip()
    return None


def bake(picture: bytes, credential: str) -> bytes:
    """Put a credential, a compact JWT, into a picture, in place of those that it holds.

    Raises:
        ValidationFailed: it is no PNG or SVG, or one that cannot be read within the limits.
    """
    return (
        bake_png(picture, credential)
        if _require_format(picture) is PictureFormat.PNG
        else bake_svg(picture, credential)
    )


def read_credential(picture: bytes) -> str:
    """Read the credential, a compact JWT, out of a baked picture.

    Raises:
        ValidationFailed: it is no PNG or SVG, one that cannot be read within the limits, or holds not one credential.
    """
    if _require_format(picture) is PictureFormat.PNG:
        return read_png_credential(picture)
    return read_svg_credential(picture)


def _require_format(picture: bytes) -> PictureFormat:
    found = detect_format(picture)
    if found is None:
        raise refuse("The file is neither PNG nor SVG, the formats of baked Open Badges. Send the file as exported.")
    return found
