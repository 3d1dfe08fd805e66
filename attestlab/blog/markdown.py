"""Markdown (CommonMark, with tables) as HTML that runs nothing and loads nothing from other hosts.

markdown-it escapes raw HTML, and nh3 removes what is not on its list, so that a fault of one alone opens no door. A
picture of another host becomes a link to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from attestlab.blog.rules import MEDIA_PATH, find_medium

_TAGS: Final = frozenset(
    ("a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s")
) | {"strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
_ATTRIBUTES: Final = {"a": {"href", "title"}, "img": {"src", "alt"}, "ol": {"start"}, "code": {"class"}}
_SCHEMES: Final = frozenset({"http", "https"})
_REL: Final = "nofollow noopener"
MAX_PARAGRAPH_CHARS: Final = 16 * 1024
"""The longest paragraph whose marks are read: some, such as `![` repeated, take time that grows with its square."""
MAX_ADDRESS_CHARS: Final = 1024 * 1024
"""How long all addresses of a text together may be: a reference of 4 characters can stand for one of 500,000."""
_FIRST_HEADING: Final = 2  # the page's own is the title


def render_markdown(text: str, *, media: str = MEDIA_PATH) -> Markup:
    """Render a text; `media` is the address of our pictures as seen from the page, such as `media/`.

    >>> str(render_markdown("A *log*: [what](https://a.example) <b>"))
    '<p>A <em>log</em>: <a href="https://a.example" rel="nofollow noopener">what</a> &lt;b&gt;</p>\\n'
    """
    html = _parser().render(text, {"media": media})
    return Markup(nh3.clean(html, tags=set(_TAGS), attributes=_ATTRIBUTES, url_schemes=set(_SCHEMES), link_rel=_REL))


def list_pictures(text: str) -> list[str]:
    """List the addresses of the pictures that a text shows, in their order.

    >>> list_pictures("![a](log.png) [no](b.png) `![no](c.png)`")
    ['log.png']
    """
    inside = (child for block in _parser().parse(text) for child in block.children or ())
    return [str(token.attrGet("src")) for token in inside if token.type == "image"]


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.core.ruler.at("inline", _parse_paragraphs)
    parser.add_render_rule("image", _render_image)
    parser.add_render_rule("heading_open", _render_heading)
    parser.add_render_rule("heading_close", _render_heading)
    return parser


def _parse_paragraphs(state: StateCore) -> None:
    """Parse the marks within each paragraph, heading or cell; what exceeds a bound is shown as it was written."""
    left = MAX_ADDRESS_CHARS
    for block in state.tokens:
        if block.type != "inline":
            continue
        block.children = []
        if len(block.content) <= MAX_PARAGRAPH_CHARS and left >= 0:
            state.md.inline.parse(block.content, state.md, state.env, block.children)
            left -= sum(len(str(value)) for token in block.children for value in token.attrs.values())
        if len(block.content) > MAX_PARAGRAPH_CHARS or left < 0:
            block.children = [Token("text", "", 0, content=block.content)]


def _render_image(_: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    source, words = str(token.attrGet("src") or ""), token.content
    medium = find_medium(source)
    if medium is None:
        return str(Markup('<a href="{}">{}</a>').format(source, words or source))
    return str(Markup('<img src="{}{}" alt="{}">').format(env["media"], medium, words))


def _render_heading(_: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType) -> str:
    token = tokens[index]
    level = min(6, int(token.tag[1]) + _FIRST_HEADING - 1)
    return f"<{'/' if token.nesting < 0 else ''}h{level}>"
