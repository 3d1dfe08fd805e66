"""The style of a page inside of another one, such as a cell: the look's sheets for the width of what contains it."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from attestlab_dashboards import assets

_WIDTHS: Final = re.compile(r"@media ((?:\((?:min|max)-width:\d+px\)(?: and )?)+)\{")


@cache
def compose_style(page: str) -> str:
    """Compose the style sheet of a page for a shadow root, whose host says by `data-theme` which mode it has.

    The look asks for the width of the window; in a cell it asks for that of the cell.
    """
    names = ("tokens.css", "floating.css", "look.css", f"{page}.css", "cell.css")
    sheet = "\n".join(map(assets.read_text, names))
    sheet = sheet.replace(":root[data-theme=dark]", ":host([data-theme=dark])").replace(":root", ":host")
    return ask_for_container(sheet)


def ask_for_container(sheet: str) -> str:
    """Let a style sheet ask for the width of its container where it asks for that of the window.

    >>> ask_for_container("@media (max-width:760px){p{margin:0}}")
    '@container (max-width:760px){p{margin:0}}'
    """
    return _WIDTHS.sub(r"@container \1{", sheet)
