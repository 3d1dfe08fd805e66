"""Validation of logos: the image type is detected from the bytes, never from the client's declaration.

SVG is not accepted: it is a document that can run code, and no rule about its elements is as safe as its absence.
"""

from __future__ import annotations

from attestlab.core import png_chunks
from attestlab.core.errors import PayloadTooLarge, UnsupportedMediaType

LIMIT_BYTES = 256 * 1024
PNG, JPEG, WEBP = "image/png", "image/jpeg", "image/webp"


def detect_media_type(content: bytes) -> str:
    """Detect the media type of an image from its first bytes.

    Raises:
        PayloadTooLarge: the image has more than 256 KiB.
        UnsupportedMediaType: it is no PNG, JPEG or WebP.
    """
    if len(content) > LIMIT_BYTES:
        raise PayloadTooLarge(LIMIT_BYTES, "payload")
    if content.startswith(png_chunks.SIGNATURE):
        return PNG
    if content.startswith(b"\xff\xd8\xff"):
        return JPEG
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    raise UnsupportedMediaType.of(
        "/content_b64url", "image", "A logo is a PNG, JPEG or WebP image. Convert an SVG or GIF to one of these."
    )
