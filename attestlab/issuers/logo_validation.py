"""Validation of logos: the image type is detected from the bytes, never from the client's declaration.

An SVG is a document that can run code. So the validator accepts only SVGs that do nothing but draw: no
script, no event handler, no foreign content, no external resources, no document type or entity.
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
# Namespaces that drawing programs write into and next to `metadata`, and that browsers ignore.
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
# A backslash starts a CSS escape, which could conceal any of the other patterns.
_ELSEWHERE = re.compile(
    r"\\|@import|image-set|expression\s*\(|javascript:|(?:url|src)\s*\(\s*+['\"]?+\s*+(?!#)", re.IGNORECASE
)


def detect_media_type(content: bytes) -> str:
    """Detect the media type of an image from its bytes, and validate an SVG.

    Raises:
        PayloadTooLarge: the image has more than 256 KiB.
        ValidationFailed: the type is not supported, or the SVG does more than draw.
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
    """Parses an SVG and rejects elements and attributes that do more than draw."""

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
            raise ValidationFailed.of("/content_b64url", "image", f"The SVG is not well-formed: {error}.") from error

    def _element(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if self._depth == 0 and (namespace, local) != (_NAMESPACE, "svg"):
            _refuse("A logo is a PNG, JPEG, GIF, WebP or SVG image.")
        if self._in_style:
            _refuse("An SVG must not have elements within <style>.")  # they would split a rule into pieces
        self._in_style = local == "style"
        self._depth += 1
        if self._depth > _DEPTH:
            _refuse(f"An SVG must not be nested deeper than {_DEPTH} elements.")
        if namespace == _NAMESPACE and local not in _DRAWING:
            _refuse(f"An SVG must not contain <{local}>, because it does more than draw.")
        if namespace != _NAMESPACE and namespace not in _INERT:
            _refuse(f"An SVG must not contain foreign content such as <{local}>.")
        for attribute, value in attributes.items():
            self._attribute(attribute, value)

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        """Reject other encodings, in which a browser could see another drawing than this validator."""
        if encoding is not None and encoding.lower() not in ("utf-8", "us-ascii"):
            _refuse(f"An SVG must be encoded in UTF-8, not in {encoding}.")

    def _end(self, _name: str) -> None:
        self._in_style = False
        self._depth -= 1

    def _attribute(self, name: str, value: str) -> None:
        namespace, _, local = name.rpartition(" ")
        if local.lower().startswith("on"):
            _refuse(f"An SVG must not have the event handler {local}.")
        if local == "base":
            _refuse("An SVG must not refer to external resources.")
        if local == "href" and namespace in ("", _XLINK) and not value.strip().startswith("#"):
            _refuse("An SVG must not refer to external resources.")
        self._text(value)

    def _text(self, text: str) -> None:
        """Reject external resources in text and in attributes: `style`, `fill` and others refer to them with url()."""
        if _ELSEWHERE.search(text):
            _refuse("An SVG must not load external resources.")

    def _doctype(self, *_: object) -> None:
        _refuse("An SVG must not have a document type; remove the DOCTYPE.")

    def _instruction(self, *_: object) -> None:
        _refuse("An SVG must not have processing instructions.")


def _refuse(message: str) -> Never:
    raise ValidationFailed.of("/content_b64url", "image", message)
