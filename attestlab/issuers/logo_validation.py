"""What may be an issuer's logo: told from its bytes, never from what the sender calls it.

An SVG is a document that can do things. So one is taken only if it does nothing but draw: no
script, no handler, no foreign content, nothing from elsewhere, no document type or entity.
"""

from __future__ import annotations

import re
from typing import Never
from xml.parsers import expat

from attestlab.core.errors import PayloadTooLarge, ValidationFailed

LIMIT_BYTES = 256 * 1024
PNG, JPEG, GIF, WEBP, SVG = "image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"
_BEGINNINGS = {b"\x89PNG\r\n\x1a\n": PNG, b"\xff\xd8\xff": JPEG, b"GIF87a": GIF, b"GIF89a": GIF}
_NAMESPACE = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
# What drawing programs write into `metadata` and beside it, and no browser acts upon.
_INERT = frozenset(
    {
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "http://creativecommons.org/ns#",
        "http://web.resource.org/cc/",
        "http://purl.org/dc/elements/1.1/",
        "http://www.inkscape.org/namespaces/inkscape",
        "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
    }
)
_DEPTH = 100
_SHAPES = "path rect circle ellipse line polyline polygon text tspan textPath"
_STRUCTURE = "svg g defs title desc metadata symbol use switch style clipPath mask marker"
_PAINT = "linearGradient radialGradient stop pattern filter feBlend feColorMatrix feComposite feFlood feGaussianBlur"
_MORE_PAINT = (
    "feMerge feMergeNode feOffset feDropShadow feMorphology feComponentTransfer feFuncR feFuncG feFuncB feFuncA"
)
_DRAWING = frozenset(f"{_SHAPES} {_STRUCTURE} {_PAINT} {_MORE_PAINT}".split())
# A backslash begins an escape of CSS, behind which any of the others could hide.
_ELSEWHERE = re.compile(
    r"\\|@import|image-set|expression\s*\(|javascript:|(?:url|src)\s*\(\s*+['\"]?+\s*+(?!#)", re.IGNORECASE
)


def detect_media_type(content: bytes) -> str:
    """The media type of an image, by its bytes.

    Raises:
        PayloadTooLarge: it has more than 256 KiB.
        ValidationFailed: it is no image of these kinds, or an SVG that does more than draw.
    """
    if len(content) > LIMIT_BYTES:
        raise PayloadTooLarge(LIMIT_BYTES, "payload")
    for beginning, found in _BEGINNINGS.items():
        if content.startswith(beginning):
            return found
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return WEBP
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        _refuse("A logo is a PNG, JPEG, GIF, WebP or SVG image.")
    _SvgValidator().read(content)
    return SVG


class _SvgValidator:
    """Reads an SVG and refuses what does more than draw."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartElementHandler = self._element
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.ProcessingInstructionHandler = self._instruction
        self._parser.buffer_text = True
        self._depth = 0
        self._in_style = False

    def read(self, content: bytes) -> None:
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            raise ValidationFailed.of("/content_b64url", "image", f"The SVG cannot be read: {error}.") from error

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if self._depth == 0 and (namespace, local) != (_NAMESPACE, "svg"):
            _refuse("A logo is a PNG, JPEG, GIF, WebP or SVG image.")
        if self._in_style:
            _refuse("An SVG with elements within <style> is not taken.")  # what a rule says would stand in pieces
        self._in_style = local == "style"
        self._depth += 1
        if self._depth > _DEPTH:
            _refuse(f"An SVG that is nested deeper than {_DEPTH} elements is not taken.")
        if namespace == _NAMESPACE and local not in _DRAWING:
            _refuse(f"An SVG with <{local}> does more than draw.")
        if namespace != _NAMESPACE and namespace not in _INERT:
            _refuse(f"An SVG with foreign content such as <{local}> is not taken.")
        for attribute, value in attributes.items():
            self._attribute(attribute, value)

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        """Whoever reads it in another encoding could see another drawing than we do."""
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
            _refuse("An SVG in another encoding than UTF-8 is not taken.")

    def _end(self, _name: str) -> None:
        self._in_style = False
        self._depth -= 1

    def _attribute(self, name: str, value: str) -> None:
        namespace, _, local = name.rpartition(" ")
        if local.lower().startswith("on"):
            _refuse(f"An SVG with the handler {local} does more than draw.")
        if local == "base":
            _refuse("An SVG that points elsewhere is not taken.")
        if local == "href" and namespace in ("", _XLINK) and not value.strip().startswith("#"):
            _refuse("An SVG that points elsewhere is not taken.")
        self._text(value)

    def _text(self, text: str) -> None:
        """Also of attributes: `style`, `fill` and others name places with url()."""
        if _ELSEWHERE.search(text):
            _refuse("An SVG that loads from elsewhere is not taken.")

    def _doctype(self, *_: object) -> None:
        _refuse("An SVG with a document type is not taken; remove the DOCTYPE.")

    def _instruction(self, *_: object) -> None:
        _refuse("An SVG with processing instructions is not taken.")


def _refuse(message: str) -> Never:
    raise ValidationFailed.of("/content_b64url", "image", message)
