"""Workbooks for Excel: whole, of plain values, and never code."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import attestlab
from attestlab.client.analysis import workbooks
from attestlab.client.lab import Lab
from attestlab.core.errors import ValidationFailed
from support.demo_caches import use_demo_caches

ODD = (
    "select '=1+1' as formula, 'http://a.example' as link, 'nan'::double as no_number, [1, null, 3] as numbers,"
    " [{'a': 1}] as nested, repeat('x', 40000) as long, timestamptz '2026-03-29 02:30:00+02' as moment"
)


@pytest.fixture(scope="module")
def world() -> Iterator[Lab]:
    """The demo's world."""
    with use_demo_caches(), attestlab.demo() as lab:
        yield lab


def read_sheet(file: Path) -> str:
    """Read the markup of the sheet and of its texts."""
    with zipfile.ZipFile(file) as parts:
        return "".join(parts.read(f"xl/{part}").decode() for part in ("sharedStrings.xml", "worksheets/sheet1.xml"))


def test_a_noun_and_a_query_write_a_line_for_each_row_and_one_of_names(world: Lab, tmp_path: Path) -> None:
    for number, rows in enumerate((world.issuers, world.sql("select * from signals limit 7"))):
        count = rows.to_excel(tmp_path / f"{number}.xlsx")
        sheet = read_sheet(tmp_path / f"{number}.xlsx")

        assert len(re.findall("<row ", sheet)) == count + 1
        assert all(f">{name}</t>" in sheet for name in rows.columns)


def test_a_text_is_neither_a_formula_nor_a_link_and_fits_its_cell(world: Lab, tmp_path: Path) -> None:
    world.sql(ODD).to_excel(tmp_path / "odd.xlsx")
    sheet = read_sheet(tmp_path / "odd.xlsx")

    assert ">=1+1</t>" in sheet
    assert "<f>" not in sheet
    assert "<hyperlink" not in sheet
    assert ">1, 3</t>" in sheet
    assert ">[{&apos;a&apos;: 1}]</t>" in sheet or ">[{'a': 1}]</t>" in sheet
    assert max(map(len, re.findall(r"<t[^>]*>([^<]*)</t>", sheet))) == workbooks.MAX_CELL_CHARACTERS
    assert re.search(r"<v>46110\.02083", sheet), "half past midnight, in UTC"


def test_more_rows_than_a_sheet_has_are_refused_and_the_file_of_before_stays(
    world: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rows.xlsx"
    world.issuers.to_excel(file)
    before = file.read_bytes()
    monkeypatch.setattr(workbooks, "MAX_SHEET_ROWS", 5)

    with pytest.raises(ValidationFailed, match="There are 9 rows, and a sheet of Excel has at most 5"):
        world.issuers.to_excel(file)
    assert file.read_bytes() == before


def test_a_file_that_cannot_be_written_is_named(world: Lab, tmp_path: Path) -> None:
    with pytest.raises(ValidationFailed, match="cannot be written: No such file or directory"):
        world.issuers.to_excel(tmp_path / "nowhere" / "rows.xlsx")
