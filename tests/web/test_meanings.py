"""The meaning of a field is the line under it, there or in a base; the class names its object and its source."""

from __future__ import annotations

import pytest
from pydantic import Field

from attestlab.core.shapes import In, Out, find_source, find_wire_name
from attestlab.web.openapi.meanings import Meaning, find_meaning, list_wire_fields
from attestlab.web.openapi.schemas import name_schema
from attestlab.web.paging import Page


class ShelfOut(Out, wire_name="book_shelf", source="docs/books.md"):
    """A shelf."""

    id: str
    """The shelf. Format: letters."""
    title: str
    """Its title,
    which may be long. Format: text, 1-20 characters. Source: ISBN.
    """
    width: int
    room: str = Field(serialization_alias="place")
    """Where it is."""


class LongShelfOut(ShelfOut, source="docs/long.md"):
    """A shelf whose title means something else."""

    title: str
    """Its subject."""
    width: int


class BorrowBookIn(In):
    """A book to borrow."""


def test_a_meaning_has_text_format_and_source() -> None:
    assert find_meaning(ShelfOut, "title") == Meaning("Its title, which may be long", "text, 1-20 characters", "ISBN")


def test_a_meaning_without_a_source_has_that_of_the_class_that_declares_the_field() -> None:
    assert find_meaning(LongShelfOut, "id") == Meaning("The shelf", "letters", "docs/books.md")
    assert find_meaning(LongShelfOut, "title") == Meaning("Its subject", None, "docs/long.md")


def test_a_field_without_a_line_has_no_meaning() -> None:
    assert find_meaning(LongShelfOut, "width") is None


def test_a_meaning_that_is_no_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match="does not end with a full stop"):
        Meaning.parse("The shelf")


def test_a_field_is_listed_by_its_name_in_json() -> None:
    assert list_wire_fields(ShelfOut) == {"id": "id", "title": "title", "width": "width", "place": "room"}


def test_an_object_is_named_by_its_class_or_like_it() -> None:
    assert [find_wire_name(each) for each in (ShelfOut, LongShelfOut, BorrowBookIn)] == [
        "book_shelf",
        "long_shelf",
        "borrow_book_input",
    ]
    assert [find_source(each) for each in (ShelfOut, BorrowBookIn)] == ["docs/books.md", None]


def test_a_schema_is_named_like_its_object_and_a_page_after_its_items() -> None:
    assert [name_schema(each) for each in (ShelfOut, Page[ShelfOut])] == ["BookShelf", "BookShelfPage"]
