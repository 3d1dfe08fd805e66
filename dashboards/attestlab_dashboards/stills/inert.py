"""Turns the markup of a page into markup that stands without its script: what can be clicked becomes what can be read.

Only known elements and attributes remain, so that a still of a page that a stranger wrote into cannot do anything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin, urlsplit

from markupsafe import Markup

from attestlab_dashboards.stills.elements import Element, parse

_TEXTS: Final = (
    "a article aside b bdi br caption code col colgroup dd details div dl dt em figure h1 h2 h3 h4 header hr i kbd li "
    "mark ol p pre section small span strong sub summary sup table tbody td tfoot th thead time tr ul wbr"
)
_DRAWINGS: Final = (
    "svg g path rect circle ellipse line polyline polygon text tspan title desc defs image marker clippath pattern "
    "lineargradient radialgradient stop"
)
_ATTRIBUTES: Final = (
    "aria-hidden aria-label aria-pressed aria-current class colspan rowspan scope datetime dir id lang open role style "
    "title viewbox preserveaspectratio d x y x1 y1 x2 y2 cx cy r rx ry width height points transform offset dx dy href "
    "text-anchor dominant-baseline fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray opacity "
    "markerwidth markerheight refx refy orient clip-path gradientunits gradienttransform patternunits vector-effect"
)
_ACTIONS: Final = (
    "al-dialog al-tools al-copy al-pager al-pointer al-touch al-tip al-how al-range btn sep rk-decide lg-try lg-tamper "
    "lg-tip po-lines po-whole"
)
_ACTIVE: Final = "script style link meta img object embed iframe template option"
_KEPT: Final = frozenset([*_TEXTS.split(), *_DRAWINGS.split()])
_PARTS_OF_DRAWINGS: Final = frozenset(_DRAWINGS.split()) - {"svg", "title"}
_KEPT_ATTRIBUTES: Final = frozenset(_ATTRIBUTES.split())
_LEFT_OUT: Final = frozenset(_ACTIONS.split())
_LEFT_OUT_TAGS: Final = frozenset(_ACTIVE.split())
_TYPED: Final = frozenset({"", "text", "number", "search", "date", "datetime-local", "time", "email"})
Content = Element | str


def make_inert(markup: Markup, *, address: str = "") -> Element:
    """Make markup inert; its links lead to the pages below `address`, or nowhere without one."""
    return Element(children=_convert_all(parse(markup), address))


def _convert_all(parent: Element, address: str) -> list[Content]:
    return [
        made for child in parent.children for made in ([child] if isinstance(child, str) else _convert(child, address))
    ]


def _convert(element: Element, address: str) -> list[Content]:
    """Convert an element into what stands for it, which may be nothing."""
    if element.classes & _LEFT_OUT or "hidden" in element.attributes:
        return []
    convert = _CONVERSIONS.get(element.tag)
    if convert is not None:
        return convert(element, address)
    if element.tag in _LEFT_OUT_TAGS:
        return []
    tag = element.tag if element.tag in _KEPT else "div" if element.tag in ("form", "main", "fieldset") else "span"
    return [_rebuild(tag, element, address)]


def _rebuild(tag: str, element: Element, address: str) -> Element:
    attributes = {
        name: value
        for name, value in element.attributes.items()
        if name in _KEPT_ATTRIBUTES and (name != "href" or value.startswith("data:image/png;base64,"))
    }
    return Element(tag, attributes, _convert_all(element, address))


def _convert_button(button: Element, address: str) -> list[Content]:
    """Keep the words of a button that stand for data; a filter that is not set offers only what a click would do."""
    if "chip" in button.classes and button.attributes.get("aria-pressed") != "true":
        return []
    return [_rebuild("span", button, address)]


def _convert_input(field: Element, address: str) -> list[Content]:
    value = field.attributes.get("value", "") if field.attributes.get("type", "") in _TYPED else ""
    return [Element("b", {}, [value])] if value else []


def _convert_select(field: Element, address: str) -> list[Content]:
    options = [each for each in field.walk() if each.tag == "option"]
    chosen = [each for each in options if "selected" in each.attributes] or options[:1]
    return [Element("b", {}, [each.read_text()]) for each in chosen]


def _convert_text_area(field: Element, address: str) -> list[Content]:
    text = "".join(each for each in field.children if isinstance(each, str))
    return [Element("pre", {"class": "al-written"}, [text])] if text.strip() else []


def _convert_link(link: Element, address: str) -> list[Content]:
    target = urljoin(address, link.attributes.get("href", "")) if address else ""
    if urlsplit(target).scheme not in ("http", "https"):
        return [_rebuild("g" if _is_part_of_drawing(link) else "span", link, address)]
    made = _rebuild("a", link, address)
    made.attributes["href"] = target
    return [made]


def _is_part_of_drawing(link: Element) -> bool:
    """Whether a link is around a part of a drawing, such as a node of a graph: HTML in there would hide it."""
    return any(isinstance(each, Element) and each.tag in _PARTS_OF_DRAWINGS for each in link.children)


_CONVERSIONS: Final[dict[str, Callable[[Element, str], list[Content]]]] = {
    "button": _convert_button,
    "input": _convert_input,
    "select": _convert_select,
    "textarea": _convert_text_area,
    "a": _convert_link,
}
