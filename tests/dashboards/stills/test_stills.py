"""Stills of the real pages: what each shows stands in one bounded file without a script, another host or a form."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser

import pytest

from attestlab import Lab
from attestlab.core.errors import NotFound
from attestlab_dashboards.facts import read_facts
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.safe import html
from attestlab_dashboards.stills.bounds import MAX_PAGE_BYTES, MAX_PANE_BYTES
from attestlab_dashboards.stills.drawing import Still, draw_still
from attestlab_dashboards.stills.elements import parse
from attestlab_dashboards.stills.file import write_still
from support.risk_story import HOSTILE_USER

URL = "https://attestlab.example"
EACH_PAGE = pytest.mark.parametrize("path", [page.path for page in PAGES])
FORBIDDEN_TAGS = {
    "script",
    "form",
    "input",
    "button",
    "select",
    "textarea",
    "iframe",
    "object",
    "embed",
    "link",
    "base",
}


class Reader(HTMLParser):
    """Reads the names, attributes and addresses of a file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.addresses |= {str(value) for name, value in attrs if name in ("href", "src", "action", "xlink:href")}


@cache
def draw(lab: Lab, path: str, query: str = "") -> Still:
    return draw_still(lab, path, query, facts=read_facts(lab, "demo"), url=URL)


@EACH_PAGE
def test_a_page_is_one_bounded_file_that_can_do_nothing(ann: Lab, path: str) -> None:
    still = draw(ann, path)
    text = write_still(still)
    found = Reader(text)
    assert not found.tags & FORBIDDEN_TAGS
    assert not {name for name in found.attributes if name.startswith("on")}
    assert all(each.startswith((f"{URL}/", "data:image/png;base64,")) for each in found.addresses), found.addresses
    assert "url(http" not in text
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in unescape(text)
    assert "prefers-color-scheme:dark" in text
    assert len(text.encode()) <= MAX_PAGE_BYTES
    assert all(pane.size_bytes <= MAX_PANE_BYTES for pane in still.panes.values())


@EACH_PAGE
def test_a_still_has_the_answer_and_the_figures_of_its_page(ann: Lab, path: str) -> None:
    still = draw(ann, path)
    words = parse(html("{text}", text=still.panes["kpis"].write())).read_text()
    answer, *figures = still.sentences
    assert answer == still.panes["answer"].read_text()
    assert len(figures) >= 4
    for figure in figures:
        value = figure.split(": ", 1)[1].partition(" (")[0]
        assert value in words, figure
    assert still.caption.startswith(f"{still.name} of ")
    assert re.search(r"\d{4}, \d\d:\d\d UTC", still.caption)


def test_no_text_of_a_stranger_becomes_markup(ann: Lab) -> None:
    assert HOSTILE_USER not in write_still(draw(ann, "risk", f"entity=user:{HOSTILE_USER}"))


def test_the_filters_of_a_link_are_those_of_its_still(ann: Lab) -> None:
    still = draw(ann, "risk", "?window=24h&source=login&gone=1")
    assert "Source: Login" in still.filters
    assert any(words.startswith("24 hours") for words in still.filters)
    assert still.address == f"{URL}/dash/risk?window=24h&source=login"


def test_who_may_not_see_a_page_gets_the_reason(ann: Lab) -> None:
    facts = read_facts(ann, "demo")._replace(scopes=frozenset())
    page = next(page for page in PAGES if page.scope)
    still = draw_still(ann, page.path, facts=facts)
    assert page.scope in write_still(still)
    assert "kpis" not in still.panes


def test_an_unknown_page_is_none(ann: Lab) -> None:
    with pytest.raises(NotFound):
        draw(ann, "secrets")


def test_what_the_file_has_no_room_for_is_said(ann: Lab) -> None:
    still = draw(ann, "log")
    filler = parse(html("<p>{text}</p>", text="x" * (MAX_PANE_BYTES - 10)))
    full = replace(still, panes={"answer": filler, **{f"part{number}": filler for number in range(9)}})
    text = write_still(full)
    assert len(text.encode()) <= MAX_PAGE_BYTES
    assert "This part is left out: a still has at most 300 kB." in text
