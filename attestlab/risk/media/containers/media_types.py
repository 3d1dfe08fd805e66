"""The media types that the scan reads, detected from the bytes and never from the declaration."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from attestlab.core import png_chunks
from attestlab.core.errors import UnsupportedMediaType
from attestlab.risk.media.containers.isobmff import read_isobmff
from attestlab.risk.media.containers.metadata import CONTENT, ContainerMetadata
from attestlab.risk.media.containers.pictures import GIF_SIGNATURES, read_gif, read_jpeg, read_png, read_webp
from attestlab.risk.media.containers.tiff import SIGNATURES as TIFF_SIGNATURES
from attestlab.risk.media.containers.tiff import read_tiff

JPEG = "image/jpeg"
_HEIF_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_AVIF_BRANDS = frozenset({b"avif", b"avis"})
_ALIASES = {
    "image/jpg": JPEG,
    "image/pjpeg": JPEG,
    "image/x-png": "image/png",
    "image/apng": "image/png",
    "image/heif": "image/heic",
    "image/heif-sequence": "image/heic",
    "image/heic-sequence": "image/heic",
    "image/tif": "image/tiff",
    "video/quicktime": "video/mp4",
    "video/x-m4v": "video/mp4",
    "application/mp4": "video/mp4",
    "audio/mp4": "video/mp4",
}
UNREAD_PARTS = {
    "video/mp4": (("tracks", "pictures and sound of a film are not read"),),
    "image/heic": (("exif", "EXIF of HEIF is not read"),),
    "image/avif": (("exif", "EXIF of AVIF is not read"),),
}
"""What the readers leave out of a type, with the reason."""
_UNSPECIFIC = frozenset({"", "application/octet-stream", "binary/octet-stream"})


class MediaType(NamedTuple):
    """A media type and the reader of its container."""

    name: str
    read: Callable[[bytes, ContainerMetadata], None]


def detect_media_type(content: bytes) -> MediaType:
    """Detect the type of a picture or film from its first bytes.

    Raises:
        UnsupportedMediaType: it is none that the scan reads.
    """
    if content.startswith(png_chunks.SIGNATURE):
        return MediaType("image/png", read_png)
    if content.startswith(b"\xff\xd8\xff"):
        return MediaType(JPEG, read_jpeg)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return MediaType("image/webp", read_webp)
    if content.startswith(GIF_SIGNATURES):
        return MediaType("image/gif", read_gif)
    if content.startswith(TIFF_SIGNATURES):
        return MediaType("image/tiff", _read_tiff_file)
    if content[4:8] == b"ftyp":
        return MediaType(_name_of_brand(content[8:12]), read_isobmff)
    raise UnsupportedMediaType.of(
        CONTENT,
        "media_type",
        f"The content begins with {content[:8].hex() or 'nothing'}. The scan reads JPEG, PNG, WebP, GIF, TIFF, HEIF, "
        "AVIF, MP4 and QuickTime. Convert it, or send `indicators` alone.",
    )


def _read_tiff_file(content: bytes, metadata: ContainerMetadata) -> None:
    read_tiff(content, metadata, is_file=True)


def _name_of_brand(brand: bytes) -> str:
    if brand in _AVIF_BRANDS:
        return "image/avif"
    return "image/heic" if brand in _HEIF_BRANDS else "video/mp4"


def is_declared(name: str, content_type: str | None) -> bool:
    """Return whether a declaration agrees with the detected type; no or an unspecific declaration agrees with all."""
    declared = (content_type or "").partition(";")[0].strip().lower()
    return declared in _UNSPECIFIC or _ALIASES.get(declared, declared) == name
