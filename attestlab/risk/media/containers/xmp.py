"""Reader of XMP packets (ISO 16684-1): the properties that name a generator, a source type or a time.

defusedxml parses them and refuses DTDs and entities; a handler collects the few properties below while it bounds depth
and number of elements, so no tree of the packet exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.handler import ContentHandler, feature_namespaces

from attestlab.core.errors import ValidationFailed
from attestlab.risk.media.containers.metadata import CONTENT, MAX_XMP_DEPTH, MAX_XMP_ELEMENTS, Budget, exceed

if TYPE_CHECKING:
    from xml.sax.xmlreader import AttributesNSImpl

MAX_VALUE_CHARACTERS = 2_000
_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_XMP = "http://ns.adobe.com/xap/1.0/"
_PHOTOSHOP = "http://ns.adobe.com/photoshop/1.0/"
_IPTC_EXTENSION = "http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
PROPERTIES: dict[tuple[str | None, str], str] = {
    (_IPTC_EXTENSION, "DigitalSourceType"): "DigitalSourceType",
    (_IPTC_EXTENSION, "AISystemUsed"): "AISystemUsed",
    (_XMP, "CreatorTool"): "CreatorTool",
    (_XMP, "CreateDate"): "CreateDate",
    ("http://ns.adobe.com/tiff/1.0/", "Software"): "Software",
    ("http://ns.adobe.com/xap/1.0/sType/ResourceEvent#", "softwareAgent"): "softwareAgent",
    (_PHOTOSHOP, "Credit"): "Credit",
}


class XmpMalformed(Exception):
    """The packet is not well-formed XML."""


def read_xmp(packet: bytes) -> list[tuple[str, str]]:
    """Read the wanted properties of a packet, as pairs of name and value.

    Raises:
        XmpMalformed: it is not well-formed XML.
        ValidationFailed: it declares a DTD or an entity, or is nested too deeply.
    """
    import io
    from xml.sax import SAXException

    from defusedxml.common import DefusedXmlException
    from defusedxml.sax import make_parser

    parser, handler = make_parser(), _PropertyCollector()
    parser.forbid_dtd = True
    parser.setFeature(feature_namespaces, True)
    parser.setContentHandler(handler)
    try:
        parser.parse(io.BytesIO(packet.rstrip(b"\0")))
    except DefusedXmlException:
        message = "The XMP packet of the media declares a DTD or an entity; XMP has neither. Remove the packet."
        raise ValidationFailed.of(CONTENT, "xmp", message) from None
    except (SAXException, ValueError, LookupError):
        raise XmpMalformed from None
    return handler.found


class _PropertyCollector(ContentHandler):
    """Collects wanted properties, written as attributes, as elements, or as the items of an element."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._depth = 0
        self._elements = Budget("elements of XMP", MAX_XMP_ELEMENTS, "Remove the XMP packet.")
        self._property: tuple[int, str] | None = None  # the depth and the name of the open element that is wanted
        self._text: list[str] = []

    def startElementNS(  # noqa: N802  # the name that SAX calls
        self, name: tuple[str | None, str], qname: str | None, attrs: AttributesNSImpl
    ) -> None:
        self._depth += 1
        self._elements.take()
        if self._depth > MAX_XMP_DEPTH:
            raise exceed("levels of XMP", f"at least {self._depth}", MAX_XMP_DEPTH, "Remove the XMP packet.")
        wanted = PROPERTIES.get(name)
        for attribute, value in attrs.items():
            self._add(PROPERTIES.get(attribute), value)
            self._add(wanted if attribute == (_RDF, "resource") else None, value)
        if wanted and self._property is None:
            self._property, self._text = (self._depth, wanted), []

    def characters(self, content: str) -> None:
        if self._property is not None and len(self._text) < MAX_VALUE_CHARACTERS:
            self._text.append(content)

    def endElementNS(self, name: tuple[str | None, str], qname: str | None) -> None:  # noqa: N802
        if self._property is not None and self._property[0] == self._depth:
            self._add(self._property[1], "".join(self._text))
            self._property = None
        self._depth -= 1

    def _add(self, name: str | None, value: str) -> None:
        if name and value.strip():
            self.found.append((name, value.strip()[:MAX_VALUE_CHARACTERS]))
