"""The colours of a policy's text: they stand behind the letters of the editor, follow each key, and run nothing."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from support.browser import SERIOUS, list_violations, needs_chromium
from support.dashboards.windows import Windows

pytestmark = needs_chromium

AREA = "textarea[data-keep]"
LINES = ".po-lines > div"
TEXT = """# a remark
name = "checks # of <img src=x onerror=alert(1)>"
"a key" = [
  ["x", 'y'], 70.5, true,
]
[[rules]] # another
when = \"\"\"
[not] a = table
\"\"\"
rest = "open
"""
PAINT = """(text) => attestlabSyntax.paintLines(text).map((line) =>
  [...line.querySelectorAll("span")].map((span) => [span.className.slice(3), span.textContent]))"""


def test_each_piece_of_a_text_has_its_kind(windows: Windows) -> None:
    with windows.visit("/dash/policy") as page:
        assert page.evaluate(PAINT, TEXT) == [
            [["comment", "# a remark"]],
            [["key", "name"], ["string", '"checks # of <img src=x onerror=alert(1)>"']],
            [["key", '"a key"']],
            [["string", '"x"'], ["string", "'y'"], ["number", "70.5"], ["word", "true"]],
            [],
            [["table", "[[rules]] "], ["comment", "# another"]],
            [["key", "when"], ["string", '"""']],
            [["string", "[not] a = table"]],
            [["string", '"""']],
            [["key", "rest"], ["string", '"open']],
            [],
        ]


def test_the_longest_texts_are_read_once(windows: Windows) -> None:
    """The pieces of a text together are the text, also of one that a pattern could read again and again."""
    with windows.visit("/dash/policy") as page:
        for piece in ('"""', "[\n", "a", "=", '"\\', "'''\n", "ä😀‮"):
            text = piece * (60_000 // len(piece))
            count = "(text) => attestlabSyntax.paintLines(text).map((line) => line.textContent).join('\\n') === text"
            assert page.evaluate(count, text), piece


def test_colours_follow_what_is_typed_and_run_nothing(windows: Windows) -> None:
    with windows.visit("/dash/policy", fresh=True) as page:
        assert read_lines(page) == page.input_value(AREA)
        page.fill(AREA, TEXT)
        assert read_lines(page) == TEXT
        expect(page.locator(f"{LINES} .sx-table")).to_have_text("[[rules]] ")
        assert page.locator(f"{LINES} img").count() == 0
        hidden, shown = (read_colour(page, name) for name in (AREA, f"{LINES} .sx-table"))
        assert hidden == "rgba(0, 0, 0, 0)"
        assert shown != hidden


def test_colours_are_readable_in_both_themes(windows: Windows) -> None:
    for theme in ("light", "dark"):
        with windows.visit("/dash/policy", color_scheme=theme) as page:
            expect(page.locator(f"{LINES} .sx-string").first).to_be_attached()
            assert list_violations(page, *SERIOUS) == []


def read_lines(page: Page) -> str:
    return "\n".join(page.locator(LINES).all_text_contents())


def read_colour(page: Page, name: str) -> str:
    colour: str = page.locator(name).first.evaluate("(part) => getComputedStyle(part).color")
    return colour
