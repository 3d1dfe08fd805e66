"""`Records`: the parts of an answer as a list that is a table too, such as `report.flips.df()`.

The columns follow from the fields of the parts, so their types never depend on the rows, also when there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import partial
from itertools import islice
from types import GenericAlias, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    ClassVar,
    Generic,
    Literal,
    SupportsIndex,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    overload,
)
from uuid import UUID

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic.fields import FieldInfo
from pydantic_core import core_schema, to_json

from attestlab.client.analysis.refused_filters import refuse_filters
from attestlab.client.cards import CardRow, CardTone, draw_card
from attestlab.core.errors import MissingExtra
from attestlab.core.extras import naming_extras

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from attestlab.client.collections.filters import NoFilterArgs

Part = TypeVar("Part", bound=BaseModel)

MAX_SHOWN_ROWS = 20  # of the table in a notebook
MAX_CARD_PARTS = 5
_MAX_EXACT_INTEGER = 2**53 - 1  # what a double holds, as a larger one is no number of I-JSON either (RFC 7493)
_PLAIN = {bool: "bool", int: "int64", float: "double", str: "string", UUID: "string"}  # names of Arrow types


class Records(list[Part], Generic[Part]):
    """The parts of an answer, in its order: a list, and a table with one column for each field.

    A nested object has a column for each of its fields; a mapping one for each of its keys, those of `members` also
    without a row, which is called `details_score` where `score` is a field. Lists of objects, and members of several
    types, are JSON. `truncated` says whether a limit left out others.
    """

    shape: ClassVar[type[BaseModel] | None] = None  # of a class that has no parameter
    members: Sequence[str] = ()

    def __init__(
        self, parts: Iterable[Part] = (), shape: type[BaseModel] | None = None, *, limit: int | None = None
    ) -> None:
        """Take all parts, or the first `limit`."""
        taken = iter(parts)
        super().__init__(islice(taken, limit))
        self._shape = shape or self.shape
        self.truncated = next(taken, None) is not None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        (shape,) = get_args(source) or (cls.shape,)
        parts = handler.generate_schema(GenericAlias(list, (shape,)))
        return core_schema.no_info_after_validator_function(partial(cls, shape=shape), parts)

    @overload
    def __getitem__(self, which: SupportsIndex) -> Part: ...

    @overload
    def __getitem__(self, which: slice) -> Records[Part]: ...

    def __getitem__(self, which: SupportsIndex | slice) -> Part | Records[Part]:
        if not isinstance(which, slice):
            return super().__getitem__(which)
        taken = type(self)(super().__getitem__(which), self._shape)
        taken.members = self.members
        return taken

    def df(self, **filters: Unpack[NoFilterArgs]) -> pd.DataFrame:
        """Return the parts as a data frame, with types as those of `Rows.df`.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each part, in their order; no part makes a frame of the same columns.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            MissingExtra: pandas is not installed.

        >>> graph = lab.signals.graph("device:device-73d1efba", depth=1)
        >>> (graph.nodes.df()["type"] == "user").sum().item()
        24
        """
        self._refuse(filters, "df")
        from attestlab.client.analysis import frames  # loads pyarrow, which no other verb needs

        return frames.to_pandas(self.arrow(), {})

    def pl(self, **filters: Unpack[NoFilterArgs]) -> pl.DataFrame:
        """Return the parts as a Polars frame.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each part, in their order; no part makes a frame of the same columns.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            MissingExtra: polars is not installed.

        >>> lab.issuers["Canton Archive"].keys.pl()["alg"].to_list()
        ['ES384']
        """
        self._refuse(filters, "pl")
        from attestlab.client.analysis import frames

        return frames.to_polars(self.arrow())

    def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Return the parts as a pyarrow Table.

        Args:
            filters: none; the message says where they go.

        Returns:
            One row for each part, in their order; no part makes a table of the same columns.

        Raises:
            ValidationFailed: it was given a filter; the message says where that goes.
            MissingExtra: pyarrow is not installed.

        >>> lab.issuers.keys("Maker Guild").arrow().column_names[:3]
        ['kid', 'issuer_id', 'alg']
        """
        self._refuse(filters, "arrow")
        with naming_extras():
            import pyarrow as pa

        columns = dict(() if self._shape is None else _read_columns(self._shape, self, self.members))
        return pa.table(columns)

    def _refuse(self, filters: Mapping[str, object], verb: str) -> None:
        refuse_filters(filters, verb, "Filter the table that it returns.")

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.arrow().column_names)

    def __repr__(self) -> str:
        noun = "" if self._shape is None else self._shape.__name__.removesuffix("Out").removesuffix("Handle")
        more = ", and there are more" if self.truncated else ""
        return f"{type(self).__name__}({len(self)} {noun}{more})"

    def _repr_html_(self) -> str:
        try:
            return str(self.df().to_html(notebook=True, max_rows=MAX_SHOWN_ROWS))
        except MissingExtra as error:
            return self._draw_card(error)

    def _draw_card(self, error: MissingExtra) -> str:
        """Draw the first parts as a card, where no frame can be made of them."""
        rows = [CardRow(f"[{number}]", repr(each)) for number, each in enumerate(self[:MAX_CARD_PARTS])]
        return draw_card(CardTone.CALM, "LIST", repr(self), [*rows, CardRow("No table", error.message)])


