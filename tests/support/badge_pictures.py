"""Pictures of badges for tests, read by programs of others: Pillow for PNG, ElementTree for SVG."""

from __future__ import annotations

import io
import struct
import zlib
from xml.etree import ElementTree

from PIL import Image, PngImagePlugin

KEYWORD = "openbadgecredential"
CREDENTIAL = "{https://purl.imsglobal.org/ob/v3p0}credential"
SVG = "{http://www.w3.org/2000/svg}"
TOKEN = "eyJhbGciOiJFZERTQSJ9.eyJ0eXBlIjpbXX0.AAAA"


def make_png(size: tuple[int, int] = (8, 8), **texts: str) -> bytes:
    """Make a small PNG, as Pillow writes it, with texts of others."""
    info = PngImagePlugin.PngInfo()
    for name, text in texts.items():
        info.add_itxt(name, text)
    written = io.BytesIO()
    Image.new("RGB", size, "white").save(written, "PNG", pnginfo=info)
    return written.getvalue()


def read_png_texts(picture: bytes) -> dict[str, str]:
    """The texts of a PNG, whose pixels and checksums Pillow verifies as well."""
    with Image.open(io.BytesIO(picture)) as image:
        image.load()
        assert isinstance(image, PngImagePlugin.PngImageFile)
        return {name: str(text) for name, text in image.text.items()}


def read_svg_credentials(picture: bytes) -> list[str | None]:
    """The credentials of an SVG."""
    return [element.get("verify") for element in ElementTree.fromstring(picture).iter(CREDENTIAL)]


def make_chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG with its checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def insert_chunks(picture: bytes, *chunks: bytes) -> bytes:
    """A PNG with chunks after its header, which has 25 bytes after the signature's 8."""
    return picture[:33] + b"".join(chunks) + picture[33:]


def make_text_chunk(text: bytes, *, is_compressed: bool = False) -> bytes:
    """The chunk of a credential."""
    flag = b"\1" if is_compressed else b"\0"
    return make_chunk(b"iTXt", KEYWORD.encode() + b"\0" + flag + b"\0\0\0" + text)
