"""A wire model is made of a row by name; what has no source is refused when the renderer is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from pydantic import Field

from attestlab.core.row_rendering import RowRenderer
from attestlab.core.shapes import Out


class BookRecord(NamedTuple):
    """A row, with a column that is not rendered."""

    id: int
    title: str
    pages: int
    secret: bytes

    @property
    def is_long(self) -> bool:
        """Whether the book has more than 100 pages."""
        return self.pages > 100


class BookOut(Out):
    """A model of the row."""

    id: int
    schema_id: str = Field(alias="schema")
    is_long: bool
    url: str


BOOK = BookRecord(7, "Orlando", 336, b"s")


def test_fields_are_copied_by_name_renamed_or_computed() -> None:
    render = RowRenderer(BookOut, BookRecord, computed=["url"], schema_id="title")

    assert render(BOOK, url="/7").model_dump() == {"id": 7, "schema": "Orlando", "is_long": True, "url": "/7"}


def test_a_function_of_the_row_is_a_source_too() -> None:
    render = RowRenderer(BookOut, BookRecord, schema_id="title", url=lambda row: f"/{row.id}")

    assert render(BOOK).url == "/7"


def test_functions_of_the_row_may_be_the_only_sources() -> None:
    class Label(Out):
        text: str

    assert RowRenderer(Label, BookRecord, text=lambda row: f"{row.id}: {row.title}")(BOOK).text == "7: Orlando"


def test_a_field_without_a_column_is_refused_with_class_and_field() -> None:
    with pytest.raises(TypeError, match=r"BookOut\.schema_id has no source: BookRecord has no 'schema_id'"):
        RowRenderer(BookOut, BookRecord, computed=["url"])


def test_a_method_of_tuples_is_no_column() -> None:
    class Counted(Out):
        count: int

    with pytest.raises(TypeError, match=r"Counted\.count has no source"):
        RowRenderer(Counted, BookRecord)


@pytest.mark.parametrize("declared", [{"computed": ["url", "price"]}, {"computed": ["url"], "price": "pages"}])
def test_a_declaration_of_no_field_is_refused(declared: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"BookOut has no field 'price'"):
        RowRenderer(BookOut, BookRecord, schema_id="title", **declared)


def test_a_computed_field_that_a_call_forgets_is_an_error() -> None:
    render = RowRenderer(BookOut, BookRecord, computed=["url"], schema_id="title")

    with pytest.raises(ValueError, match="url"):
        render(BOOK)


def test_one_field_alone_is_copied() -> None:
    class Titled(Out):
        title: str

    assert RowRenderer(Titled, BookRecord)(BOOK).title == "Orlando"


def test_a_dataclass_is_a_row_too() -> None:
    @dataclass(frozen=True)
    class Found:
        title: str

    class Titled(Out):
        name: str

    assert RowRenderer(Titled, Found, name="title")(Found("Orlando")).name == "Orlando"


class ShelvedBook(NamedTuple):
    """What is read together: a row with a part, and another part that has a column of the same name."""

    book: BookRecord
    shelf: BookRecord
    place: str


def test_columns_of_parts_are_sources_too_and_those_of_the_row_come_first() -> None:
    class Shelved(Out):
        title: str
        pages: int
        place: str

    class Placed(NamedTuple):
        book: BookRecord
        title: str
        place: str

    render = RowRenderer(Shelved, Placed, parts={"book": BookRecord})

    assert render(Placed(BOOK, "Ours", "B2")).model_dump() == {"title": "Ours", "pages": 336, "place": "B2"}


def test_a_column_of_two_parts_is_named_with_its_part() -> None:
    class Shelved(Out):
        title: str

    parts = {"book": BookRecord, "shelf": BookRecord}

    with pytest.raises(TypeError, match=r"Shelved\.title has several sources: book\.title, shelf\.title"):
        RowRenderer(Shelved, ShelvedBook, parts=parts)
    render = RowRenderer(Shelved, ShelvedBook, parts=parts, title="shelf.title")
    assert render(ShelvedBook(BOOK, BOOK._replace(title="Shelf 2"), "B2")).title == "Shelf 2"


def test_a_part_that_the_row_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match="ShelvedBook has no 'page', which the renderer of BookOut has as a part"):
        RowRenderer(BookOut, ShelvedBook, parts={"page": BookRecord})
