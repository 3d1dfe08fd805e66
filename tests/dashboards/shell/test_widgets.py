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
