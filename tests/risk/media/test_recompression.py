"""Traces of an earlier JPEG compression: found in pictures of many seeds, absent in pictures saved once."""

from __future__ import annotations

import io
import struct

import pytest
from PIL import Image

from attestlab.risk.media.recompression import MAX_DECODED_PIXELS, find_recompression
from support.pictures import draw_scene, insert_segment, make_jpeg, make_png, resave

SIZE = (384, 320)


@pytest.mark.parametrize("seed", range(11, 15))
@pytest.mark.parametrize(("first", "second"), [(60, 90), (75, 92), (80, 95)])
def test_picture_saved_twice_with_rising_quality_has_the_trace(first: int, second: int, seed: int) -> None:
    twice = resave(make_jpeg(draw_scene(seed), quality=first), quality=second)

    assert find_recompression(twice, SIZE, 1).is_found


@pytest.mark.parametrize("seed", range(21, 25))
@pytest.mark.parametrize("quality", [60, 80, 92, 98])
def test_picture_saved_once_has_no_trace(quality: int, seed: int) -> None:
    assert not find_recompression(make_jpeg(draw_scene(seed), quality=quality), SIZE, 1).is_found


def test_picture_cut_off_the_grid_has_no_trace() -> None:
    """A limit: a forger who crops by a few pixels first removes the trace."""
    with Image.open(io.BytesIO(make_jpeg(quality=60))) as image:
        cropped = image.convert("RGB").crop((3, 5, 371, 309))

    assert not find_recompression(make_jpeg(cropped, quality=92), cropped.size, 1).is_found


@pytest.mark.parametrize("options", [{"progressive": True}, {"subsampling": 0}, {"optimize": True}])
def test_encoding_does_not_matter(options: dict) -> None:
    twice = resave(make_jpeg(quality=60), quality=90, **options)

    assert find_recompression(twice, SIZE, 1).is_found


def test_metadata_of_the_picture_is_not_parsed_again() -> None:
    """Pillow reads EXIF when it opens a JPEG; here it would warn of a value that is longer than the block."""
    exif = b"Exif\0\0II*\0\x08\0\0\0\1\0" + struct.pack("<HHII", 0x0131, 2, 60_000, 8)
    twice = resave(make_jpeg(quality=60), quality=90)
    without_jfif = twice[:2] + twice[20:]

    assert find_recompression(insert_segment(without_jfif, 0xE1, exif), SIZE, 1).is_found


def test_gray_picture_is_examined() -> None:
    gray = make_jpeg(draw_scene().convert("L"), quality=60)
    with Image.open(io.BytesIO(gray)) as image:
        assert find_recompression(make_jpeg(image, quality=90), SIZE, 1).is_found


def test_flat_picture_has_no_trace() -> None:
    trace = find_recompression(make_jpeg(Image.new("RGB", SIZE, "gray")), SIZE, 1)
    assert (trace.frequencies, trace.is_found) == (0, False)


@pytest.mark.parametrize(
    ("content", "size", "scans", "reason"),
    [
        (make_jpeg(), (100, 3000), 1, "a side has under 128 pixels"),
        (make_jpeg(), (MAX_DECODED_PIXELS, 128), 1, "over 25,000,000 pixels"),
        (make_jpeg(), (4000, 3000), 500, "over 25,000,000 pixels"),
        (make_jpeg()[:200], SIZE, 1, "cannot be decoded"),
        (make_jpeg()[:9000], SIZE, 1, "cannot be decoded"),
        (make_png(), SIZE, 1, "cannot be decoded"),
        (insert_segment(make_jpeg(), 0xDB, b"\xff"), SIZE, 1, "cannot be decoded"),
    ],
)
def test_what_cannot_be_examined_is_named(content: bytes, size: tuple[int, int], scans: int, reason: str) -> None:
    trace = find_recompression(content, size, scans)

    assert trace.reason is not None
    assert reason in trace.reason
    assert not trace.is_found
