"""Base classes of the wire models: requests (`In`) and responses (`Out`).

A request with an unknown field or a value of the wrong type is rejected; ids and times are
parsed by the strict parsers of `core.encoding`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from types import GenericAlias
from typing import Annotated, cast
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    StringConstraints,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.config import JsonDict, JsonValue
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from attestlab.core.encoding import format_time, parse_sent_time, parse_uuid
from attestlab.core.errors import ValidationFailed
from attestlab.core.short_text import MAX_REPR_CHARACTERS, shorten, show_value
from attestlab.core.text_forms import SHA256_HEX


def _parse_uuid(value: object) -> object:
    return _parse(parse_uuid, value) if isinstance(value, str) else value


def _parse_moment(value: object) -> object:
    return _parse(parse_sent_time, value) if isinstance(value, str) else value


def _parse(parse: Callable[[str], object], value: str) -> object:
    try:
        return parse(value)
    except ValidationFailed as error:
        raise ValueError(error.message) from None


def _normalize_email(value: str) -> str:
    from email_validator import validate_email  # imported late: it is slow to load, and most processes do not need it

    return validate_email(value, check_deliverability=False).normalized  # its error is a ValueError


Uuid = Annotated[UUID, BeforeValidator(_parse_uuid), WithJsonSchema({"type": "string", "format": "uuid"})]
Moment = Annotated[
    datetime,
    BeforeValidator(_parse_moment),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
# As hashes are looked up: in either case, and with or without the prefix that the log writes.
Sha256Hex = Annotated[
    str,
    StringConstraints(pattern=SHA256_HEX, to_lower=True),
    AfterValidator(lambda text: text.removeprefix("sha256:")),
]
SecretText = Annotated[str, Field(repr=False)]  # of an answer; no repr and no card shows it
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=2048)]
ReasonText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1024)]
Email = Annotated[str, AfterValidator(_normalize_email), WithJsonSchema({"type": "string", "format": "email"})]


def one_of(values: Iterable[str]) -> FieldInfo:
    """Describe a text of a response as one of these values, without validating what the service itself made.

    >>> Annotated[str, one_of(["managed", "external"])].__metadata__[0].json_schema_extra
    {'enum': ['managed', 'external']}
    """
    listed: list[JsonValue] = [str(value) for value in values]
    extra: JsonDict = {"enum": listed}
    return cast("FieldInfo", Field(json_schema_extra=extra))


@dataclass(frozen=True)
class DescribedAs:
    """Describes a value in OpenAPI as another type, which reads it later: in another process, or not at all.

    It changes nothing about the validation of the value.
    """

    kind: object

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        members: TypeAdapter[object] = TypeAdapter(cast("type[object]", GenericAlias(list, (self.kind,))))
        described: JsonSchemaValue = handler(members.core_schema)["items"]  # which refers to a model, as members do
        return described


def omit_default(schema: JsonDict) -> None:
    """Remove the default from the schema of a patch's field: an omitted field stays unchanged."""
    del schema["default"]


_WIRE_NAMES: dict[type, str] = {}
_SOURCES: dict[type, str] = {}
_WORD_START = re.compile("(?<=[a-z0-9])(?=[A-Z])")


class Shape(BaseModel):
    """A wire model: `class NewKeyOut(Out, wire_name="replacement_key", source="CONTRACT 4")`.

    `wire_name` is its name in OpenAPI and in the data dictionary, where `find_wire_name` derives another one from the
    class. `source` is the document that specifies its fields. The line under a field is its meaning.

    The `repr` of a value is one line with its set fields, cut short; those of type `SecretText` are left out.
    """

    def __init_subclass__(cls, *, wire_name: str | None = None, source: str | None = None) -> None:
        super().__init_subclass__()
        if wire_name is not None:
            _WIRE_NAMES[cls] = wire_name
        if source is not None:
            _SOURCES[cls] = source

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={show_value(value)}" for name, value in self._list_shown())
        return shorten(f"{type(self).__name__}({shown})", MAX_REPR_CHARACTERS)

    __str__ = __repr__

    def _list_shown(self) -> Iterator[tuple[str, object]]:
        """List the set fields that a repr may show, with their values."""
        for name, field in type(self).model_fields.items():
            if field.repr and name in self.model_fields_set:
                yield name.rstrip("_"), getattr(self, name)


class In(Shape):
    """A request body or parameters; unknown fields are rejected.

    Its `repr` lists only the names of its set fields, because people send passwords, and send them to wrong fields.
    """

    model_config = ConfigDict(extra="forbid", strict=False, populate_by_name=False, frozen=True)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(name) for name, _ in self._list_shown())})"

    __str__ = __repr__


class Out(Shape):
    """A response body; later versions may add fields but never remove one."""

    model_config = ConfigDict(frozen=True, serialize_by_alias=True)


def find_wire_name(model: type[BaseModel]) -> str:
    """Return the name of a model's object: the one that its class declares, or one that is derived from the class.

    >>> class KeyPairIn(In):
    ...     kid: str
    >>> find_wire_name(KeyPairIn)
    'key_pair_input'
    """
    if (declared := _WIRE_NAMES.get(model)) is not None:
        return declared
    name = re.sub("In$", "Input", model.__name__.removesuffix("Out"))
    return _WORD_START.sub("_", name).lower()


def find_source(model: type) -> str | None:
    """Return the document that specifies the fields of a model, if its class names one."""
    return _SOURCES.get(model)
