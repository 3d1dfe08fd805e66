"""Rows as JSON (RFC 8259): the names of column types, and the values of a row.

Times are RFC 3339 in UTC, bytes base64. A number that is not finite is null, and a whole number beyond 2^53 - 1 is a
text, because many readers of JSON have doubles only.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
from pyarrow import types

from attestlab.core.encoding import format_time, quote
from attestlab.core.errors import ValidationFailed
from attestlab.lake.query_errors import CONVERSION_ERRORS

MAX_EXACT = 2**53 - 1
_NAMES = {
    pa.string(): "string",
    pa.int64(): "int64",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.list_(pa.string()): "list<string>",
}


def describe_columns(schema: pa.Schema) -> list[dict[str, str]]:
    """Return name and type of each column; the types have the names that Arrow gives them."""
    return [{"name": field.name, "type": name_type(field.type)} for field in schema]


def name_type(kind: pa.DataType) -> str:
    """Return the name of a type: `string`, `int64`, `double`, `boolean`, `timestamp`, `enum`, or Arrow's own."""
    if types.is_dictionary(kind):
        return "enum"
    if types.is_timestamp(kind):
        return "timestamp"
    if types.is_list(kind) and types.is_string(kind.value_type):
        return "list<string>"
    return _NAMES.get(kind, str(kind))


def render_rows(batch: pa.RecordBatch) -> list[list[object]]:
    """Return the rows of a batch as values of JSON.

    Raises:
        ValidationFailed: a value is outside of what Python has, such as a date after the year 9999.
    """
    columns = [_render_column(*pair) for pair in zip(batch.schema.names, batch.columns, strict=True)]
    return [list(row) for row in zip(*columns, strict=True)]


def _render_column(name: str, column: pa.Array) -> list[object]:
    try:
        return _render_values(column)
    except pa.ArrowMemoryError:
        raise
    except CONVERSION_ERRORS as error:
        raise ValidationFailed.of(
            "/sql",
            "value",
            f"The column {quote(name)} has a value that JSON rows cannot have: {error}. "
            "Cast the column to text, or request Arrow.",
        ) from None


def _render_values(column: pa.Array) -> list[object]:
    values: list[object] = column.to_pylist()
    if types.is_dictionary(column.type) or types.is_string(column.type) or types.is_boolean(column.type):
        return values
    return [render_value(value) for value in values]


def render_value(value: object) -> object:
    """Return a value of Arrow as a value of JSON."""
    match value:
        case None | bool() | str():
            return value
        case int():
            return value if abs(value) <= MAX_EXACT else str(value)
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return render_value(int(value) if value == value.to_integral_value() else float(value))
        case datetime():
            return format_time(value if value.tzinfo else value.replace(tzinfo=UTC))
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode()
        case Mapping():
            return {str(name): render_value(part) for name, part in value.items()}
        case list() | tuple():
            return [render_value(part) for part in value]
    return str(value)
