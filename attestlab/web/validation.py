"""Checks of bodies and queries against the models that routes declare; every fault names its field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError

from attestlab.core.errors import FieldError, ValidationFailed

_MOST_PARAMETERS = 50
_PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_OWN_PREFIX = "Value error, "  # pydantic puts it before what a validator of ours said


def body_as(model: type[BaseModel], text: bytes) -> BaseModel:
    """The model that strict JSON `text` spells, with no coercion between JSON's types.

    Raises:
        ValidationFailed: a field is missing, unknown or of the wrong type; fields are JSON Pointers.
    """
    try:
        return model.__pydantic_validator__.validate_json(text, strict=True)  # type: ignore[no-any-return]
    except ValidationError as faults:
        raise _failed("body", faults, pointers=True) from None


def query_as(model: type[BaseModel] | None, text: str) -> BaseModel | None:
    """The model that a query string spells; None where the route takes no query.

    Raises:
        ValidationFailed: a parameter is unknown, given twice, or of the wrong type; fields are parameter names.
    """
    values = _parameters(text) if text else {}
    if model is None:
        if values:
            raise _unknown(values)
        return None
    _require_plain_numbers(model, values)
    try:
        return model.__pydantic_validator__.validate_strings(values, strict=True)  # type: ignore[no-any-return]
    except ValidationError as faults:
        raise _failed("query", faults, pointers=False) from None


def _require_plain_numbers(model: type[BaseModel], values: Mapping[str, str]) -> None:
    """A whole number has one spelling; pydantic would also take 1_0, +5, 05 and one with blanks around it."""
    for name, field in model.model_fields.items():
        text = values.get(field.alias or name)
        is_number = int in (field.annotation, *get_args(field.annotation))
        if text is not None and is_number and not _PLAIN_NUMBER.fullmatch(text):
            fault = FieldError(field.alias or name, "int_parsing", "A whole number is written in plain digits.")
            raise ValidationFailed(f"The query is not valid; {fault.field}: {fault.message}", [fault])


def _parameters(text: str) -> dict[str, Any]:
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except ValueError:
        raise ValidationFailed("The query string is not `name=value&...` in UTF-8.") from None
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValidationFailed("A query parameter is given twice; give each one once.")
    if "\x00" in "".join(values.values()):
        raise ValidationFailed("A query parameter has a NUL character.")
    return values


def _unknown(values: dict[str, Any]) -> ValidationFailed:
    named = [FieldError(name, "extra_forbidden", "This route has no such parameter.") for name in values]
    return ValidationFailed("The query is not valid.", named)


def _failed(where: str, faults: ValidationError, *, pointers: bool) -> ValidationFailed:
    listed = faults.errors(include_url=False, include_context=False, include_input=False)
    fields = [
        FieldError(
            _pointer(fault["loc"]) if pointers else ".".join(map(str, fault["loc"])),
            fault["type"],
            fault["msg"].removeprefix(_OWN_PREFIX),
        )
        for fault in listed
    ]
    first = f"{fields[0].field or 'it'}: {fields[0].message}"
    return ValidationFailed(f"The {where} is not valid; {first}", fields)


def _pointer(location: tuple[Any, ...]) -> str:
    """RFC 6901."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)
