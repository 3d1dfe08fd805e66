"""`Listing`: the objects that a list of the service has, read page by page as they are needed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Generic, SupportsIndex, TypeVar, Unpack, overload

from attestlab.client import arguments
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.refused_filters import refuse_filters
from attestlab.client.cards import CardRow, CardTone, draw_card, join, write_code
from attestlab.client.public_names import list_public_names
from attestlab.core.errors import AttestLabError, NotFound, ValidationFailed
from attestlab.core.shapes import Shape
from attestlab.core.short_text import MAX_REPR_CHARACTERS, shorten

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from attestlab.client.collections.filters import NoFilterArgs

Item = TypeVar("Item", bound=Shape)

MAX_CARD_ITEMS = 5


class Listing(Iterator[Item], Generic[Item]):
    """The objects of a list, in its order; nothing is read before one is wanted.

    It is an iterator, so one loop reads it once. `[0]`, `[:3]`, `len`, `df` and the like read it from its begin, as it
    is then, and leave a loop where it is; `[0]` and `[:3]` read no more pages than they need, the others all.
    """

    def __init__(
        self, noun: str, item: type[Item], read: Callable[[], Iterator[Item]], *, limit: int | None = None
    ) -> None:
        """Take the objects that `read` yields, or the first `limit` of them; it is called for each reading.

        `noun` names one of them in messages.
        """
        self._noun = noun
        self._item = item
        self._read = read
        self._limit = None if limit is None else arguments.read_count(limit, name="limit")
        self._rest: Iterator[Item] | None = None  # what the loop has not seen; None before it begins

    def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read all objects as a data frame, with types as those of `Rows.df`.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each object, in the order of the list.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the list.
            MissingExtra: pandas is not installed.
            Unavailable: the service cannot be reached.

        >>> lab.cases.list(status="open", limit=2).df()["status"].to_list()
        ['open', 'open']
        """
        self._refuse(filters, "df")
        return self[:].df()

    def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Read all objects as a Polars frame.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each object, in the order of the list.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the list.
            MissingExtra: polars is not installed.
            Unavailable: the service cannot be reached.

        >>> lab.issuers.list(limit=2).pl().height
        2
        """
        self._refuse(filters, "pl")
        return self[:].pl()

    def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Read all objects as a pyarrow Table.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each object, in the order of the list.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            PermissionDenied: the caller may not read the list.
            MissingExtra: pyarrow is not installed.
            Unavailable: the service cannot be reached.

        >>> lab.cases.list(status="open", limit=3).arrow().num_rows
        3
        """
        self._refuse(filters, "arrow")
        return self[:].arrow()

    def close(self) -> None:
        """End the loop that reads it, and what that holds open; may be called again.

        >>> found = lab.issuers.list()
        >>> found.close()
        >>> [*found]
        []
        """
        rest, self._rest = self._rest, iter(())
        if isinstance(rest, Generator):
            rest.close()

    @overload
    def __getitem__(self, which: slice) -> Records[Item]: ...

    @overload
    def __getitem__(self, which: SupportsIndex) -> Item: ...

    def __getitem__(self, which: SupportsIndex | slice) -> Item | Records[Item]:
        """Return the object at a position, or those of a slice as a list that is a table too."""
        if isinstance(which, slice):
            arguments.require_slice(which)
            return Records(islice(self._begin(), which.start, which.stop, which.step), self._item)
        position = arguments.find_whole_number(which)
        if position is None:
            raise ValidationFailed(
                f"{arguments.show(which)} is no position in a list. Pass a number from 0, or a slice such as [:3]."
            )
        return self._at(position)

    def __len__(self) -> int:
        """Count the objects by reading all. `list(found)` asks before its loop begins: that reads them once."""
        found = self[:]
        if self._rest is None:
            self._rest = iter(found)
        return len(found)

    def __bool__(self) -> bool:
        return next(self._begin(), None) is not None

    def __iter__(self) -> Listing[Item]:
        return self

    def __next__(self) -> Item:
        if self._rest is None:
            self._rest = self._begin()
        return next(self._rest)

    def __repr__(self) -> str:
        most = "" if self._limit is None else f", at most {self._limit}"
        return shorten(f"Listing({self._noun}{most}; a loop, [:3] or .df() reads it)", MAX_REPR_CHARACTERS)

    def _repr_html_(self) -> str:
        """Draw the first objects, which it reads; a card that cannot read them says why."""
        try:
            found = self[: MAX_CARD_ITEMS + 1]
        except AttestLabError as error:
            return draw_card(CardTone.WARN, "LIST", self._noun, [CardRow("Not read", error.message)])
        rows = [CardRow(f"[{number}]", repr(each)) for number, each in enumerate(found[:MAX_CARD_ITEMS])]
        more = join("There are more. Read them with a loop, ", write_code("[:20]"), " or ", write_code(".df()"))
        foot = more if len(found) > MAX_CARD_ITEMS else None
        return draw_card(CardTone.CALM, "LIST", self._noun, rows or [CardRow("Empty", "no object matches")], foot=foot)

    def __dir__(self) -> list[str]:
        return sorted(list_public_names(type(self)))

    def _reverse(self) -> Iterator[Item]:
        return reversed(self[:])

    __reversed__ = _reverse  # Python would ask for the length and each position, page by page

    def _refuse(self, filters: Mapping[str, object], verb: str) -> None:
        refuse_filters(filters, verb, "Pass filters to the verb that lists, such as .list(status=...).df().")

    def _begin(self) -> Generator[Item]:
        yield from islice(self._read(), self._limit)

    def _at(self, position: int) -> Item:
        if position < 0:
            raise ValidationFailed(
                f"There is no position {position}: the first is 0, and the list has no end to count from. "
                f"Read all of it: [*found][{position}]."
            )
        arguments.read_count(position, name="The position")
        found = next(islice(self._begin(), position, None), None)
        if found is None:
            raise NotFound(f"{self._noun} at position", position)
        return found
