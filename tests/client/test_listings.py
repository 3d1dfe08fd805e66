"""What `list` returns: read page by page in a loop, by position and by slice, and as a table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from attestlab.client.analysis.listing import MAX_CARD_ITEMS, Listing
from attestlab.core.errors import NotFound, ValidationFailed
from attestlab.core.shapes import Out

COUNT = 25


class NumberOut(Out):
    """One object of a list."""

    number: int


class NumberList:
    """A list of the numbers up to `COUNT`; it notes how many of them were read."""

    def __init__(self) -> None:
        self.read = 0

    def list(self, *, limit: int | None = None) -> Listing[NumberOut]:
        return Listing("number", NumberOut, self._read, limit=limit)

    def _read(self) -> Iterator[NumberOut]:
        for number in range(COUNT):
            self.read += 1
            yield NumberOut(number=number)


@pytest.fixture
def numbers() -> NumberList:
    return NumberList()


def numbers_of(found: Iterator[NumberOut] | list[NumberOut]) -> list[int]:
    return [each.number for each in found]


def test_a_list_reads_nothing_before_an_object_is_wanted(numbers: NumberList) -> None:
    found = numbers.list(limit=3)

    assert repr(found) == "Listing(number, at most 3; a loop, [:3] or .df() reads it)"
    assert numbers.read == 0


def test_a_position_and_a_slice_read_no_more_than_they_need(numbers: NumberList) -> None:
    found = numbers.list()

    assert found[3].number == 3
    assert numbers.read == 4
    assert numbers_of(found[2:9:3]) == [2, 5, 8]
    assert numbers.read == 4 + 9
    assert found[:2].df()["number"].to_list() == [0, 1]


def test_a_loop_reads_a_list_once_whatever_else_is_asked(numbers: NumberList) -> None:
    found = numbers.list()

    assert next(found).number == 0
    assert found[0].number == 0
    assert found
    assert numbers_of(found) == [*range(1, COUNT)]
    assert numbers_of(found) == []
    assert len(found) == COUNT


def test_a_list_of_all_objects_is_read_once(numbers: NumberList) -> None:
    assert len(list(numbers.list())) == COUNT
    assert numbers.read == COUNT


def test_a_limit_bounds_positions_lengths_and_tables(numbers: NumberList) -> None:
    found = numbers.list(limit=3)

    assert (len(found), found.df().shape, found.pl().height, found.arrow().num_rows) == (3, (3, 1), 3, 3)
    assert numbers_of(reversed(found)) == [2, 1, 0]
    assert not numbers.list(limit=0)
    with pytest.raises(NotFound, match="No number at position 3 is known"):
        found[3]


@pytest.mark.parametrize("which", [-1, slice(-3, None), slice(None, None, -1)])
def test_what_counts_from_the_end_is_refused_with_the_remedy(numbers: NumberList, which: int | slice) -> None:
    with pytest.raises(ValidationFailed, match=r"no end to count from.*\[\*found\]\[-"):
        numbers.list()[which]

    assert numbers.read == 0


def test_a_closed_list_has_nothing_left_for_a_loop(numbers: NumberList) -> None:
    found = numbers.list()
    next(found)

    found.close()

    assert numbers_of(found) == []
    assert found[1].number == 1


def test_a_card_shows_the_first_objects_and_that_there_are_more(numbers: NumberList) -> None:
    card = numbers.list()._repr_html_()

    assert numbers.read == MAX_CARD_ITEMS + 1
    assert "NumberOut(number=4)" in card
    assert "NumberOut(number=5)" not in card
    assert "There are more" in card
    assert "There are more" not in numbers.list(limit=2)._repr_html_()
    assert "no object matches" in numbers.list(limit=0)._repr_html_()
