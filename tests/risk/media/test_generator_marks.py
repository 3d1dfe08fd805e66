"""Marks of generators, written with Pillow where a usual program could write them."""

from __future__ import annotations

import io
import json
import zlib

import pytest
from PIL import Image

from attestlab.risk.media import ScanVerdict, scan
from attestlab.risk.media.generator_marks import NAME_MARKS, PARAMETER_MARKS
from support.pictures import (
    assemble_png,
    box,
    chunk,
    insert_segment,
    insert_xmp_into_gif,
    make_exif,
    make_gif,
    make_jpeg,
    make_mp4,
    make_png,
    make_source_type_xmp,
    make_tiff,
    make_webp,
    make_xmp,
)

WEB_UI = "a lighthouse\nNegative prompt: fog\nSteps: 20, Sampler: Euler a, CFG scale: 7, Seed: 1, Size: 512x512"
COMFY_PROMPT = json.dumps({"3": {"class_type": "KSampler", "inputs": {"seed": 5}}})
COMFY_WORKFLOW = json.dumps({"nodes": [{"id": 1}], "links": [], "version": 0.4})
SOFTWARE = "<tiff:Software>NovelAI</tiff:Software>"
XMP_HEADER = b"http://ns.adobe.com/xap/1.0/\0"


def factors_of(content: bytes) -> dict[str, object]:
    return {factor.name: factor.value for factor in scan(content).factors}


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(
    ("name", "text", "generator"),
    [
        ("parameters", WEB_UI, "Stable Diffusion web UI"),
        ("parameters", json.dumps({"sui_image_params": {"prompt": "a"}}), "SwarmUI"),
        ("parameters", json.dumps({"base_model": "x", "full_prompt": ["a"]}), "Fooocus"),
        ("prompt", COMFY_PROMPT, "ComfyUI"),
        ("workflow", COMFY_WORKFLOW, "ComfyUI"),
        ("invokeai_metadata", json.dumps({"positive_prompt": "a"}), "InvokeAI"),
        ("Comment", json.dumps({"prompt": "a", "steps": 28, "sampler": "k_euler"}), "NovelAI"),
    ],
)
def test_generation_parameters_of_a_png_make_it_likely(name: str, text: str, generator: str, compress: bool) -> None:
    content = make_png({name: text}, compress=compress)

    place = "PNG zTXt" if compress else "PNG tEXt"
    assert factors_of(content) == {"generation_parameters": f"{generator} ({place} {name})"}
    assert scan(content).verdict is ScanVerdict.LIKELY


@pytest.mark.parametrize("make", [make_jpeg, make_webp])
@pytest.mark.parametrize("comment", [b"UNICODE\0" + WEB_UI.encode("utf-16-be"), b"ASCII\0\0\0" + WEB_UI.encode()])
def test_generation_parameters_in_exif(make, comment: bytes) -> None:
    content = make(exif=make_exif(user_comment=comment))

    assert factors_of(content) == {"generation_parameters": "Stable Diffusion web UI (EXIF UserComment)"}


@pytest.mark.parametrize("name", ["parameters", "prompt", "workflow", "Comment"])
def test_ordinary_text_under_the_name_of_a_mark_is_none(name: str) -> None:
    assert factors_of(make_png({name: "exposure 1/60, approved by the editor"})) == {}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (make_png({"Software": "NovelAI"}), "PNG tEXt Software"),
        (make_jpeg(exif=make_exif(Software="NovelAI 3")), "EXIF Software"),
        (make_webp(exif=make_exif(Software="NovelAI")), "EXIF Software"),
        (make_tiff(software="NovelAI"), "EXIF Software"),
        (make_jpeg(xmp=make_xmp('<rdf:Description xmp:CreatorTool="NovelAI"/>')), "XMP CreatorTool"),
        (make_jpeg(xmp=make_xmp(f"<rdf:Description>{SOFTWARE}</rdf:Description>")), "XMP Software"),
    ],
    ids=["png", "jpeg", "webp", "tiff", "xmp-attribute", "xmp-element"],
)  # fmt: skip
def test_name_of_a_generator_is_found_in_every_container(content: bytes, place: str) -> None:
    assert factors_of(content) == {"generator_name": f"NovelAI ({place})"}


