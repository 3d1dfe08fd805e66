"""Open Badges 3.0, "Baked Badges": what outside readers find in a baked picture, and pictures that are refused."""

from __future__ import annotations

import tracemalloc
import zlib
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attestlab.core.errors import ValidationFailed
from attestlab.exports import badge_fonts
from attestlab.exports.badge_picture import SIDE, BadgeFace, clean_text, draw_png, draw_svg, lay_out
from attestlab.exports.baking import limits
from attestlab.exports.baking.pictures import PictureFormat, bake, detect_format, read_credential
from attestlab.exports.baking.svg import NAMESPACE
from support.badge_pictures import (
    KEYWORD,
    SVG,
    TOKEN,
    insert_chunks,
    make_chunk,
    make_png,
    make_text_chunk,
    read_png_texts,
    read_svg_credentials,
)
from support.property_tests import examples

PLAIN_SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><title>A</title></svg>'
OTHER = "eyJhbGciOiJSUzI1NiJ9.eyJ0eXBlIjpbXX0.BBBB"
TEXTS = st.text(st.characters(codec="utf-8"), max_size=90)
TOKENS = st.from_regex(r"eyJ[A-Za-z0-9_-]{1,80}\.[A-Za-z0-9_-]{1,400}\.[A-Za-z0-9_-]{1,90}", fullmatch=True)
FACES = st.builds(BadgeFace, TEXTS, TEXTS, st.sampled_from(["Degree", "Skill badge"]))


def svg(content: bytes = b"", attributes: bytes = b"") -> bytes:
    return b'<svg xmlns="http://www.w3.org/2000/svg" %b>%b</svg>' % (attributes, content)


def credential(attribute: bytes = b'verify="%b"' % TOKEN.encode(), body: bytes = b"") -> bytes:
    return b'<openbadges:credential xmlns:openbadges="%b" %b>%b</openbadges:credential>' % (
        NAMESPACE.encode(),
        attribute,
        body,
    )


def test_pillow_finds_the_credential_in_a_png_and_every_other_text() -> None:
    baked = bake(make_png(Title="a title", Software="a program"), TOKEN)

    assert read_png_texts(baked) == {KEYWORD: TOKEN, "Title": "a title", "Software": "a program"}
    assert read_credential(baked) == TOKEN


def test_the_text_of_a_png_is_neither_compressed_nor_described() -> None:
    """The specification forbids compression; the chunk comes before the pixels, so that readers may stop there."""
    baked = bake(make_png(), TOKEN)

    assert baked[33:].startswith(make_chunk(b"iTXt", KEYWORD.encode() + b"\0\0\0\0\0" + TOKEN.encode()))


def test_an_xml_parser_finds_the_credential_as_first_element_of_an_svg() -> None:
    baked = bake(PLAIN_SVG, TOKEN)

    root = ElementTree.fromstring(baked)
    assert [each.tag for each in root] == [f"{{{NAMESPACE}}}credential", f"{SVG}title"]
    assert baked.index(b'xmlns:openbadges="https://purl.imsglobal.org/ob/v3p0"') < baked.index(b">")
    assert read_svg_credentials(baked) == [TOKEN]
    assert read_credential(baked) == TOKEN


@pytest.mark.parametrize("picture", [make_png(), PLAIN_SVG], ids=["PNG", "SVG"])
def test_baking_again_replaces_the_credential(picture: bytes) -> None:
    assert bake(bake(picture, OTHER), TOKEN) == bake(picture, TOKEN)


