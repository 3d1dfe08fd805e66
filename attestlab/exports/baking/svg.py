"""Credentials in SVG: the element `openbadges:credential`, whose attribute `verify` is the compact JWT.

Open Badges 3.0, "Baked Badges". The parser refuses a DTD before it reads it, so there are no entities; it refuses
what could run or load something. Baking inserts and removes bytes, and leaves the rest of a picture as it was.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate
from xml.sax.saxutils import quoteattr

from attestlab.core.encoding import quote
from attestlab.exports.baking.limits import (
    JSON_CREDENTIAL,
    MAX_SVG_DEPTH,
    MAX_SVG_ELEMENTS,
    MAX_SVG_EQUALS_SIGNS,
    NO_CREDENTIAL,
    SEVERAL_CREDENTIALS,
    exceed,
    refuse,
    require_credential,
    require_picture_size,
)

NAMESPACE: Final = "https://purl.imsglobal.org/ob/v3p0"
_SVG: Final = "http://www.w3.org/2000/svg"
_CREDENTIAL: Final = f"{NAMESPACE} credential"
_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_DECLARATION = re.compile(rb"""\sxmlns:openbadges\s*=\s*["']([^"']*)["']""")
_RUNNING: Final = frozenset({"script", "foreignObject", "iframe", "object", "embed", "handler", "listener"})
# What a picture may refer to: a part of itself, or a picture that it contains.
_INSIDE = re.compile(r"\s*(?:#|data:image/(?:png|jpeg|gif|webp)[;,])", re.IGNORECASE)
_LOADING_URL = re.compile(r"url\(\s*+[\"']?+\s*+(?!#|data:image/(?:png|jpeg|gif|webp)[;,])", re.IGNORECASE)
_LOADING_STYLE = re.compile(r"@import|\\|" + _LOADING_URL.pattern, re.IGNORECASE)  # a backslash could spell either


class _Credential(NamedTuple):
    """A credential's element: its first byte, that of its end tag, and its attribute; None without one."""

    start: int
    stop: int
    verify: str | None


def bake_svg(picture: bytes, credential: str) -> bytes:
    """Put a credential into an SVG, in place of those that it holds.

    Raises:
        ValidationFailed: it is no SVG that can be read within the limits.
    """
    found = _SvgReader(picture)
    for each in reversed(found.credentials):
        picture = picture[: each.start] + picture[_end_of_element(picture, each) :]
    root = _tag_at(picture, found.root)
    opened = root.removesuffix(b">").removesuffix(b"/")
    closed = b"</%b>" % re.split(rb"\s", opened[1:], maxsplit=1)[0] if root.endswith(b"/>") else b""
    declaration, declared = f' xmlns:openbadges="{NAMESPACE}"'.encode(), _DECLARATION.search(opened)
    if declared is None:
        opened += declaration
    inherits = declared is None or declared[1] == NAMESPACE.encode()
    own = b"" if inherits else declaration
    element = b"<openbadges:credential%b verify=%b/>" % (own, quoteattr(credential).encode())
    return b"".join((picture[: found.root], opened, b">", element, closed, picture[found.root + len(root) :]))


def read_svg_credential(picture: bytes) -> str:
    """Read the credential of an SVG.

    Raises:
        ValidationFailed: it is no SVG, beyond the limits or could run or load something, or holds no credential,
            several, or one that is no compact JWT.
    """
    found = _SvgReader(picture).credentials
    if not found:
        raise refuse(NO_CREDENTIAL)
    if len(found) > 1:
        raise refuse(SEVERAL_CREDENTIALS)
    if found[0].verify is None:
        raise refuse(JSON_CREDENTIAL)
    return require_credential(found[0].verify)


def _tag_at(picture: bytes, start: int) -> bytes:
    tag = _TAG.match(picture, start)
    if tag is None:  # the parser has read a tag there
        raise refuse("The SVG is not UTF-8. Save it as UTF-8, or export the badge again.")
    return tag[0]


def _end_of_element(picture: bytes, element: _Credential) -> int:
    opened = _tag_at(picture, element.start)
    if opened.endswith(b"/>"):
        return element.start + len(opened)
    return element.stop + len(_tag_at(picture, element.stop))


