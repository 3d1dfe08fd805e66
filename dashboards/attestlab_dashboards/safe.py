"""The one module that makes markup: every text is escaped here, and no other module may construct `Markup`.

Stock Panel components render strings as HTML in many places, so the pages use none of them for text. A string that a
person wrote is a value of `html` or `text`. It is never part of a template, of a `style`, or of an unquoted attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, LiteralString
from urllib.parse import quote

from markupsafe import Markup, escape

from attestlab.portal.rules import escape_invisible

NOTHING: Final = Markup()
_NAME: Final = re.compile(r"[a-z][a-z0-9-]*")
_VOID: Final = frozenset({"br", "col", "hr", "img", "wbr"})


def text(value: object) -> Markup:
    """Escape a value; invisible characters, which could reorder or hide text, show as their code points.

    >>> str(text("<img onerror=x>" + chr(0x202E)))
    '&lt;img onerror=x&gt;[U+202E]'
    """
    return value if isinstance(value, Markup) else escape(escape_invisible(str(value)))


def html(template: LiteralString, **values: object) -> Markup:
    """Fill a template of our own with values, each escaped unless it is markup already.

    >>> str(html('<b title="{name}">{name}</b>', name='"Zoë" & Co'))
    '<b title="&#34;Zoë&#34; &amp; Co">&#34;Zoë&#34; &amp; Co</b>'
    """
    return Markup(template.format_map({name: text(value) for name, value in values.items()}))


def element(tag: str, attributes: Mapping[str, str], content: Markup) -> Markup:
    """Make an element whose name and attributes are values, such as one that was read from markup.

    Raises:
        ValueError: a name is none of an element or attribute.

    >>> str(element("b", {"title": '"'}, text("<")))
    '<b title="&#34;">&lt;</b>'
    """
    for name in (tag, *attributes):
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an element or attribute.")
    written = join(html(' {name}="{value}"', name=name, value=value) for name, value in attributes.items())
    if tag in _VOID:
        return html("<{tag}{written}>", tag=tag, written=written)
    return html("<{tag}{written}>{content}</{tag}>", tag=tag, written=written, content=content)


def style(*sheets: str) -> Markup:
    """Make a style sheet of our own part of a document.

    Raises:
        ValueError: it would end the element.
    """
    rules = "\n".join(sheets)
    if "</" in rules or "<!" in rules:
        raise ValueError("A style sheet has characters that would end its element.")
    return html("<style>{rules}</style>", rules=Markup(rules))


def join(parts: Iterable[Markup], separator: Markup = NOTHING) -> Markup:
    """Join pieces of markup."""
    return separator.join(parts)


def path(value: object) -> Markup:
    """Escape a value as one segment of a path or one value of a query, for use in an `href`.

    >>> str(path("a/b?c"))
    'a%2Fb%3Fc'
    """
    return Markup(quote(str(value), safe=""))