@pytest.mark.parametrize(
    "picture",
    [
        svg(credential() + b"<g/>" + credential(body=b"<![CDATA[{}]]>")),
        svg(b"<g/>", b'xmlns:openbadges="http://openbadges.org"'),
        b'\xef\xbb\xbf<?xml version="1.0" encoding="UTF-8"?>\n<!-- > -->\n' + svg(b"<g/>", b"data-a='>' data-b=\"/>\""),
        b'<s:svg xmlns:s="http://www.w3.org/2000/svg" width="8"/>',
        svg(b"<title>\xe2\x82\xac</title>" + credential(b"")),
    ],
    ids=[
        "several and JSON",
        "prefix of another version",
        "declaration and comment",
        "empty, with prefix",
        "multi-byte",
    ],
)
def test_an_svg_of_any_spelling_is_baked(picture: bytes) -> None:
    baked = bake(picture, TOKEN)

    assert read_svg_credentials(baked) == [TOKEN]
    assert read_credential(baked) == TOKEN
    assert bake(baked, TOKEN) == baked


@pytest.mark.more_in_soak
@settings(max_examples=examples(5, many=300))
@given(face=FACES, token=TOKENS)
def test_every_title_can_be_drawn_baked_and_read(face: BadgeFace, token: str) -> None:
    """Whatever an issuer writes: the picture is the same each time, and passive."""
    for draw, read in ((draw_png, lambda made: [read_png_texts(made)[KEYWORD]]), (draw_svg, read_svg_credentials)):
        baked = bake(draw(face), token)

        assert read(baked) == [token]
        assert read_credential(baked) == token
        assert bake(draw(face), token) == baked
    root = ElementTree.fromstring(baked)
    assert root.findtext(f"{SVG}title") == clean_text(f"{face.title}, issued by {face.issuer}")
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {
        *("svg", "title", "rect", "circle", "path", "g", "text", "credential"),
    }


def test_a_bomb_is_never_decompressed() -> None:
    """A text of 64 MiB takes 64 KiB in the picture, and the reader allocates little beyond that."""
    compressor = zlib.compressobj(9)
    bomb = b"".join([*(compressor.compress(bytes(1 << 20)) for _ in range(64)), compressor.flush()])
    picture = insert_chunks(make_png(), make_text_chunk(bomb, is_compressed=True))

    tracemalloc.start()
    try:
        with pytest.raises(ValidationFailed, match="is compressed"):
            read_credential(picture)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def cut(picture: bytes) -> bytes:
    return picture[:-20]


