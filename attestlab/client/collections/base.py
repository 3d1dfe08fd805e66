"""`Collection`: a noun of a lab. It iterates over the service's list, newest first, and finds an object by its id."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, Unpack, overload

from attestlab.client import arguments, lab_cards
from attestlab.client.analysis.listing import Listing
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.row_forms import RowForms
from attestlab.client.analysis.rows import DEFAULT_HEAD
from attestlab.client.cards import CardRow
from attestlab.client.collections.filters import NoFilterArgs, describe_filters, read_filters
from attestlab.client.handles.base import Handle
from attestlab.client.own_examples import is_copied, name_of_noun
from attestlab.client.public_names import list_public_names
from attestlab.client.service_client import ServiceClient, path_of
from attestlab.client.service_errors import naming_remedy
from attestlab.core.short_text import MAX_REPR_CHARACTERS, shorten
from attestlab.web.paging import PageQuery

if TYPE_CHECKING:
    import pandas as pd

Item = TypeVar("Item", bound=Handle)

HIDDEN_NAMES = frozenset({"dataset", "noun", "path", "query"})  # from people's `dir`
MAX_COMPLETIONS = 200  # names that a Tab offers
_SHARED = frozenset({__name__, RowForms.__module__, Generic.__module__, object.__module__})  # classes of all nouns


class Collection(Generic[Item]):
    """One noun of a lab, such as `lab.attestations`."""

    noun: ClassVar[str]  # singular, for messages
    path: ClassVar[str]
    query: ClassVar[type[PageQuery]] = PageQuery  # of its list

    def __init__(self, client: ServiceClient, item: type[Item]) -> None:
        self._client = client
        self._item = item

    def list(self, *, limit: int | None = None, **filters: Unpack[NoFilterArgs]) -> Listing[Item]:
        """List all objects, newest first; these have no filters.

        Args:
            limit: how many at most; all by default.

        Returns:
            The objects, which are read page by page when a loop, an index or a verb such as `df` wants them.

        Raises:
            ValidationFailed: `limit` is no number from 0, or there is a filter.

        >>> len(lab.issuers.list(limit=1))
        1
        """
        return self._list(limit, filters)

    @property
    def filters(self) -> dict[str, str]:
        """The filters of `list`: each name, and what it takes."""
        return describe_filters(type(self).list)

    def __iter__(self) -> Listing[Item]:
        return self.list()

    @overload
    def __getitem__(self, which: slice) -> Records[Item]: ...  # type: ignore[overload-overlap]  # by id too

    @overload
    def __getitem__(self, which: object) -> Item: ...

    def __getitem__(self, which: object) -> Item | Records[Item]:
        """Return the object with an id, the object at a position (newest first), or a list for a slice."""
        if isinstance(which, slice):
            return self.list()[which]
        position = arguments.find_whole_number(which)
        with naming_remedy(f"`lab.{name_of_noun(type(self))}` lists them."):
            return self._find(which) if position is None else self.list()[position]

    def __repr__(self) -> str:
        return describe_noun(type(self), self._client.place)

    def _repr_html_(self) -> str:
        return self._draw_card(self._read_card_rows)

    def _draw_card(self, *reads: lab_cards.Read) -> str:
        """Draw the card with the contents that `reads` read, none of which raises; without one it reads nothing."""
        kind = type(self)
        about, verbs = (kind.__doc__ or "").partition("\n")[0], list_own_verbs(kind)
        has_rows = issubclass(kind, RowForms)
        return lab_cards.draw_noun(name_of_noun(kind), about, self._client.place, verbs, reads, has_rows=has_rows)

    def _read_card_rows(self) -> Iterator[CardRow]:
        """Read the newest objects for the card."""
        found = self[: lab_cards.MAX_ITEMS]
        if not found:
            yield CardRow("Empty", "none yet")
        yield from lab_cards.list_newest(found)
        if found.truncated:
            yield CardRow("", "and older ones")

    def __dir__(self) -> builtins.list[str]:
        return sorted(list_public_names(type(self), hidden=HIDDEN_NAMES))

    def _list(self, limit: int | None, filters: Mapping[str, object]) -> Listing[Item]:
        """List the objects that match filters, which are checked before anything is read (`read_filters`)."""
        asked = read_filters(self.query, filters)
        return self._list_read(lambda: self._client.iterate(self.path, asked), limit)

    def _list_read(self, read: Callable[[], Iterable[object]], limit: int | None) -> Listing[Item]:
        """List the objects of the answers that `read` yields."""
        noun = self.noun.partition(" ")[2]
        return Listing(noun, self._item, lambda: map(self._parse, read()), limit=limit)

    def _find(self, which: object) -> Item:
        found = arguments.read_id(which, self.noun)
        return self._parse(self._client.get(f"{self.path}{path_of(found)}"))

    def _parse(self, answer: object) -> Item:
        return self._item.parse(self._client, answer)


class DatasetCollection(RowForms, Collection[Item]):
    """A noun whose rows the lake has too: iteration yields objects, and `df` and the like read rows."""

    def head(self, count: int = DEFAULT_HEAD, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Read the newest rows as a data frame.

        Args:
            count: how many at most.
            filters: none; the message says where they go.

        Returns:
            One row for each object of the data set, the newest first.

        Raises:
            ValidationFailed: `count` is no number from 0.
            PermissionDenied: the caller may not read the data set.

        >>> len(lab.issuers.head(1))
        1
        """
        self._refuse(filters, "head")
        return self.rows.head(count)

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        return self._draw_card(self._count_kinds, self._read_card_rows)

    def _count_kinds(self) -> Iterator[CardRow]:
        """Count the rows for the card, by the column that divides them best."""
        kind = lab_cards.KINDS.get(self.dataset, "'rows'")
        rows = self.sql(f"select {kind}::varchar as kind, count(*) as n from this group by all order by n desc, kind")
        yield CardRow("Count", lab_cards.write_kinds([(row["kind"], int(str(row["n"]))) for row in rows]))

    def __bool__(self) -> bool:
        return bool(self.list())


def describe_noun(kind: type, place: str) -> str:
    """Describe a noun of a lab in a line, with what reads it; nothing is read."""
    reading = "[:3], .df() or .sql()" if issubclass(kind, RowForms) else "[:3] or .list()"
    name = name_of_noun(kind).title().replace("_", "")
    return shorten(f"{name}({place}; a loop, {reading} reads it)", MAX_REPR_CHARACTERS)


def list_own_verbs(kind: type) -> builtins.list[str]:
    """List the verbs that the classes of a noun add to those of every noun."""
    kinds = [each for each in kind.__mro__ if each.__module__ not in _SHARED]
    return [name for each in kinds for name, member in vars(each).items() if _is_own_verb(name, member)]


def _is_own_verb(name: str, member: object) -> bool:
    return not name.startswith("_") and inspect.isfunction(member) and not is_copied(member)
