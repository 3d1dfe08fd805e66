"""Pictures and films for the media scan, drawn from a seed, and parts of files that no usual program writes."""

from __future__ import annotations

import io
import struct
import zlib
from datetime import UTC, datetime
from functools import cache

import numpy as np
from PIL import Image, PngImagePlugin

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
IPTC = "http://cv.iptc.org/newscodes/digitalsourcetype/"
TAKEN_AT = datetime(2026, 5, 4, 10, 30, tzinfo=UTC)
EXIF_TAKEN_AT = TAKEN_AT.strftime("%Y:%m:%d %H:%M:%S")


@cache
def draw_scene(seed: int = 1, size: tuple[int, int] = (384, 320)) -> Image.Image:
    """Draw something with the statistics of a photograph: large and small shapes, and the noise of a sensor."""
    rng = np.random.default_rng(seed)
    width, height = size
    scene = np.zeros((height, width, 3))
    for cells, strength in ((3, 60), (8, 40), (24, 25), (70, 14)):
        grid = rng.normal(0, strength, (cells, cells, 3)).clip(-120, 120) + 128
        small = Image.fromarray(grid.clip(0, 255).astype(np.uint8))
        scene += np.asarray(small.resize(size, Image.Resampling.BICUBIC), dtype=float) - 128
    scene += rng.normal(0, 4, scene.shape)
    return Image.fromarray((scene + 128).clip(0, 255).astype(np.uint8))


def make_jpeg(image: Image.Image | None = None, *, quality: int = 92, **options: object) -> bytes:
    return _save(image or draw_scene(), "JPEG", quality=quality, **options)


def make_camera_jpeg(*, software: str = "1.0", quality: int = 95, **options: object) -> bytes:
    """Make what a phone writes: one compression, make, model, and the time at which it was taken."""
    exif = make_exif(Make="Example", Model="Phone 9", Software=software, DateTime=EXIF_TAKEN_AT, taken=EXIF_TAKEN_AT)
    return make_jpeg(quality=quality, exif=exif, **options)


def resave(content: bytes, *, quality: int, **options: object) -> bytes:
    """Decode a picture and save it as JPEG, as editors and messengers do."""
    with Image.open(io.BytesIO(content)) as image:
        return make_jpeg(image.convert("RGB"), quality=quality, exif=image.info.get("exif", b""), **options)


def make_exif(*, taken: str | None = None, user_comment: bytes | None = None, **tags: str) -> Image.Exif:
    """Make EXIF metadata with tags of the first directory, by name, and of the EXIF directory."""
    from PIL import ExifTags

    exif = Image.Exif()
    for name, value in tags.items():
        exif[ExifTags.Base[name].value] = value
    inner = exif.get_ifd(ExifTags.IFD.Exif)
    if taken:
        inner[ExifTags.Base.DateTimeOriginal.value] = taken
    if user_comment is not None:
        inner[ExifTags.Base.UserComment.value] = user_comment
    return exif


def make_xmp(description: str) -> bytes:
    """Make an XMP packet around attributes and elements of `rdf:Description`."""
    namespaces = {
        "Iptc4xmpExt": "http://iptc.org/std/Iptc4xmpExt/2008-02-29/",
        "photoshop": "http://ns.adobe.com/photoshop/1.0/",
        "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "stEvt": "http://ns.adobe.com/xap/1.0/sType/ResourceEvent#",
        "tiff": "http://ns.adobe.com/tiff/1.0/",
        "xmp": "http://ns.adobe.com/xap/1.0/",
        "xmpMM": "http://ns.adobe.com/xap/1.0/mm/",
    }
    declared = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in namespaces.items())
    return (
        '<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/">'
        f"<rdf:RDF {declared}>{description}</rdf:RDF></x:xmpmeta>"
        '<?xpacket end="w"?>'
    ).encode()


def make_source_type_xmp(term: str) -> bytes:
    return make_xmp(f'<rdf:Description Iptc4xmpExt:DigitalSourceType="{IPTC}{term}"/>')


def make_png(texts: dict[str, str] | None = None, *, compress: bool = False, **options: object) -> bytes:
    info = PngImagePlugin.PngInfo()
    for name, text in (texts or {}).items():
        info.add_text(name, text, zip=compress)
    return _save(draw_scene(size=(96, 64)), "PNG", pnginfo=info, **options)


def make_webp(**options: object) -> bytes:
    return _save(draw_scene(size=(96, 64)), "WEBP", **options)


def make_gif(*, comment: bytes = b"") -> bytes:
    return _save(draw_scene(size=(96, 64)), "GIF", comment=comment)


def make_avif() -> bytes:
    return _save(draw_scene(size=(96, 64)), "AVIF")


def insert_xmp_into_gif(gif: bytes, packet: bytes) -> bytes:
    """Insert XMP before the trailer, with the bytes that lead a reader of blocks to its end (XMP, part 3)."""
    trailer = b"\1" + bytes(range(255, -1, -1)) + b"\0"
    return gif[:-1] + b"!\xff\x0bXMP DataXMP" + packet + trailer + gif[-1:]


def make_tiff(**options: object) -> bytes:
    return _save(draw_scene(size=(96, 64)), "TIFF", **options)


def make_mp4(created_at: datetime | None = None, *, version: int = 0) -> bytes:
    """Make the boxes of a film without a track."""
    seconds = int((created_at - datetime(1904, 1, 1, tzinfo=UTC)).total_seconds()) if created_at else 0
    times = struct.pack(">QQIQ" if version else ">IIII", seconds, seconds, 1000, 0)
    header = bytes([version, 0, 0, 0]) + times + bytes(80)
    return box(b"ftyp", b"isom\0\0\0\0isommp41") + box(b"moov", box(b"mvhd", header)) + box(b"mdat", bytes(64))


def box(kind: bytes, payload: bytes) -> bytes:
    return struct.pack(">I4s", 8 + len(payload), kind) + payload


def chunk(kind: bytes, data: bytes) -> bytes:
    """Make a PNG chunk."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def assemble_png(*chunks: bytes, width: int = 8, height: int = 8) -> bytes:
    """Assemble a PNG from a head of any size and these chunks, without pixels of that size."""
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress(bytes(72)))
    return PNG_SIGNATURE + head + b"".join(chunks) + pixels + chunk(b"IEND", b"")


def insert_segment(jpeg: bytes, marker: int, data: bytes) -> bytes:
    """Insert a JPEG segment behind the start marker."""
    return jpeg[:2] + bytes([0xFF, marker]) + struct.pack(">H", 2 + len(data)) + data + jpeg[2:]


def _save(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()
