"""Parts of an answer as a table: the columns follow from the fields, whatever the rows are."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

import pyarrow as pa
import pytest
from pydantic import BaseModel

from attestlab.client.analysis.records import Records
from attestlab.client.handles.simulation_parts import SweptValues
from attestlab.core.shapes import Moment, Out, one_of
from attestlab.issuers.rules import TrustTier
from attestlab.simulation.shapes import FlipOut, SweptOut

AT = datetime(2026, 11, 2, tzinfo=UTC)
ID = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")


class InnerPart(Out):
    size: int


class OuterPart(Out):
    """A part with a field of each kind."""

    id: UUID
    at: Moment
    until: Moment | None
    tier: Annotated[str, one_of(TrustTier)]
    effect: Literal["ALLOW", "DENY"]
    count: int
    share: float | None
    is_open: bool
    words: list[str]
    inner: InnerPart
    parts: list[InnerPart]


class DetailedPart(Out):
    score: int
    details: dict[str, Any]


FULL = OuterPart(
    id=ID,
    at=AT,
    until=None,
    tier="BASIC",
    effect="DENY",
    count=1,
    share=None,
    is_open=True,
    words=["a"],
    inner=InnerPart(size=2),
    parts=[InnerPart(size=3)],
)


def test_the_types_are_the_same_with_rows_and_without() -> None:
    full, empty = Records([FULL], OuterPart), Records([], OuterPart)

    assert full.arrow().schema == empty.arrow().schema
    assert full.df().dtypes.to_dict() == empty.df().dtypes.to_dict()
    assert full.columns[-2:] == ["inner_size", "parts"]


def test_values_have_the_types_of_rows_from_the_lake() -> None:
    frame = Records([FULL], OuterPart).df()

    assert frame.loc[0, ["id", "effect", "inner_size", "parts"]].tolist() == [str(ID), "DENY", 2, '[{"size":3}]']
    assert frame["tier"].cat.ordered
    assert list(frame["tier"].cat.categories) == [tier.value for tier in TrustTier]
    assert str(frame["at"].dtype) == str(frame["until"].dtype) == "datetime64[us, UTC]"
    assert (str(frame["count"].dtype), str(frame["is_open"].dtype)) == ("Int64", "boolean")


def test_a_mapping_has_a_column_for_each_key() -> None:
    parts = [
        FlipOut.model_validate({"from": "DENY", "to": "ALLOW", "count": 2, "segments": segments})
        for segments in ({"trust_tier": "BASIC", "key.age_days": 3.5}, {"trust_tier": None, "key.age_days": "old"})
    ]

    table = Records(parts, FlipOut).arrow()

    assert table.column_names == ["from", "to", "count", "trust_tier", "key.age_days"]
    assert table["key.age_days"].to_pylist() == ["3.5", "old"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (([{"value": 0.5}], [{"value": "night"}]), ['[{"value":0.5}]', '[{"value":"night"}]']),
        (({"a": 1}, None), ['{"a":1}', None]),
        ((1, 2.5), [1.0, 2.5]),
        ((2**70, 1), [str(2**70), "1"]),
        ((True, 1), ["true", "1"]),
        ((True, None), [True, None]),
    ],
)
def test_members_of_a_mapping_have_one_type_or_are_json(values: tuple[object, ...], expected: list[object]) -> None:
    parts = [DetailedPart(score=60, details={"value": value}) for value in values]

    assert Records(parts, DetailedPart).arrow()["value"].to_pylist() == expected


def test_a_member_does_not_take_the_column_of_a_field() -> None:
    table = Records([DetailedPart(score=60, details={"score": 7, "attempts": 3})], DetailedPart).arrow()

    assert table.to_pylist() == [{"score": 60, "details_score": 7, "attempts": 3}]


def test_a_mapping_has_its_known_keys_without_a_row() -> None:
    records: Records[FlipOut] = Records([], FlipOut)
    records.members = ("trust_tier", "target_id")

    assert records.columns == ["from", "to", "count", "trust_tier", "target_id"]
    assert len(records.df().merge(records.df(), on="target_id")) == 0


def test_a_field_of_records_is_built_from_an_answer() -> None:
    class ReportPart(BaseModel):
        flips: Records[FlipOut]

    report = ReportPart.model_validate({"flips": [{"from": "DENY", "to": "ALLOW", "count": 2, "segments": {}}]})

    assert report.flips.pl()["count"].to_list() == [2]
    assert report.model_dump(by_alias=True)["flips"][0]["from"] == "DENY"
    assert repr(report.flips) == "Records(1 Flip)"
    assert "<table" in str(report.flips._repr_html_())


def test_a_list_says_that_a_limit_left_out_others() -> None:
    cut, exact, whole = (Records(iter([FULL] * 3), OuterPart, limit=limit) for limit in (2, 3, None))

    assert [(len(each), each.truncated) for each in (cut, exact, whole)] == [(2, True), (3, False), (3, False)]
    assert repr(cut) == "Records(2 OuterPart, and there are more)"
    assert repr(exact) == repr(whole) == "Records(3 OuterPart)"


def test_swept_thresholds_are_columns() -> None:
    counts = {"allowed": 1, "denied": 2, "opened": 0, "closed": 0, "is_current": False}
    one, two = ([SweptOut(values=values, **counts)] for values in ([3.0], [3.0, 4.0]))

    assert SweptValues(one).columns[:2] == ["value", "allowed"]
    assert SweptValues(two).columns[:3] == ["value", "second_value", "allowed"]
    assert SweptValues([]).columns[:2] == ["value", "allowed"]


def test_markup_in_a_text_is_escaped() -> None:
    part = FULL.model_copy(update={"words": ["<img src=x onerror=alert(1)>"], "parts": []})

    assert "<img" not in str(Records([part], OuterPart)._repr_html_())
    assert pa.types.is_string(Records([part], OuterPart).arrow().schema.field("id").type)
