"""Markup made inert, and cut to its bounds."""

from __future__ import annotations

from typing import LiteralString

import pytest

from attestlab_dashboards import safe
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.stills.bounds import fit_pane
from attestlab_dashboards.stills.elements import parse
from attestlab_dashboards.stills.inert import make_inert


def write_inert(template: LiteralString, address: str = "") -> str:
    return str(make_inert(html(template), address=address).write())


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ("<p>a<script>b</script>c</p>", "<p>ac</p>"),
        ('<p onclick="x()" data-ev="y" class="z">a</p>', '<p class="z">a</p>'),
        (
            '<button class="btn">Suspend</button><button class="al-open">ada</button>',
            '<span class="al-open">ada</span>',
        ),
        ('<button class="chip" aria-pressed="false">Off</button>', ""),
        ('<button class="chip" aria-pressed="true">On</button>', '<span class="chip" aria-pressed="true">On</span>'),
        ('<input type="hidden" value="secret"><input type="text" value="80">', "<b>80</b>"),
        ("<select><option>all</option><option selected>login</option></select>", "<b>login</b>"),
        ("<form><textarea>a &lt; b</textarea></form>", '<div><pre class="al-written">a &lt; b</pre></div>'),
        ('<a href="javascript:x()">a</a>', "<span>a</span>"),
        ('<a href="//elsewhere.example">a</a>', "<span>a</span>"),
        ('<svg><a href="?entity=7"><circle r="5"/></a></svg>', '<svg><g><circle r="5"></circle></g></svg>'),
        ('<image href="https://elsewhere.example/x.png"/>', "<image></image>"),
        ("<blink>a</blink><p hidden>b</p>", "<span>a</span>"),
        ("<p>a<br>b</p></div><p>c", "<p>a<br>b</p><p>c</p>"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_can_be_clicked_becomes_what_can_be_read(given: LiteralString, made: str) -> None:
    assert write_inert(given) == made


def test_a_link_leads_to_the_page_below_the_address() -> None:
    made = write_inert('<a href="log?entry=7">7</a>', "https://attestlab.example/dash/")
    assert made == '<a href="https://attestlab.example/dash/log?entry=7">7</a>'


def test_texts_are_escaped_again() -> None:
    made = make_inert(html('<b title="{it}">{it}</b>', it='"><script>x</script>'))
    assert "<script" not in str(made.write())
    assert made.read_text() == '"><script>x</script>'


def test_a_long_table_is_cut_and_says_how_much_is_missing() -> None:
    rows = join(html("<tr><td>{row}</td></tr>", row=f"row {number}") for number in range(400))
    cut = fit_pane(parse(html("<table><tbody>{rows}</tbody></table>", rows=rows)), max_bytes=3_000)
    kept = str(cut.write()).count("<tr>")
    assert 0 < kept < 400
    assert cut.size_bytes <= 3_000
    assert f"{400 - kept} more rows on the page." in cut.read_text()


def test_what_cannot_be_cut_is_left_out() -> None:
    cut = fit_pane(parse(html("<p>{text}</p>", text="x" * 5_000)), max_bytes=3_000)
    assert cut.read_text() == "This part is left out: a still has at most 3 kB. Open the page to see it."


@pytest.mark.parametrize("name", ["a b", "on>", "", "1a"])
def test_an_element_has_a_name_of_an_element(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        safe.element(name, {}, safe.NOTHING)
    with pytest.raises(ValueError, match="no name"):
        safe.element("b", {name: ""}, safe.NOTHING)


@pytest.mark.parametrize("sheet", ["a{}</style>", "<!--"])
def test_a_style_sheet_ends_no_element(sheet: str) -> None:
    with pytest.raises(ValueError, match="end its element"):
        safe.style(sheet)
