"""The base shapes of what comes in and what goes out over the wire.

What comes in is refused when it has a field nobody knows or a value of the wrong
type; ids and times are parsed by the strict parsers of `core.strict_json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema

from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import format_time, parse_time, parse_uuid


def _uuid(value: Any) -> Any:
    return _parsed(parse_uuid, value) if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    return _parsed(parse_time, value) if isinstance(value, str) else value


def _parsed(parse: Any, value: str) -> Any:
    try:
        return parse(value)
    except ValidationFailed as error:
        raise ValueError(error.message) from None


def _email(value: str) -> str:
    from email_validator import validate_email  # slow to import, and most processes never need it

    return validate_email(value, check_deliverability=False).normalized  # its error is a ValueError


Uuid = Annotated[UUID, BeforeValidator(_uuid), WithJsonSchema({"type": "string", "format": "uuid"})]
Moment = Annotated[
    datetime,
    BeforeValidator(_moment),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
Email = Annotated[str, AfterValidator(_email), WithJsonSchema({"type": "string", "format": "email"})]


def without_default(schema: dict[str, Any]) -> None:
    """For a field of a patch: what is left out stays as it is, so the model's own default is nobody's."""
    del schema["default"]


class Shape(BaseModel):
    """What goes over the wire; it is shown by the names of its members, because values may be secrets or long."""

    def __repr_args__(self) -> Iterator[tuple[None, Any]]:
        return ((None, name) for name in type(self).model_fields if name in self.model_fields_set)


class In(Shape):
    """What a caller sends."""

    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=False, frozen=True)


class Out(Shape):
    """What goes out; further fields may be added later, none is removed."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True)
