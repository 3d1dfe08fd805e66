"""Rows as wire models: each field of the model is a column of the same name, unless the renderer says otherwise.

    render_key = RowRenderer(KeyOut, KeyRecord, key_id="id", public_key=lambda row: b64url_encode(row.spki))
    render_key(row)

What is read together is rendered together: the columns of a result's `parts` are sources, too.

    render_session = RowRenderer(AgentSessionOut, SessionDetails, parts={"row": AgentSessionRecord})

A field without a source raises when the renderer is made, at import. Renderers stand next to routes and not at the
models, because clients load the models but no tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Generic, NoReturn, TypeVar

from attestlab.core.shapes import Out

Row = TypeVar("Row")
Shape = TypeVar("Shape", bound=Out)


class RowRenderer(Generic[Row, Shape]):
    """Renders named tuples or dataclasses of one class as one wire model.

    `sources` maps fields to columns of other names, or to functions of the row; `computed` lists the fields that each
    call passes. `parts` has the classes of attributes whose own columns are sources, too, after those of the row.
    """

    def __init__(
        self,
        shape: type[Shape],
        record: type[Row],
        *,
        computed: Iterable[str] = (),
        parts: Mapping[str, type] | None = None,
        **sources: str | Callable[[Row], object],
    ) -> None:
        functions = {name: source for name, source in sources.items() if not isinstance(source, str)}
        copied = [name for name in shape.model_fields if name not in {*computed, *functions}]
        _require_fields(shape, {*computed, *sources})
        wanted = {name: str(sources.get(name, name)) for name in copied}
        columns = _find_columns(shape, record, parts or {}, wanted)
        self._validate: Callable[[dict[str, object]], Shape] = shape.__pydantic_validator__.validate_python
        self._functions = list(functions.items())
        self._names = [shape.model_fields[name].alias or name for name in copied]
        # Of one name alone, it would return no tuple; and there may be no column.
        self._read = attrgetter(*(columns.values() or ["__class__"]), "__class__")

    def __call__(self, row: Row, **computed: object) -> Shape:
        """Render a row, with the computed fields."""
        computed.update(zip(self._names, self._read(row), strict=False))
        for name, compute in self._functions:
            computed[name] = compute(row)
        return self._validate(computed)


def _require_fields(shape: type[Out], declared: Iterable[str]) -> None:
    for name in declared:
        if name not in shape.model_fields:
            raise TypeError(f"{shape.__name__} has no field {name!r}, which its renderer declares. Remove it there.")


def _find_columns(
    shape: type[Out], record: type, parts: Mapping[str, type], wanted: Mapping[str, str]
) -> dict[str, str]:
    """Find the path to the column of each field: in the row, else in one of its parts."""
    own = _list_attributes(record)
    for part in parts:
        if part.partition(".")[0] not in own:
            raise TypeError(f"{record.__name__} has no {part!r}, which the renderer of {shape.__name__} has as a part.")
    inner = {f"{part}.{column}": column for part, kind in parts.items() for column in _list_attributes(kind)}
    found = {}
    for name, column in wanted.items():
        paths = [column] if column in own or column in inner else [path for path, end in inner.items() if end == column]
        if not paths:
            _refuse(shape, name, f"has no source: {record.__name__} has no {column!r}")
        if len(paths) > 1:
            _refuse(shape, name, f"has several sources: {', '.join(paths)}")
        found[name] = paths[0]
    return found


def _refuse(shape: type[Out], name: str, fault: str) -> NoReturn:
    raise TypeError(f"{shape.__name__}.{name} {fault}. Name another column, a function, or list it in `computed`.")


def _list_attributes(record: type) -> set[str]:
    """List the fields and properties of a named tuple or dataclass; methods such as `tuple.count` are no sources."""
    fields: Iterable[str] = getattr(record, "_fields", ()) or getattr(record, "__dataclass_fields__", ())
    return {*fields, *(name for name, value in vars(record).items() if isinstance(value, property))}
