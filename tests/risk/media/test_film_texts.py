"""Texts of films, and comments of EXIF in either byte order: what generators write there is found."""

from __future__ import annotations

import json
import struct

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.risk.media import scan
from support.pictures import box, make_jpeg, make_mp4

STEPS = "a lighthouse\nSteps: 24, Sampler: Euler a, Seed: 12"
PROMPT = json.dumps({"3": {"class_type": "KSampler", "inputs": {"seed": 1}}})
WORKFLOW = {"nodes": [{"id": 1}], "links": []}
HANDLER = box(b"hdlr", bytes(8) + b"mdir" + bytes(13))


def make_film(*boxes: bytes) -> bytes:
    plain = make_mp4()
    return plain[:24] + box(b"moov", plain[32:140] + b"".join(boxes)) + plain[140:]


def data(text: bytes, kind: int = 1) -> bytes:
    return box(b"data", struct.pack(">II", kind, 0) + text)


def item(kind: bytes, text: str) -> bytes:
    return box(b"udta", box(b"meta", bytes(4) + HANDLER + box(b"ilst", box(kind, data(text.encode())))))


def keyed(*names: bytes, texts: list[bytes], version: bytes = bytes(4)) -> bytes:
    keys = box(b"keys", struct.pack(">II", 0, len(names)) + b"".join(box(b"mdta", name) for name in names))
    items = b"".join(box(struct.pack(">I", number), data(text)) for number, text in enumerate(texts, 1))
    return box(b"meta", version + HANDLER + keys + box(b"ilst", items))


def free_form(name: bytes, text: str) -> bytes:
    parts = box(b"mean", bytes(4) + b"com.apple.iTunes") + box(b"name", bytes(4) + name) + data(text.encode())
    return box(b"udta", box(b"meta", bytes(4) + HANDLER + box(b"ilst", box(b"----", parts))))


BOTH = [PROMPT.encode(), json.dumps(WORKFLOW).encode()]
FILMS = {
    "comment of texts": item(b"\xa9cmt", json.dumps({"prompt": PROMPT, "workflow": json.dumps(WORKFLOW)})),
    "comment of objects": item(b"\xa9cmt", json.dumps({"workflow": WORKFLOW})),
    "comment of parameters": item(b"\xa9cmt", STEPS),
    "description": item(b"desc", STEPS),
    "keys": box(b"udta", keyed(b"prompt", b"workflow", texts=BOTH)),
    "keys of the film": keyed(b"title", b"workflow", texts=BOTH),
    "keys in QuickTime's form": keyed(b"prompt", texts=BOTH, version=b""),
    "key of a comment": keyed(b"com.apple.quicktime.comment", texts=[STEPS.encode()]),
    "key of a program": keyed(b"com.apple.quicktime.software", texts=[b"ComfyUI 0.3"]),
    "free form": free_form(b"workflow", json.dumps(WORKFLOW)),
    "text of QuickTime": box(b"udta", box(b"\xa9swr", struct.pack(">HH", 7, 0) + b"ComfyUI")),
    "text of a track": box(b"trak", item(b"\xa9too", "ComfyUI")),
    "UTF-16": box(
        b"udta", box(b"meta", bytes(4) + HANDLER + box(b"ilst", box(b"\xa9cmt", data(STEPS.encode("utf-16-be"), 2))))
    ),
}


@pytest.mark.parametrize("film", FILMS)
def test_generators_marks_in_the_texts_of_a_film_are_found(film: str) -> None:
    assessment = scan(make_film(FILMS[film]))

    assert assessment.score == 80
    assert "MP4" in str(assessment.factors[0].value)


@pytest.mark.parametrize(
    "boxes",
    [
        item(b"\xa9cmt", "a day at the sea"),
        item(b"\xa9too", "Lavf61.1.100"),
        item(b"\xa9cmt", '{"prompt": "a cat"}'),
        item(b"\xa9cmt", "{" * 100_000),
        item(b"\xa9cmt", '{"prompt":' + "[" * 600 + "]" * 600 + "}"),
        keyed(b"prompt", texts=[]),
        box(b"meta", b""),
        box(b"udta", box(b"\xa9cmt", b"\xff")),
        box(b"udta", box(b"meta", bytes(4) + HANDLER + box(b"ilst", box(b"covr", data(bytes(900), 13))))),
    ],
    ids=str,
)
def test_ordinary_and_damaged_texts_of_a_film_are_no_marks(boxes: bytes) -> None:
    assert scan(make_film(boxes)).score == 0


def test_texts_of_a_film_have_the_bounds_of_metadata() -> None:
    with pytest.raises(ValidationFailed, match="bytes of metadata; the scan reads at most 4,194,304"):
        scan(make_film(item(b"\xa9cmt", "a" * (5 << 20))))


def test_a_scan_of_a_film_names_what_it_does_not_read() -> None:
    parts = {each["part"]: each["reason"] for each in scan(make_film()).details["not_examined"]}  # type: ignore[attr-defined]

    assert parts["tracks"] == "pictures and sound of a film are not read"


def make_jpeg_with_comment(order: bytes, comment: bytes) -> bytes:
    end = "<" if order == b"II" else ">"
    exif = order + struct.pack(end + "HI", 42, 8) + struct.pack(end + "HHHIII", 1, 0x8769, 4, 1, 26, 0)
    exif += struct.pack(end + "HHHIII", 1, 0x9286, 7, len(comment), 44, 0) + comment
    plain = make_jpeg()
    return plain[:2] + b"\xff\xe1" + struct.pack(">H", len(exif) + 8) + b"Exif\0\0" + exif + plain[2:]


@pytest.mark.parametrize("order", [b"II", b"MM"])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_a_comment_of_exif_is_read_in_either_byte_order(order: bytes, encoding: str) -> None:
    assert scan(make_jpeg_with_comment(order, b"UNICODE\0" + STEPS.encode(encoding))).score == 80


def test_a_comment_of_exif_with_a_big_endian_mark_is_read() -> None:
    comment = b"UNICODE\0" + b"\xfe\xff" + STEPS.encode("utf-16-be")

    assert scan(make_jpeg_with_comment(b"II", comment)).score == 80
