"""The demo's documents: real files that any viewer opens, and the same bytes every time."""

import hashlib
import os
import re
import subprocess
import sys
from datetime import date
from io import BytesIO

import pytest
from PIL import Image

from attestlab.demos.documents import badge_png, card_png, certificate_pdf, diploma_pdf

DAY = date(2026, 5, 31)
LONG = "Industrial Safety and Emergency Response for Offshore Installations in Arctic Waters"
PDFS = [
    diploma_pdf("Ada Lovelace", "Master of Science", DAY),
    certificate_pdf("Grace Hopper", LONG, DAY, provider=LONG),
]
PNGS = [(badge_png("Ada Lovelace", LONG, DAY), (480, 480)), (card_png(LONG, LONG, "NEA-004711", DAY), (856, 540))]


@pytest.mark.parametrize("raw", PDFS)
def test_a_pdf_is_whole_and_small(raw: bytes):
    """
    A reader begins at the end: the last line but one says where the table of objects lies.
    """
    found = re.search(rb"startxref\n(\d+)\n%%EOF\s*\Z", raw)

    assert raw.startswith(b"%PDF-1.")
    assert found is not None
    assert raw[int(found[1]) :].startswith(b"xref")
    assert len(raw) < 60_000


@pytest.mark.parametrize("raw", PDFS)
def test_a_pdf_shows_one_page_in_full_colour(raw: bytes):
    picture = Image.open(BytesIO(raw[raw.index(b"\xff\xd8") : raw.rindex(b"\xff\xd9") + 2]))

    assert (picture.format, picture.mode, picture.size) == ("JPEG", "RGB", (992, 700))
    assert raw.count(b"/Type /Page\n") == 1


@pytest.mark.parametrize("raw", PDFS)
def test_a_pdf_says_nothing_of_the_time_of_day(raw: bytes):
    assert b"CreationDate" not in raw
    assert b"ModDate" not in raw


@pytest.mark.parametrize(("raw", "size"), PNGS)
def test_a_png_is_whole_and_small(raw: bytes, size: tuple[int, int]):
    Image.open(BytesIO(raw)).verify()

    assert (Image.open(BytesIO(raw)).format, Image.open(BytesIO(raw)).size) == ("PNG", size)
    assert len(raw) < 60_000


def test_another_process_makes_the_same_bytes():
    """
    A hash that a notebook quotes is the hash on every run; nothing hangs on the order of a set or on the hour.
    """
    script = (
        "import hashlib; from datetime import date; from attestlab.demos.documents import *\n"
        "day = date(2026, 5, 31)\n"
        "files = diploma_pdf('Ada', 'MSc', day) + certificate_pdf('Ada', 'Safety', day)"
        " + badge_png('Ada', 'Safety', day) + card_png('Ada', 'Society', '7', day)\n"
        "print(hashlib.sha256(files).hexdigest())"
    )
    there = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "4711", "TZ": "Pacific/Kiritimati"},
    )

    here = diploma_pdf("Ada", "MSc", DAY) + certificate_pdf("Ada", "Safety", DAY)
    here += badge_png("Ada", "Safety", DAY) + card_png("Ada", "Society", "7", DAY)
    assert there.stdout.strip() == hashlib.sha256(here).hexdigest()


def test_two_documents_differ_in_more_than_their_text():
    """
    The rosette is drawn from the text, so that even one letter is seen at a glance.
    """
    one, other = (Image.open(BytesIO(badge_png(name, "Safety", DAY))).convert("RGB") for name in ("Ada", "Adb"))
    rim = (0, 200, 60, 280)

    assert one.crop(rim).tobytes() != other.crop(rim).tobytes()


def test_a_text_that_the_font_cannot_write_is_refused():
    """
    Better no document than one with boxes for letters.
    """
    with pytest.raises(ValueError, match="ASCII"):
        diploma_pdf("Åse", "MSc", DAY)
