"""Files of a pane's rows: a spreadsheet that opens one runs none of its texts."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from pydantic import BaseModel

from attestlab.client.analysis.records import Records
from attestlab_dashboards.downloads import FORMATS

FORMULAS = ["=HYPERLINK(A1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"]


class Part(BaseModel):
    name: str | None
    change: float


@pytest.fixture
def rows() -> Records[Part]:
    parts = [Part(name=text, change=-1.5) for text in [*FORMULAS, "plain", "a=b", ""]]
    return Records([*parts, Part(name=None, change=2.0)], Part)


def test_csv_keeps_texts_from_being_formulas(rows: Records[Part]) -> None:
    content = FORMATS["csv"][1](rows).decode()
    read = list(csv.DictReader(io.StringIO(content, newline="")))

    assert [row["name"] for row in read] == [*(f"'{text}" for text in FORMULAS), "plain", "a=b", "", ""]
    assert {row["change"] for row in read} == {"-1.5", "2.0"}


@pytest.mark.parametrize(("name", "read"), [("parquet", pd.read_parquet), ("json", pd.read_json)])
def test_formats_for_programs_have_the_texts_as_they_are(rows: Records[Part], name: str, read: object) -> None:
    content = FORMATS[name][1](rows)
    frame = read(io.BytesIO(content))

    assert [text for text in frame["name"] if isinstance(text, str)] == [*FORMULAS, "plain", "a=b", ""]
