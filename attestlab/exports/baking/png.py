"""Credentials in PNG: the chunk `iTXt` with the keyword `openbadgecredential`, which must not be compressed.

Open Badges 3.0, "Baked Badges"; W3C PNG, third edition, section 11.3.3.4.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

from attestlab.core.png_chunks import SIGNATURE, PngChunk, iterate_chunks
from attestlab.exports.baking.limits import (
    MAX_CHUNKS,
    MAX_CREDENTIAL_BYTES,
    MAX_PIXELS,
    NO_CREDENTIAL,
    SEVERAL_CREDENTIALS,
    exceed,
    refuse,
    require_credential,
    require_picture_size,
)

KEYWORD: Final = b"openbadgecredential"
_TEXT: Final = b"iTXt"
_HEADER_BYTES: Final = 13
# After the keyword: not compressed, method 0, no language tag, no translated keyword.
_PLAIN: Final = b"\0\0\0\0"


def bake_png(picture: bytes, credential: str) -> bytes:
    """Put a credential into a PNG, in place of those that it holds; bytes after its end are dropped.

    Raises:
        ValidationFailed: it is no PNG that can be read within the limits.
    """
    head, *rest = _read_chunks(picture)
    kept = [picture[chunk.position : chunk.end] for chunk in rest if not _is_credential(picture, chunk)]
    text = _build_chunk(_TEXT, b"%b\0%b%b" % (KEYWORD, _PLAIN, credential.encode()))
    return b"".join((picture[: head.end], text, *kept))


def read_png_credential(picture: bytes) -> str:
    """Read the credential of a PNG; pixels are not decoded.

    Raises:
        ValidationFailed: it is damaged or beyond the limits, holds no credential or several, or a compressed one.
    """
    found = [chunk for chunk in _read_chunks(picture) if _is_credential(picture, chunk)]
    if not found:
        raise refuse(NO_CREDENTIAL)
    if len(found) > 1:
        raise refuse(SEVERAL_CREDENTIALS)
    return require_credential(_read_text(picture[found[0].start : found[0].stop]))


def read_png_size(picture: bytes) -> tuple[int, int]:
    """Read width and height of a PNG in pixels.

    Raises:
        ValidationFailed: it is no PNG that can be read within the limits.
    """
    return _read_size(picture, _read_chunks(picture)[0])


def _read_chunks(picture: bytes) -> list[PngChunk]:
    """Read where the chunks are, each with its checksum verified: first IHDR, then pixels, last IEND."""
    require_picture_size(picture)
    chunks: list[PngChunk] = []
    for chunk in iterate_chunks(picture):
        chunks.append(chunk)
        if len(chunks) > MAX_CHUNKS:
            raise exceed("chunks", len(chunks), MAX_CHUNKS)
        _require_checksum(picture, chunk)
    if not picture.startswith(SIGNATURE) or not chunks or chunks[0].kind != b"IHDR":
        raise refuse("The picture is no PNG: its first bytes are not those of one. Send the file as it was exported.")
    if chunks[-1].kind != b"IEND" or not any(chunk.kind == b"IDAT" for chunk in chunks):
        raise refuse("The PNG is cut off before its end. Copy or download the whole file again.")
    _read_size(picture, chunks[0])
    return chunks


def _require_checksum(picture: bytes, chunk: PngChunk) -> None:
    stated = int.from_bytes(picture[chunk.stop : chunk.end], "big")
    if zlib.crc32(picture[chunk.position + 4 : chunk.stop]) != stated:
        name = chunk.kind.decode("latin-1")
        raise refuse(
            f"The PNG is damaged: the checksum of its chunk {name!a} at byte {chunk.position:,} is wrong. "
            "Copy or download the file again."
        )


def _read_size(picture: bytes, head: PngChunk) -> tuple[int, int]:
    if head.stop - head.start != _HEADER_BYTES:
        raise refuse(f"The PNG is damaged: its header does not have {_HEADER_BYTES} bytes. Export the badge again.")
    width, height = struct.unpack_from(">II", picture, head.start)
    if width * height > MAX_PIXELS:
        raise exceed("pixels", width * height, MAX_PIXELS)
    return width, height


def _is_credential(picture: bytes, chunk: PngChunk) -> bool:
    return chunk.kind == _TEXT and picture.startswith(KEYWORD + b"\0", chunk.start, chunk.stop)


def _read_text(data: bytes) -> str:
    """Read the text of an `iTXt` chunk, which is refused if compressed: so no bomb is ever decompressed."""
    flag = len(KEYWORD) + 1
    if data[flag : flag + 1] != b"\0":
        raise refuse("The Open Badge in the PNG is compressed, which Open Badges 3.0 forbids. Export the badge again.")
    *described, text = data[flag + 2 :].split(b"\0", 2)
    if len(text) > MAX_CREDENTIAL_BYTES:
        raise exceed("bytes in its Open Badge", len(text), MAX_CREDENTIAL_BYTES)
    try:
        return text.decode("utf-8") if len(described) == 2 else ""
    except UnicodeDecodeError:
        raise refuse("The Open Badge in the PNG is not UTF-8. Export the badge again.") from None


def _build_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
