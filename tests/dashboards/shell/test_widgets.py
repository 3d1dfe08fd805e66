"""The drawn parts that the pages share."""

from __future__ import annotations

import re

from attestlab_dashboards import widgets
from attestlab_dashboards.safe import html
from attestlab_dashboards.widgets import Kpi, TableColumn, kpi_strip

CELLS = [html("a"), html("b")]


def test_a_title_for_screen_readers_is_in_its_header() -> None:
    columns = [TableColumn("Case"), TableColumn("Change", is_spoken_only=True)]
    drawn = widgets.table(columns, [CELLS], caption="Cases", keys=["x"])

    assert '<th scope="col"><span class="al-hidden">Change</span></th>' in drawn
    assert '<th scope="col">Case</th>' in drawn


def test_marks_distinguish_rows_with_one_key() -> None:
    columns = [TableColumn("Entity"), TableColumn("Case")]
    drawn = widgets.table(
        columns, [CELLS, CELLS], caption="Cases", keys=["user:u", "user:u"], marks=["1", "2"], row_ev="entity"
    )

    assert re.findall(r'data-v="([^"]*)"', drawn) == ["user:u", "user:u"]
    assert re.findall(r'data-key="([^"]*)"', drawn) == ["entity:1", "entity:2"]


def test_a_table_and_its_pager_are_no_landmarks_besides_their_card() -> None:
    drawn = widgets.table([TableColumn("Case")], [CELLS[:1]], caption="Cases", keys=["x"]) + widgets.pager(
        1, 9, ev="page"
    )

    assert not re.search(r'<nav|role="(?:region|navigation)"', drawn)
    assert re.findall(r'role="group" aria-label="([^"]*)"', drawn) == ["Pages"]


def test_the_label_of_a_tile_leads_to_its_rows() -> None:
    drawn = str(kpi_strip([Kpi(label="Active", value="3", rows="issuers", ev="status", v="ACTIVE")]))

    assert 'data-rows="issuers" data-key="rows:Active" data-ev="status" data-v="ACTIVE">Active</button>' in drawn
    assert "<button" not in str(kpi_strip([Kpi(label="Active", value="3")]))


def test_the_line_of_a_tile_shows_each_number_with_its_time_and_all_together_at_the_focus() -> None:
    drawn = str(kpi_strip([Kpi(label="Signals", value="9", values=[4, 5, 0.5], times=["1 Nov", "2 Nov", "3 Nov"])]))

    assert re.findall(r'<rect[^>]*data-tip="([^"]*)"', drawn) == ["1 Nov: 4", "2 Nov: 5", "3 Nov: 0.5"]
    assert 'tabindex="0" aria-label="Signals: 1 Nov 4; 2 Nov 5; 3 Nov 0.5" data-tip="Signals: 1 Nov 4;' in drawn
    assert "part 2 of 2: 1,500" in str(kpi_strip([Kpi(label="All", value="", values=[1, 1500])]))


def test_a_page_of_rows_has_ten_and_a_page_after_the_last_one_is_the_last_one() -> None:
    def draw(page: int) -> str:
        return str(
            widgets.paged_table(
                [TableColumn("Number")],
                range(23),
                lambda number: [html("{n}", n=number)],
                page=page,
                page_ev="page",
                caption="Numbers",
                key_of=str,
            )
        )

    assert re.findall(r'data-row="(\d+)"', draw(1)) == [str(number) for number in range(10)]
    assert re.findall(r'data-row="(\d+)"', draw(9)) == ["20", "21", "22"]
    assert 'data-key="page:3" aria-current="page"' in draw(9)