def _read_columns(
    shape: type[BaseModel], parts: Sequence[object], members: Sequence[str], prefix: str = ""
) -> Iterator[tuple[str, pa.Array]]:
    """Yield the columns of parts of one shape; a part that is None has no value in any of them."""
    for name, field in shape.model_fields.items():
        label = f"{prefix}{field.serialization_alias or field.alias or name}"
        values = [None if part is None else getattr(part, name) for part in parts]
        kind = _read_kind(field.annotation, field)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _read_columns(kind, values, members, f"{label}_")
        elif kind is dict:
            for key, column in _read_members(values, members):
                yield (f"{label}_{key}" if key in shape.model_fields else key), column
        else:
            yield label, _build_column(kind, values)


def _read_members(
    values: Sequence[Mapping[str, object] | None], members: Sequence[str]
) -> Iterator[tuple[str, pa.Array]]:
    """Yield a column for each key of the mappings: numbers, truth values or texts; anything else becomes JSON."""
    for key in dict.fromkeys([*members, *(key for value in values for key in value or ())]):
        found = [None if value is None else value.get(key) for value in values]
        yield key, _build_column(_choose_kind([each for each in found if each is not None]), found)


def _choose_kind(values: Sequence[object]) -> object:
    """Choose the type of a column that has all these values: None, which is JSON, where no other has them."""
    kinds = {type(each) for each in values}
    if kinds <= {int, float}:
        is_exact = all(abs(each) <= _MAX_EXACT_INTEGER for each in values if isinstance(each, int))
        return (float if float in kinds else int) if kinds and is_exact else None
    return kinds.pop() if len(kinds) == 1 and kinds <= {bool, str} else None


def _read_kind(annotation: object, field: FieldInfo | None = None) -> object:
    """Return what the values of a field are: a type, the values of an enumeration, or None for anything else."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        named = [each for each in inner[1:] if isinstance(each, FieldInfo)]
        return _read_kind(inner[0], named[0] if named else field)
    if origin in (Union, UnionType):
        kinds = [each for each in inner if each is not NoneType]
        return _read_kind(kinds[0], field) if len(kinds) == 1 else None
    if origin is Literal:
        return tuple(map(str, inner))
    extra = None if field is None else field.json_schema_extra
    if isinstance(extra, Mapping) and "enum" in extra:
        return tuple(map(str, extra["enum"]))  # type: ignore[arg-type]  # a list, as JSON Schema has it
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(each.value) for each in annotation)
    if origin is list and inner[0] in _PLAIN:
        return [inner[0]]
    return dict if origin in (dict, Mapping) else annotation


def _build_column(kind: object, values: Sequence[object]) -> pa.Array:
    with naming_extras():
        import pyarrow as pa

    if isinstance(kind, tuple):
        places = [None if value is None else kind.index(getattr(value, "value", value)) for value in values]
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int16()), pa.array(kind, pa.string()))
    if isinstance(kind, list):
        return pa.array(values, pa.list_(pa.type_for_alias(_PLAIN[kind[0]])))
    if kind is datetime:
        return pa.array(values, pa.timestamp("us", "UTC"))
    if isinstance(kind, type) and kind in _PLAIN:
        return pa.array([str(value) if isinstance(value, UUID) else value for value in values], _PLAIN[kind])
    return pa.array([None if value is None else _write_json(value) for value in values], pa.string())


def _write_json(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
