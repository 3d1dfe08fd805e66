"""Hostile files, scanned in a child process: each gets a result or a refusal in time, and the next scan runs."""

from __future__ import annotations

import asyncio
import struct
import zlib
from collections.abc import Callable, Iterator

import pytest

from attestlab.core.errors import PayloadTooLarge, ValidationFailed
from attestlab.risk.media import MediaAssessment, MediaScanner
from attestlab.risk.media.containers.metadata import MAX_MEDIA_BYTES
from support.pictures import (
    assemble_png,
    box,
    chunk,
    insert_segment,
    make_gif,
    make_jpeg,
    make_mp4,
    make_png,
    make_webp,
    make_xmp,
)

JPEG = make_jpeg()
XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"
FTYP = make_mp4()[:24]


@pytest.fixture(scope="module")
def scanner() -> Iterator[MediaScanner]:
    made = MediaScanner()
    yield made
    made.close()


@pytest.fixture
def scan(scanner: MediaScanner) -> Callable[[bytes], MediaAssessment]:
    """Scan as a request does: what takes more than SCAN_TIMEOUT_S of processor time is refused with another message."""
    return scanner.scan_blocking


def compressed_text(size: int) -> bytes:
    return chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(size)))


def with_xmp(packet: bytes) -> bytes:
    return assemble_png(chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + packet))


def exif_with_entries(count: int) -> bytes:
    entries = b"".join(struct.pack("<HHII", 0x0131, 2, 60_000, 8) for _ in range(count))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", count) + entries + bytes(60_000)


def nest_boxes(kind: bytes, depth: int) -> bytes:
    return b"".join(struct.pack(">I4s", 8 * (depth - level), kind) for level in range(depth))


EXIF_LOOP = b"II*\0\x08\0\0\0\1\0" + struct.pack("<HHII", 0x8769, 4, 1, 8) * 2
LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + each, b"&%c;" % (97 + each) * 10) for each in range(9))
    + b"]><x>&j;</x>"
)

REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {  # made when asked for: together 200 MB, and seconds
    "pixels": (lambda: assemble_png(width=60_000, height=60_000), "3,600,000,000 pixels; .* at most 250,000,000"),
    "pixels of a JPEG": (lambda: insert_segment(JPEG, 0xC0, b"\x08\xff\xff\xff\xff\x01\x01\x11\0"), "4,294,836,225"),
    "chunks": (lambda: assemble_png(chunk(b"tEXt", b"") * 100_000), "16,385 chunks, segments or boxes; .* most 16,384"),
    "segments": (lambda: b"\xff\xd8" + b"\xff\xfe\0\x03a" * 3_000_000, "16,385 chunks"),
    "boxes": (lambda: FTYP + box(b"free", b"") * 2_000_000, "16,385 chunks"),
    "boxes in a film": (lambda: FTYP + box(b"moov", box(b"free", b"") * 2_000_000), "16,385 chunks"),
    "chunks, WebP": (lambda: b"RIFF" + struct.pack("<I", 8_000_004) + b"WEBP" + b"abcd\0\0\0\0" * 1_000_000, "16,385"),
    "blocks of a GIF": (lambda: b"GIF89a\1\0\1\0\0\0\0!\xfe" + b"\1a" * 10_000_000 + b"\0;", "400,001 data blocks"),
    "a compressed text": (lambda: assemble_png(compressed_text(100 << 20)), "4,194,305 bytes of metadata"),
    "many compressed texts": (lambda: assemble_png(compressed_text(1 << 20) * 300), "bytes of metadata"),
    "an uncompressed text": (lambda: assemble_png(chunk(b"tEXt", b"a\0" + bytes(5 << 20))), "bytes of metadata"),
    "entries of EXIF": (lambda: assemble_png(chunk(b"eXIf", exif_with_entries(5_000))), "5,000 entries in a directory"),
    "XMP with entities": (lambda: with_xmp(LAUGHS), "declares a DTD or an entity"),
    "XMP with a DTD": (lambda: with_xmp(b'<!DOCTYPE x SYSTEM "http://127.0.0.1:1/x"><x/>'), "declares a DTD or an"),
    "deep XMP": (lambda: with_xmp(b"<a>" * 100_000 + b"</a>" * 100_000), "65 levels of XMP; the scan reads at most 64"),
    "wide XMP": (lambda: with_xmp(b"<a>" + b"<b/>" * 100_000 + b"</a>"), "20,001 elements of XMP"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_file_beyond_a_bound_is_refused_with_value_limit_and_remedy(scan, name: str) -> None:
    make, message = REFUSED[name]

    with pytest.raises(ValidationFailed, match=message) as raised:
        scan(make())
    assert raised.value.fields[0].field == "/content_b64url"
    assert raised.value.message.rstrip(".").split(". ")[-1].startswith(("Send", "Save", "Remove"))


READ: dict[str, Callable[[], bytes]] = {
    "truncated JPEG": lambda: JPEG[: len(JPEG) // 2],
    "start of a JPEG": lambda: JPEG[:3],
    "JPEG of fill bytes": lambda: JPEG[:2] + b"\xff" * 4_000_000,
    "JPEG of scans": lambda: JPEG[:-2] + JPEG[JPEG.index(b"\xff\xda") : -2] * 200 + JPEG[-2:],
    "truncated PNG": lambda: make_png({"a": "b"})[:90],
    "ten thousand chunks": lambda: assemble_png(chunk(b"tEXt", b"a\0b") * 10_000),
    "chunk longer than the file": lambda: assemble_png(struct.pack(">I4s", 0xFFFFFFFF, b"tEXt")),
    "damaged compressed text": lambda: assemble_png(chunk(b"zTXt", b"a\0\0" + b"\x78\x9c\xff\xff")),
    "time that is none": lambda: assemble_png(chunk(b"tIME", b"\0\0\x63\x63\x63\x63\x63")),
    "XMP that is no XML": lambda: with_xmp(b"<a><b></a>"),
    "XMP in an unknown encoding": lambda: with_xmp(b'<?xml version="1.0" encoding="klingon"?><a/>'),
    "XMP that is cut": lambda: with_xmp(make_xmp("<rdf:Description/>")[:200]),
    "endless box": lambda: FTYP + struct.pack(">I4sQ", 1, b"moov", 0xFFFFFFFFFFFFFFFF),
    "box of length 7": lambda: FTYP + struct.pack(">I4s", 7, b"moov"),
    "box of 64 bits that goes back": lambda: FTYP + struct.pack(">I4sQ", 1, b"moov", 3),
    "nested boxes": lambda: FTYP + nest_boxes(b"moov", 5_000),
    "film of the year 586 billion": lambda: make_mp4()[:36] + b"\1\0\0\0" + b"\xff" * 8 + make_mp4()[48:],
    "film header cut": lambda: FTYP + box(b"moov", box(b"mvhd", b"\1")),
    "GIF cut in its head": lambda: make_gif()[:9],
    "GIF cut in a block": lambda: make_gif(comment=b"x" * 400)[:-60],
    "WebP that states more": lambda: make_webp()[:60],
    "EXIF that points to itself": lambda: assemble_png(chunk(b"eXIf", EXIF_LOOP)),
    "EXIF that points out": lambda: assemble_png(chunk(b"eXIf", b"MM\0*\xff\xff\xff\xff")),
    "manifest of nothing": lambda: assemble_png(chunk(b"caBX", box(b"jumb", b"c2pa" + b"\xff" * 4_084))),
    "deep manifest": lambda: assemble_png(chunk(b"caBX", nest_boxes(b"jumb", 20_000))),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_damaged_file_gets_a_result(scan, name: str) -> None:
    assessment = scan(READ[name]())

    assert assessment.score <= 10, assessment.factors
    assert sum(factor.contribution for factor in assessment.factors) == assessment.score


@pytest.mark.parametrize(
    ("appended", "expected"),
    [
        (b"PK\x03\x04" + bytes(40), "ZIP"),
        (b"anything PK\x05\x06" + bytes(18), "ZIP"),
        (b"\n%PDF-1.7", "PDF"),
        (b"<HTML><script>", "HTML"),
        (b"\x7fELF" + bytes(64), "ELF"),
        (bytes(4_000), None),
        (JPEG, None),
        (make_mp4(), None),
    ],
)
@pytest.mark.parametrize("picture", [JPEG, make_png(), make_webp(), make_gif()], ids=["jpeg", "png", "webp", "gif"])
def test_data_of_another_format_behind_a_picture_is_a_factor(picture, appended, expected, scan) -> None:
    assert [factor.value for factor in scan(picture + appended).factors] == ([expected] if expected else [])


def test_large_film_is_scanned_within_the_limits(scan) -> None:
    padding = MAX_MEDIA_BYTES - len(make_mp4()) - 8

    assert scan(make_mp4() + box(b"mdat", bytes(padding))).score == 0


def test_content_beyond_the_limit_is_not_sent_to_a_child(scanner: MediaScanner) -> None:
    with pytest.raises(PayloadTooLarge):
        scanner.scan_blocking(bytes(MAX_MEDIA_BYTES + 1))


def test_scan_on_an_event_loop(scanner: MediaScanner) -> None:
    assert asyncio.run(scanner.scan("tenant", JPEG, "image/jpeg")).score == 0


def test_largest_of_several_sizes_counts(scan) -> None:
    """A decoder may use the first size, which a later one would hide."""
    large = b"\x08\x3a\x98\x3a\x98\x01\x01\x11\0"  # 15,000 x 15,000

    assessment = scan(insert_segment(JPEG, 0xC0, large))
    assert assessment.details["observed"]["pixels"] == [15_000, 15_000]
    assert [each["part"] for each in assessment.details["not_examined"]] == ["times", "recompression"]
