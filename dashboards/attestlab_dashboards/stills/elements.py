"""Elements of drawn markup as a tree, to be changed and written again; every text is escaped when it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from markupsafe import Markup

from attestlab_dashboards import safe

_VOID: Final = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})


@dataclass(eq=False)
class Element:
    """An element with its attributes and what it contains; the root has no name."""

    tag: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    @property
    def classes(self) -> frozenset[str]:
        """The names in its attribute `class`."""
        return frozenset(self.attributes.get("class", "").split())

    def walk(self) -> Iterator[Element]:
        """Iterate over this element and all that are inside it."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def find(self, name: str) -> list[Element]:
        """Find the elements of a class inside this one, in the order of the document."""
        return [each for each in self.walk() if name in each.classes]

    def read_text(self) -> str:
        """Read the words inside, with single spaces."""
        return " ".join("".join(self._list_texts()).split())

    def _list_texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            else:
                yield from child._list_texts()
                yield "" if child.tag in _INLINE else " "

    def write(self) -> Markup:
        """Write the element as markup."""
        content = safe.join(safe.text(each) if isinstance(each, str) else each.write() for each in self.children)
        return safe.element(self.tag, self.attributes, content) if self.tag else content

    @property
    def size_bytes(self) -> int:
        """How long it is as markup, in UTF-8."""
        return len(self.write().encode())


_INLINE: Final = frozenset({"a", "b", "bdi", "code", "i", "kbd", "mark", "small", "span", "time", "wbr"})


def parse(markup: Markup) -> Element:
    """Parse markup that the pages drew; what is left open ends with what is around it."""
    parser = _TreeParser()
    parser.feed(str(markup))
    parser.close()
    return parser.root


class _TreeParser(HTMLParser):
    """Builds the tree. The names of SVG lose their capitals, which the parser of every browser gives back."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element()
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._append(tag, attrs)
        if tag not in _VOID:
            self._open.append(self._open[-1].children[-1])  # type: ignore[arg-type]  # an element: it was just appended

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._append(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        places = [place for place, each in enumerate(self._open) if place and each.tag == tag]
        if places:
            del self._open[places[-1] :]

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)

    def _append(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))