def flip(picture: bytes) -> bytes:
    return picture.replace(TOKEN.encode(), OTHER.encode()[: len(TOKEN)])


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "two chunks": (
        lambda: insert_chunks(make_png(), make_text_chunk(b"eyJ.a.b"), make_text_chunk(b"eyJ.a.c")),
        "more than one Open Badge",
    ),
    "compressed": (
        lambda: insert_chunks(make_png(), make_text_chunk(zlib.compress(b"eyJ"), is_compressed=True)),
        "is compressed",
    ),
    "broken checksum": (lambda: flip(bake(make_png(), TOKEN)), "checksum of its chunk 'iTXt' at byte 33 is wrong"),
    "cut off": (lambda: cut(bake(make_png(), TOKEN)), "cut off before its end"),
    "signature alone": (lambda: make_png()[:8], "no PNG"),
    "no header": (lambda: make_png()[:8] + make_png()[33:], "no PNG"),
    "short header": (lambda: make_png()[:8] + make_chunk(b"IHDR", b"") + make_png()[33:], "does not have 13 bytes"),
    "no pixels": (
        lambda: make_png()[:33] + make_text_chunk(TOKEN.encode()) + make_chunk(b"IEND", b""),
        "cut off before its end",
    ),
    "many pixels": (
        lambda: make_png()[:8] + make_chunk(b"IHDR", b"\0\1\0\0" * 2 + b"\x08\2\0\0\0") + make_png()[33:],
        "4,294,967,296 pixels; at most 25,000,000",
    ),
    "many chunks": (
        lambda: insert_chunks(make_png(), *[make_chunk(b"teXt", b"")] * limits.MAX_CHUNKS),
        "4,097 chunks; at most 4,096",
    ),
    "long credential": (
        lambda: insert_chunks(make_png(), make_text_chunk(b"e" * (limits.MAX_CREDENTIAL_BYTES + 1))),
        "262,145 bytes in its Open Badge; at most 262,144",
    ),
    "long picture": (lambda: make_png() + bytes(limits.MAX_PICTURE_BYTES), "at most 768,000"),
    "not UTF-8": (lambda: insert_chunks(make_png(), make_text_chunk(b"eyJ\xff")), "not UTF-8"),
    "JSON in a PNG": (lambda: insert_chunks(make_png(), make_text_chunk(b' {"type": []}')), "Only badges that are a"),
    "JSON in an SVG": (lambda: svg(credential(b"", b"<![CDATA[{}]]>")), "Only badges that are a compact JWT"),
    "empty text": (lambda: insert_chunks(make_png(), make_text_chunk(b"")), "holds no Open Badge"),
    "no text": (
        lambda: insert_chunks(make_png(), make_chunk(b"iTXt", KEYWORD.encode() + b"\0\0\0")),
        "holds no Open Badge",
    ),
    "PNG without a credential": (make_png, "holds no Open Badge"),
    "SVG without a credential": (lambda: PLAIN_SVG, "holds no Open Badge"),
    "of another version": (lambda: svg(b'<a:credential xmlns:a="http://openbadges.org"/>'), "holds no Open Badge"),
    "JPEG": (lambda: b"\xff\xd8\xff", "neither PNG nor SVG"),
    "no file": (lambda: b"", "neither PNG nor SVG"),
    "HTML": (lambda: b"<html/>", "root is the element 'html'"),
    "SVG without a namespace": (lambda: b"<svg/>", "no SVG"),
    "two credentials": (lambda: svg(credential() + credential()), "more than one Open Badge"),
    "credential in a credential": (lambda: svg(credential(body=credential())), "more than one Open Badge"),
    "DOCTYPE": (lambda: b"<!DOCTYPE svg>" + svg(credential()), "has a DOCTYPE"),
    "entities": (
        lambda: b'<!DOCTYPE svg [<!ENTITY a "b"><!ENTITY c "&a;&a;">]>' + svg(b"<title>&c;</title>" + credential()),
        "has a DOCTYPE",
    ),
    "external entity": (
        lambda: b'<!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + svg(b"&a;" + credential()),
        "has a DOCTYPE",
    ),
    "style sheet of another host": (
        lambda: b'<?xml-stylesheet href="https://a.example/"?>' + svg(credential()),
        "processing instruction 'xml-stylesheet'",
    ),
    "script": (lambda: svg(credential() + b"<script>alert(1)</script>"), "element 'script', which could run"),
    "foreign object": (lambda: svg(credential() + b"<foreignObject/>"), "'foreignObject', which could run"),
    "event": (lambda: svg(credential(), b'onload="alert(1)"'), "attribute 'onload', which could run"),
    "event of a credential": (lambda: svg(credential(b'verify="eyJ" onclick="a()"')), "'onclick', which could run"),
    "animated link": (
        lambda: svg(credential() + b'<animate attributeName="xlink:href" to="javascript:a()"/>'),
        "'attributeName', which could run",
    ),
    "link": (lambda: svg(credential() + b'<a href="javascript:a()"/>'), "refers to 'javascript:a()'"),
    "picture of another host": (
        lambda: svg(credential() + b'<image href="https://a.example/b.png"/>'),
        "refers to 'https://a.example/b.png'",
    ),
    "data that is SVG": (
        lambda: svg(credential() + b'<use href="data:image/svg+xml,a"/>'),
        "refers to 'data:image/svg",
    ),
    "base": (lambda: svg(credential(), b'xml:base="https://a.example/"'), "refers to 'https://a.example/'"),
    "imported style": (lambda: svg(credential() + b"<style>@import 'a';</style>"), "style of the SVG refers"),
    "spelled style": (lambda: svg(credential() + b"<style>@\\69mport 'a';</style>"), "style of the SVG refers"),
    "style in pieces": (lambda: svg(credential() + b"<style>@im<!-- -->port 'a';</style>"), "style of the SVG refers"),
    "style in a style": (
        lambda: svg(credential() + b"<style><style/>@import 'a';</style>"),
        "style of the SVG refers",
    ),
    "fill of another host": (
        lambda: svg(credential(), b"fill=\"url( 'https://a.example/#b')\""),
        "style of the SVG refers",
    ),
    "many elements": (
        lambda: svg(credential() + b"<g/>" * limits.MAX_SVG_ELEMENTS),
        "5,001 elements; at most 5,000",
    ),
    "many attributes": (
        lambda: svg(b"<g %b/>" % b" ".join(b'a%d=""' % number for number in range(10_000))),
        "10,001 equals signs; at most 10,000",
    ),
    "deep elements": (lambda: svg(b"<g>" * 64 + b"</g>" * 64), "65 levels of elements; at most 64"),
    "SVG that is cut off": (lambda: cut(bake(PLAIN_SVG, TOKEN)), "not well-formed XML in UTF-8"),
    "UTF-16": (lambda: svg(credential()).decode().encode("utf-16"), "neither PNG nor SVG"),
}


