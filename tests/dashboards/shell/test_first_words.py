"""The first words of a page: its skeleton is readable markup that waits for no font, no picture and no script."""

from __future__ import annotations

import re

import pytest

from attestlab_dashboards import assets
from attestlab_dashboards.page_list import PAGES
from attestlab_dashboards.pages import AnyPage, Facts
from attestlab_dashboards.shell import draw_head, draw_shell

FACTS = Facts("Ann", "ann@demo.example", "Demo", "", "demo", frozenset(), frozenset())
STYLE_NAMES = [path.name for name, path in sorted(assets.list_served().items()) if name.endswith(".css")]


@pytest.mark.parametrize("name", STYLE_NAMES)
def test_no_style_brings_a_font_or_another_file(name: str) -> None:
    """The fonts are those that the system has, so that no text is blank until one has arrived."""
    style = (assets.FOLDER / name).read_text(encoding="utf-8")

    assert re.findall(r'@font-face|@import|url\((?!"data:image)', style) == []


def test_the_head_loads_styles_before_the_first_paint_and_no_font() -> None:
    head = str(draw_head())

    assert re.findall(r"preload|fonts?\.|woff", head) == []
    assert re.findall(r'rel="stylesheet" href="([a-z]+)', head) == ["assets"] * 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path)
def test_the_question_of_a_page_is_in_the_first_answer(page: AnyPage) -> None:
    shell = str(draw_shell(page, PAGES, FACTS))

    assert f"<h1>{page.question}</h1>" in shell
    assert "<script" not in shell