class _SvgReader:
    """Finds the root and the credentials of an SVG, while it refuses what no badge needs."""

    def __init__(self, picture: bytes) -> None:
        require_picture_size(picture)
        if (signs := picture.count(b"=")) > MAX_SVG_EQUALS_SIGNS:
            raise exceed("equals signs", signs, MAX_SVG_EQUALS_SIGNS)
        self.root = 0
        self.credentials: list[_Credential] = []
        self._elements, self._depth = 0, 0
        self._opened: tuple[int, str | None] | None = None  # the credential's element that is open
        self._open_styles, self._style_text = 0, list[str]()
        self._parser = ParserCreate("utf-8", namespace_separator=" ")
        self._parser.StartElementHandler = self._start_element
        self._parser.EndElementHandler = self._end_element
        self._parser.CharacterDataHandler = self._read_text
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.ProcessingInstructionHandler = self._refuse_instruction
        self._parser.buffer_text = True
        self._parse(picture)

    def _parse(self, picture: bytes) -> None:
        try:
            self._parser.Parse(picture, True)
        except ExpatError as error:
            raise refuse(
                f"The SVG is not well-formed XML in UTF-8 (line {error.lineno}, column {error.offset}). "
                "Copy or download the whole file again."
            ) from None
        _require_passive_style("".join(self._style_text), _LOADING_STYLE)

    def _start_element(self, name: str, attributes: dict[str, str]) -> None:
        self._elements, self._depth = self._elements + 1, self._depth + 1
        if self._elements > MAX_SVG_ELEMENTS:
            raise exceed("elements", self._elements, MAX_SVG_ELEMENTS)
        if self._depth > MAX_SVG_DEPTH:
            raise exceed("levels of elements", self._depth, MAX_SVG_DEPTH)
        if self._elements == 1:
            self._open_root(name)
        if name == _CREDENTIAL:
            self._open_credential(attributes.get("verify"))
        _require_passive(name, attributes)
        self._open_styles += _local_name(name) == "style"

    def _open_root(self, name: str) -> None:
        if name != f"{_SVG} svg":
            raise refuse(f"The picture is no SVG: its root is the element {quote(_local_name(name))}. Send a picture.")
        self.root = self._parser.CurrentByteIndex

    def _open_credential(self, verify: str | None) -> None:
        if self._opened is not None:
            raise refuse(SEVERAL_CREDENTIALS)
        self._opened = (self._parser.CurrentByteIndex, verify)

    def _end_element(self, name: str) -> None:
        self._depth -= 1
        self._open_styles -= _local_name(name) == "style"
        if name == _CREDENTIAL and self._opened is not None:
            start, verify = self._opened
            self.credentials.append(_Credential(start, self._parser.CurrentByteIndex, verify))
            self._opened = None

    def _read_text(self, text: str) -> None:
        if self._open_styles:
            self._style_text.append(text)

    def _refuse_doctype(self, *_: object) -> None:
        raise refuse("The SVG has a DOCTYPE, which could declare entities. Remove it, or export the badge again.")

    def _refuse_instruction(self, target: str, _: str) -> None:
        raise refuse(f"The SVG has the processing instruction {quote(target)}. Remove it, or export the badge again.")


def _require_passive(name: str, attributes: dict[str, str]) -> None:
    """Require that an element neither runs nor loads anything.

    Raises:
        ValidationFailed: it does.
    """
    local = _local_name(name)
    if local in _RUNNING:
        raise refuse(f"The SVG has an element {quote(local)}, which could run code. Export the badge again.")
    for attribute, value in attributes.items():
        _require_passive_attribute(_local_name(attribute), value)


def _require_passive_attribute(name: str, value: str) -> None:
    label = name.lower()
    if label.startswith("on") or (label == "attributename" and value.lower().endswith(("href", "src"))):
        raise refuse(f"The SVG has an attribute {quote(name)}, which could run code. Export the badge again.")
    if label == "base" or (label in ("href", "src") and not _INSIDE.match(value)):
        raise refuse(f"The SVG refers to {quote(value)}, which is outside of it. Export the badge again.")
    _require_passive_style(value, _LOADING_STYLE if label == "style" else _LOADING_URL)


def _require_passive_style(text: str, loading: re.Pattern[str]) -> None:
    if loading.search(text):
        raise refuse("A style of the SVG refers to something outside of it. Export the badge again.")


def _local_name(name: str) -> str:
    return name.rpartition(" ")[2]