@pytest.mark.parametrize(("make", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_or_damaged_picture_is_refused_with_its_reason(make: Callable[[], bytes], message: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        read_credential(make())

    assert message in refused.value.message
    assert refused.value.message.count(".") >= 2, "it says what is wrong, and what to do"


@pytest.mark.parametrize(
    "content",
    [
        b'<a href="#b"/>',
        b'<image href="data:image/png;base64,AAAA"/>',
        b"<style>.a{fill:url(#b)}</style>",
        b'<g fill="url(#b)" aria-label="a\\b"/>',
        b"<text>@import url(https://a.example)</text>",
        b'<g fill="url(%b#b)"/>' % (b" " * 500_000),
    ],
    ids=["link", "picture", "style", "words", "text", "white space"],
)
def test_an_svg_may_refer_to_itself_and_speak_of_anything(content: bytes) -> None:
    assert read_credential(svg(credential() + content)) == TOKEN


@pytest.mark.more_in_soak
@settings(max_examples=examples(40, many=2000))
@given(data=st.data())
def test_a_changed_byte_is_an_error_of_ours_or_changes_no_credential(data: st.DataObject) -> None:
    picture = bytearray(bake(data.draw(st.sampled_from([make_png(), PLAIN_SVG])), TOKEN))
    for _ in range(data.draw(st.integers(1, 4))):
        picture[data.draw(st.integers(0, len(picture) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = read_credential(bytes(picture))
    except ValidationFailed:
        return
    assert len(found) <= len(TOKEN)


def test_the_first_bytes_decide_on_the_format() -> None:
    assert detect_format(draw_png(BadgeFace("A", "B", "C"))) is PictureFormat.PNG
    assert detect_format(b"\xef\xbb\xbf \n<svg/>") is PictureFormat.SVG
    assert detect_format(b'{"attestation": {}}') is None


@pytest.mark.parametrize("title", ["Rust", "word " * 200, "Donaudampfschifffahrt" * 40, "漢字" * 300, "م" * 400])
def test_a_text_of_any_length_stays_inside_the_card(title: str) -> None:
    """In both pictures, as they have the same lines."""
    lines = list(lay_out(BadgeFace(title, title, "Degree")))

    widths = [badge_fonts.measure_text(line.text, line.size, outlined=line.outlined) for line in lines]
    assert max(widths) <= SIDE - 2 * 48
    assert all(line.y - line.size / 2 > 124 and line.y + line.size / 2 < SIDE for line in lines)
    edges = [(line.y - line.size / 2, line.y + line.size / 2) for line in lines]
    assert all(below[0] >= above[1] for above, below in pairwise(edges))