@pytest.mark.parametrize("mark", NAME_MARKS, ids=lambda mark: mark.generator)
def test_each_name_is_found_and_has_a_source(mark) -> None:
    written = {"Google AI": "Made with Google AI"}.get(mark.generator, mark.generator)

    assert mark.pattern.search(f"by {written} 2.1")
    assert mark.source


def test_each_parameter_mark_has_a_source() -> None:
    assert [mark for mark in PARAMETER_MARKS if not mark.source] == []


@pytest.mark.parametrize(
    "software",
    [
        "Adobe Photoshop 27.0 (Macintosh)",
        "GIMP 3.0.4",
        "Adobe Lightroom Classic 15.1",
        "Picasa",
        "HDR+ 1.0.7",
        "17.5.1",
        "Dalle Molle Institute viewer",
        "Stable video diffuser",
    ],
)
def test_names_of_editors_and_phones_are_no_marks(software: str) -> None:
    assert factors_of(make_jpeg(exif=make_exif(Software=software))) == {}


def test_name_of_a_generator_in_a_caption_is_no_mark() -> None:
    """A photograph of a talk about generators has its name in the description."""
    assert factors_of(make_jpeg(exif=make_exif(ImageDescription="Our stand: is Midjourney art?"))) == {}


@pytest.mark.parametrize(
    ("term", "points"),
    [
        ("trainedAlgorithmicMedia", 85),
        ("compositeWithTrainedAlgorithmicMedia", 50),
        ("digitalCapture", 0),
        ("x" * 99, 0),
    ],
)
def test_source_type_of_unsigned_metadata(term: str, points: int) -> None:
    written = insert_segment(make_jpeg(), 0xE1, XMP_HEADER + make_source_type_xmp(term))

    assert scan(written).score == points


SOURCE_TYPE = make_source_type_xmp("trainedAlgorithmicMedia")
XMP_UUID = bytes.fromhex("be7acfcb97a942e89c71999491e3afac")


@pytest.mark.parametrize(
    "content",
    [
        assemble_png(chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + SOURCE_TYPE)),
        assemble_png(chunk(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + zlib.compress(SOURCE_TYPE))),
        make_jpeg(xmp=SOURCE_TYPE),
        make_webp(xmp=SOURCE_TYPE),
        insert_xmp_into_gif(make_gif(), SOURCE_TYPE),
        make_tiff(tiffinfo={700: SOURCE_TYPE}),
        make_mp4() + box(b"uuid", XMP_UUID + SOURCE_TYPE),
    ],
    ids=["png", "png-compressed", "jpeg", "webp", "gif", "tiff", "mp4"],
)
def test_source_type_is_found_in_the_xmp_of_every_container(content: bytes) -> None:
    if not content.startswith((b"\0", b"GIF")):
        with Image.open(io.BytesIO(content)) as image:  # Pillow finds the packet at the same place
            assert b"trainedAlgorithmicMedia" in _encode(image.info.get("xmp") or image.info["XML:com.adobe.xmp"])

    assert factors_of(content) == {"metadata_generation": "trainedAlgorithmicMedia"}


def _encode(packet: str | bytes) -> bytes:
    return packet.encode() if isinstance(packet, str) else packet


def test_source_type_as_resource_of_an_element() -> None:
    source_type = '<Iptc4xmpExt:DigitalSourceType rdf:resource="http://x/trainedAlgorithmicMedia"/>'
    packet = make_xmp(f"<rdf:Description>{source_type}</rdf:Description>")

    assert scan(make_jpeg(xmp=packet)).score == 85


def test_prefix_of_a_namespace_does_not_matter() -> None:
    packet = (
        make_source_type_xmp("trainedAlgorithmicMedia").replace(b"Iptc4xmpExt:", b"q:").replace(b":Iptc4xmpExt", b":q")
    )

    assert scan(make_jpeg(xmp=packet)).score == 85
