"""Tables: the record declares the columns, and the SQLModel class is derived from it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, NamedTuple, get_type_hints

import pytest
from pydantic import Field as PydanticField
from sqlmodel import Field

from attestlab.core.db.tables import model_of, table_of
from attestlab.risk.signals.store import RiskSignal, RiskSignalRecord

signals = table_of(RiskSignal)


def test_model_has_the_name_and_the_docstring_of_its_record() -> None:
    assert (RiskSignal.__name__, RiskSignal.__module__) == ("RiskSignal", RiskSignalRecord.__module__)
    assert RiskSignal.__doc__ == RiskSignalRecord.__doc__


def test_columns_are_the_fields_of_the_record_in_their_order() -> None:
    assert tuple(signals.c.keys()) == RiskSignalRecord._fields
    assert [column.name for column in signals.primary_key] == ["seq"]
    assert signals.c.source.type.length == 64


def test_a_column_is_nullable_where_its_type_admits_none() -> None:
    assert {column.name for column in signals.c if column.nullable} == {"case_id", "event_id", "replaces"}


def test_a_default_of_the_record_is_no_default_of_the_column() -> None:
    assert RiskSignalRecord._field_defaults["hash"] == b""
    assert [column.name for column in signals.c if column.default is not None or column.server_default] == []


def test_annotations_of_a_record_are_read_as_plain_types() -> None:
    hints = get_type_hints(RiskSignalRecord)

    assert (hints["seq"], hints["source"], hints["occurred_at"]) == (int, str, datetime)


class OfNoColumnType(NamedTuple):
    names: list[str]


class OfTwoTypes(NamedTuple):
    size: int | str | None


class AnnotatedWithANumber(NamedTuple):
    name: Annotated[str, 64]


class AnnotatedWithAnotherField(NamedTuple):
    name: Annotated[str, PydanticField(max_length=64)]


class WithADefaultForTheColumn(NamedTuple):
    name: Annotated[str, Field(default="", max_length=64)]


class OfAnotherTable(NamedTuple):
    seq: Annotated[int, Field(primary_key=True)]


@pytest.mark.parametrize(
    ("record", "table", "message"),
    [
        (OfNoColumnType, "things", r"The column things\.names has the type list\[str\]; declare one of bool, bytes,"),
        (OfTwoTypes, "things", r"The column things\.size has the type int \| str \| None; declare one of"),
        (AnnotatedWithANumber, "things", r"The column things\.name is annotated with 64; annotate it with SQLModel's"),
        (
            AnnotatedWithAnotherField,
            "things",
            r"The column things\.name is annotated with FieldInfo\(.*with SQLModel's",
        ),
        (
            WithADefaultForTheColumn,
            "things",
            r"The column things\.name has a default in Field\(\.\.\.\); write it after",
        ),
        (OfAnotherTable, "risk_signals", "The table risk_signals cannot be declared: .*already defined"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_wrong_declaration_is_refused(record: type[NamedTuple], table: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        model_of(record, table)
