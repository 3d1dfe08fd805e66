"""Markdown as HTML: what it may become, whatever the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attestlab.blog.markdown import MAX_ADDRESS_CHARS, MAX_PARAGRAPH_CHARS, list_pictures, render_markdown
from support.portal import ParsedPage

MEDIUM = "a" * 64
TAGS = {"a", "blockquote", "br", "code", "em", "h2", "h3", "h4", "h5", "h6", "hr", "img", "li", "ol", "p", "pre", "s"}
TAGS |= {"strong", "table", "tbody", "td", "th", "thead", "tr", "ul"}
PIECES = [
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg/onload=alert(1)>", "<!--", "]]>", "&#0;"),
    *("[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](data:text/html,x)", "[a](vbscript:x)"),
    *("![a](https://evil.example/p.png)", "![a](//evil.example/p.png)", "![a](\\\\evil)", "![x](data:image/png,1)"),
    *('[a](https://a.example "t\\"onclick=x")', "<https://a.example/?q=<b>>", "[a]: javascript:x", "[a]", "`<b>`"),
    *(
        "|a|\n|-|\n|<b>|\n",
        "# h <i>",
        "\n\n",
        "> ",
        "- ",
        "1. ",
        "~~~\n",
        "\u202e",
        "\x01",
        "*",
        "_",
        "~~",
        "\\",
        "&lt;",
    ),
]


def is_safe(tag: str, attributes: dict[str, str | None]) -> bool:
    if tag == "img":
        return attributes.keys() <= {"src", "alt"} and attributes["src"] == f"media/{MEDIUM}"
    if tag == "a":
        source = attributes.get("href")
        return attributes.keys() <= {"href", "title", "rel"} and (source is None or is_web_link(source))
    return attributes.keys() <= {"class", "start"}


def is_web_link(source: str) -> bool:
    scheme, colon, _ = source.partition(":")
    return not colon or scheme.lower() in ("http", "https") or any(one in scheme for one in "/?#")


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=12).map("".join))
def test_no_text_becomes_more_than_text_links_and_our_own_pictures(text: str) -> None:
    page = ParsedPage(str(render_markdown(text, media="media/")))
    assert {tag for tag, _ in page.elements} <= TAGS
    assert [(tag, attributes) for tag, attributes in page.elements if not is_safe(tag, attributes)] == []


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Title\n\ntext", "<h2>Title</h2><p>text</p>\n"),
        ("###### Deep", "<h6>Deep</h6>"),
        ("a <b>b</b>", "<p>a &lt;b&gt;b&lt;/b&gt;</p>\n"),
        ("~~old~~ **new**", "<p><s>old</s> <strong>new</strong></p>\n"),
        (f"![Ours](/blog/media/{MEDIUM})", f'<p><img src="media/{MEDIUM}" alt="Ours"></p>\n'),
        (
            "![Theirs](https://a.example/p.png)",
            '<p><a href="https://a.example/p.png" rel="nofollow noopener">Theirs</a></p>\n',
        ),
        ("[m](mailto:a@a.example)", '<p><a rel="nofollow noopener">m</a></p>\n'),
    ],
)
def test_what_is_written_is_shown_so(text: str, html: str) -> None:
    assert str(render_markdown(text, media="media/")) == html


@pytest.mark.parametrize("mark", ["![", "[](", "*a ", "[a](<", "~~a"])
def test_marks_of_an_endless_paragraph_are_shown_as_written(mark: str) -> None:
    """A parser needs time that grows with the square of some of them."""
    text = mark * (512 * 1024 // len(mark))

    assert ParsedPage(str(render_markdown(text))).text.strip() == text.strip()


def test_a_longer_paragraph_leaves_others_as_they_are() -> None:
    long = "*a* " * (MAX_PARAGRAPH_CHARS // 4 + 1)

    assert "<em>b</em>" in render_markdown(f"{long}\n\n*b*")
    assert "<em>a</em>" not in render_markdown(long)
    assert "<em>a</em>" in render_markdown(long[:MAX_PARAGRAPH_CHARS])


def test_a_reference_cannot_make_a_page_of_gigabytes() -> None:
    text = f"[a]: /{'x' * 100_000}\n\n" + "[a]\n\n" * 1_000

    assert len(render_markdown(text)) < 2 * MAX_ADDRESS_CHARS


@pytest.mark.parametrize(
    "text", ["> " * 10_000 + "x", "- " * 10_000 + "x", "".join("  " * n + "- x\n" for n in range(300))]
)
def test_deep_texts_end(text: str) -> None:
    assert len(render_markdown(text)) < 2_000


def test_pictures_are_listed_where_they_are_shown() -> None:
    assert list_pictures("![a](a.png) `![](b.png)` [![c][d]](e.png)\n\n[d]: <f g.png>") == ["a.png", "f%20g.png"]
