"""Reader of GIF blocks (GIF89a): comments, XMP, size."""

from __future__ import annotations

import struct

from attestlab.risk.media.containers.metadata import ContainerMetadata
from attestlab.risk.media.limits import MAX_BLOCKS, Budget

SIGNATURES = (b"GIF87a", b"GIF89a")
XMP_APPLICATION = b"XMP DataXMP"
_XMP_TRAILER_BYTES = 257  # 0x01, then 0xFF down to 0x00, so that readers of blocks find the end (XMP, part 3)
_DESCRIPTOR_BYTES = 13
_IMAGE_DESCRIPTOR_BYTES = 10
_EXTENSION, _IMAGE, _TRAILER = 0x21, 0x2C, 0x3B
_COMMENT, _APPLICATION = 0xFE, 0xFF


def read_gif(content: bytes, metadata: ContainerMetadata) -> None:
    """Read the blocks of a GIF up to its trailer."""
    if len(content) < _DESCRIPTOR_BYTES:
        metadata.is_truncated = True
        return
    metadata.set_size(*struct.unpack_from("<HH", content, 6))
    blocks = Budget("data blocks", MAX_BLOCKS, "Save the animation again with a usual program.")
    position = _DESCRIPTOR_BYTES + _color_table_bytes(content[10])
    while position + 1 < len(content) and content[position] != _TRAILER:
        metadata.parts.take()
        start = position
        position = _skip_to_data(content, position)
        end = _skip_blocks(content, position, blocks)
        if content[start] == _EXTENSION:
            _read_extension(content[start + 1], content[position:end], metadata)
        position = end
    metadata.is_truncated = content[position : position + 1] != bytes([_TRAILER])
    metadata.end = None if metadata.is_truncated else position + 1


def _color_table_bytes(flags: int) -> int:
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _skip_to_data(content: bytes, position: int) -> int:
    """Return where the data blocks of an extension or an image begin; the end of the file for anything else."""
    if content[position] == _EXTENSION:
        return position + 2
    flags = position + _IMAGE_DESCRIPTOR_BYTES - 1
    if content[position] != _IMAGE or flags >= len(content):
        return len(content)
    return position + _IMAGE_DESCRIPTOR_BYTES + _color_table_bytes(content[flags]) + 1  # one byte: LZW code size


def _skip_blocks(content: bytes, position: int, blocks: Budget) -> int:
    """Return the position behind the block of length zero that ends a sequence of blocks."""
    while position < len(content) and content[position]:
        blocks.take()
        position += 1 + content[position]
    return min(position + 1, len(content))


def _read_extension(label: int, data: bytes, metadata: ContainerMetadata) -> None:
    if label == _COMMENT:
        metadata.add_text("GIF comment", "Comment", _join_blocks(data), "utf-8")
    elif label == _APPLICATION and data[1:12] == XMP_APPLICATION:
        metadata.add_xmp(data[12 : -_XMP_TRAILER_BYTES - 1])


def _join_blocks(data: bytes) -> bytes:
    joined, position = bytearray(), 0
    while position < len(data) and data[position]:
        joined += data[position + 1 : position + 1 + data[position]]
        position += 1 + data[position]
    return bytes(joined)
