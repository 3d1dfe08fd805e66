"""Pictures that must not be accused: what cameras, phones, editors, messengers and programs for documents write."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageDraw

from attestlab.risk.media import ScanVerdict, scan
from support.content_credentials import sign_media
from support.pictures import (
    TAKEN_AT,
    draw_scene,
    make_camera_jpeg,
    make_exif,
    make_jpeg,
    make_mp4,
    make_png,
    make_source_type_xmp,
    make_tiff,
    make_xmp,
    resave,
)

PHOTOSHOP_XMP = make_xmp(
    '<rdf:Description xmp:CreatorTool="Adobe Photoshop 27.0"><xmpMM:History><rdf:Seq><rdf:li '
    'stEvt:softwareAgent="Adobe Photoshop 27.0 (Macintosh)"/></rdf:Seq></xmpMM:History></rdf:Description>'
)


def draw_screenshot() -> Image.Image:
    image = Image.new("RGB", (400, 300), "white")
    drawing = ImageDraw.Draw(image)
    for line in range(12):
        drawing.text((10, 10 + 22 * line), f"Line {line} of a window with text", fill="black")
    return image


def print_to_pdf_and_back(image: Image.Image) -> bytes:
    """Save a picture in a PDF, which stores it as a JPEG, and take that JPEG out again."""
    file = io.BytesIO()
    image.save(file, "PDF", producer="Acrobat")
    content = file.getvalue()
    start = content.index(b"\xff\xd8\xff")
    return content[start : content.index(b"endstream", start)].rstrip()


def scale(content: bytes) -> bytes:
    with Image.open(io.BytesIO(content)) as image:
        return make_jpeg(image.resize((288, 240), Image.Resampling.LANCZOS), quality=80)


PICTURES = {
    "camera": make_camera_jpeg(software="Firmware 2.1"),
    "camera that signs": sign_media(make_camera_jpeg()),
    "phone": make_camera_jpeg(software="HDR+ 1.0.7", quality=92, subsampling=2),
    "phone, motion photo": make_camera_jpeg() + make_mp4(TAKEN_AT),
    "phone, several pictures in one": make_camera_jpeg() + make_camera_jpeg(quality=70),
    "phone, computed exposure": make_jpeg(xmp=make_source_type_xmp("computationalCapture")),
    "editor's re-save": resave(make_camera_jpeg(quality=75), quality=92, xmp=PHOTOSHOP_XMP),
    "editor's re-save, progressive": resave(make_camera_jpeg(quality=80), quality=95, progressive=True),
    "messenger": scale(make_camera_jpeg()),
    "messenger, twice": resave(scale(make_camera_jpeg()), quality=70),
    "metadata removed": make_jpeg(quality=85),
    "screenshot": make_png({"Software": "gnome-screenshot"}),
    "screenshot as JPEG": make_jpeg(draw_screenshot(), exif=make_exif(user_comment=b"ASCII\0\0\0Screenshot")),
    "exported from a PDF": print_to_pdf_and_back(draw_scene()),
    "exported from a PDF, saved again": resave(print_to_pdf_and_back(draw_scene()), quality=95),
    "scanner": make_tiff(software="ScanGear"),
    "size that generators like": make_jpeg(draw_scene(size=(512, 512))),
    "drawn by a person": make_jpeg(xmp=make_source_type_xmp("digitalCreation")),
    "film": make_mp4(TAKEN_AT),
}


@pytest.mark.parametrize("name", PICTURES)
def test_ordinary_picture_is_clean(name: str) -> None:
    assessment = scan(PICTURES[name], None, None, claimed_at=TAKEN_AT)

    assert assessment.score <= 15, assessment.factors
    assert assessment.verdict is ScanVerdict.CLEAN
