"""Types of uploaded pictures: detected from their bytes, never from the client's declaration.

SVG is not accepted: it is a document that can run code, and no rule about its elements is as safe as its absence.
"""

from __future__ import annotations

from attestlab.core import png_chunks
from attestlab.core.errors import PayloadTooLarge, UnsupportedMediaType

PNG, JPEG, WEBP = "image/png", "image/jpeg", "image/webp"


def detect_media_type(content: bytes, *, limit_bytes: int, noun: str) -> str:
    """Detect the media type of a picture from its first bytes; `noun` is what a message calls it, such as `logo`.

    Raises:
        PayloadTooLarge: the picture has more bytes than allowed.
        UnsupportedMediaType: it is no PNG, JPEG or WebP.
    """
    if len(content) > limit_bytes:
        raise PayloadTooLarge(limit_bytes, "payload")
    if content.startswith(png_chunks.SIGNATURE):
        return PNG
    if content.startswith(b"\xff\xd8\xff"):
        return JPEG
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    message = f"A {noun} is a PNG, JPEG or WebP image. Convert an SVG or GIF to one of these."
    raise UnsupportedMediaType.of("/content_b64url", "image", message)
