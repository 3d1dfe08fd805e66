"""Validation of bodies and queries against the models that routes declare; every error names its field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice
from types import NoneType, UnionType
from typing import Annotated, NamedTuple, TypeVar, Union, cast, get_args, get_origin
from urllib.parse import parse_qsl

from pydantic import BaseModel, BeforeValidator, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from attestlab.core.encoding import short_pointer
from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError, ValidationFailed
from attestlab.core.ordered_bounds import find_reversed_bounds
from attestlab.core.suggestions import MAX_SUGGESTIONS, describe_unknown, find_nearest
from attestlab.core.text_forms import explain_form

Model = TypeVar("Model", bound=BaseModel)

_MAX_PARAMETERS = 50
_MAX_ELEMENTS = 1000  # of a list of models; each such list has its own, lower limit
# Of a body that pydantic may read as text. For each fault it builds Python objects of all that lacks a member or is
# wrong: up to 0.1 s of 1 MiB, in which no other thread runs.
_SMALL_BYTES = 16 * 1024
_PLAIN_NUMBER = re.compile(r"0|-?[1-9][0-9]*")
_BOUNDS = (("from", "to"), ("min_score", "max_score"))
_OWN_PREFIX = "Value error, "  # pydantic puts it before the message of our own validators


def validate_body(model: type[Model], text: bytes, document: object) -> Model:
    """Validate strict JSON `text`, parsed as `document`, without coercion between JSON types.

    Raises:
        ValidationFailed: a field is missing, unknown or of the wrong type; fields are JSON Pointers.
    """
    if len(text) > _SMALL_BYTES:
        return validate_document(model, document)
    return _validate(model, document, lambda: model.__pydantic_validator__.validate_json(text, strict=True))


def validate_document(model: type[Model], document: object) -> Model:
    """Validate a part of a body that was parsed already, by the same rules as its text.

    Raises:
        ValidationFailed: as from `validate_body`.
    """
    adapter = _adapt_to_documents(model)
    return _validate(model, document, lambda: adapter.validate_json(b"null", strict=True, context=document))


@cache
def _adapt_to_documents(model: type[Model]) -> TypeAdapter[Model]:
    """Return an adapter that validates its context: Pydantic has the strict rules of JSON only where it reads JSON."""
    read_context = BeforeValidator(lambda _, info: info.context)
    return TypeAdapter(cast("type[Model]", Annotated[model, read_context]))


def _validate(model: type[Model], document: object, validate: Callable[[], Model]) -> Model:
    _reject_many_unknown(model, document)
    try:
        body = validate()
    except ValidationError as error:
        raise _validation_error("body", model, error) from None
    _require_ordered_bounds("body", body)
    return body


def validate_query(model: type[BaseModel] | None, text: str) -> BaseModel | None:
    """Validate a query string against a model; returns None if the route takes no query.

    Raises:
        ValidationFailed: a parameter is unknown, repeated, or of the wrong type; fields are JSON Pointers.
    """
    values = _parse_parameters(text) if text else {}
    if model is None:
        if values:
            raise _unknown_parameters_error(values)
        return None
    return validate_parameters(model, values)


def validate_parameters(model: type[BaseModel], values: dict[str, str]) -> BaseModel:
    """Validate the texts of parameters, by their names on the wire, against a model.

    Raises:
        ValidationFailed: as from `validate_query`.
    """
    for name, value in values.items():
        if "\x00" in value:
            raise _query_error(short_pointer(name), "nul", "This parameter contains a NUL character. Remove it.")
    _require_plain_numbers(model, values)
    try:
        # pydantic takes a map of texts; its types have only the maps in it.
        query: BaseModel = model.__pydantic_validator__.validate_strings(values, strict=True)  # type: ignore[arg-type]
    except ValidationError as error:
        raise _validation_error("query", model, error) from None
    _require_ordered_bounds("query", query)
    return query


def _require_ordered_bounds(where: str, found: BaseModel) -> None:
    """Refuse a range that nothing can be in, such as one that ends before it begins."""
    fields = type(found).model_fields.items()
    values = {field.alias or name: getattr(found, name) for name, field in fields}
    for low, high in _BOUNDS:
        fault = find_reversed_bounds(low, values.get(low), high, values.get(high))
        if fault is not None:
            raise _error_of_faults(where, [fault], 1)


def _require_plain_numbers(model: type[BaseModel], values: Mapping[str, str]) -> None:
    """Require the canonical spelling of integers; pydantic would also accept 1_0, +5, 05 and surrounding blanks."""
    for name, field in model.model_fields.items():
        text = values.get(field.alias or name)
        is_number = int in (field.annotation, *get_args(field.annotation))
        if text is not None and is_number and not _PLAIN_NUMBER.fullmatch(text):
            fault = FieldError(
                short_pointer(field.alias or name), "int_parsing", "Write a whole number in plain digits."
            )
            raise _error_of_faults("query", [fault], 1)


def _parse_parameters(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            text, keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except ValueError:
        raise _query_error("", "query", "Invalid query string. Expected `name=value&...` in UTF-8.") from None
    values: dict[str, str] = {}
    for name, value in pairs:
        if name in values:
            raise _query_error(short_pointer(name), "duplicate", "Duplicate query parameter. Send each parameter once.")
        values[name] = value
    return values


def _query_error(pointer: str, code: str, message: str) -> ValidationFailed:
    return _error_of_faults("query", [FieldError(pointer, code, message)], 1)


def _unknown_parameters_error(values: Mapping[str, object]) -> ValidationFailed:
    message = "Unknown parameter. This route takes none."
    faults = [
        FieldError(short_pointer(name), "extra_forbidden", message) for name in islice(values, MAX_REPORTED_ERRORS)
    ]
    return _error_of_faults("query", faults, len(values))


def _reject_many_unknown(model: type[BaseModel], document: object) -> None:
    """Reject a body with more unknown members than a response lists.

    pydantic would first create an error for each one: half a second for the 75,000 that 1 MiB can contain.
    """
    faults: list[FieldError] = []
    count = 0
    for members, found, place in _walk_objects(model, document, ()):
        unknown = [name for name in found if name not in members]
        count += len(unknown)
        for name in unknown[: MAX_REPORTED_ERRORS - len(faults)]:
            close = find_nearest(name, members) if len(faults) < MAX_SUGGESTIONS else None
            faults.append(FieldError(short_pointer(*place, name), "extra_forbidden", describe_unknown("member", close)))
    if count > MAX_REPORTED_ERRORS:
        raise _error_of_faults("body", faults, count)


class _Member(NamedTuple):
    """The model of a member's value, or of the elements of the list that it is."""

    model: type[BaseModel] | None
    element: type[BaseModel] | None


def _walk_objects(
    model: type[BaseModel], value: object, place: tuple[object, ...]
) -> Iterator[tuple[Mapping[str, _Member], Mapping[str, object], tuple[object, ...]]]:
    """Yield each object in `value` whose model forbids other members: with these members, and its place."""
    if not isinstance(value, dict) or model.model_config.get("extra") != "forbid":
        return
    members = _members_of(model)
    yield members, value, place
    for name in sorted(members.keys() & value.keys()):
        part, member = value[name], members[name]
        if member.element is not None and isinstance(part, list):
            for index, element in enumerate(islice(part, _MAX_ELEMENTS)):
                yield from _walk_objects(member.element, element, (*place, name, index))
        elif member.model is not None:
            yield from _walk_objects(member.model, part, (*place, name))


@cache
def _members_of(model: type[BaseModel]) -> dict[str, _Member]:
    """Return the JSON members of `model`."""
    return {
        field.alias or name: _Member(_find_model(field.annotation), _find_model(_find_element(field.annotation)))
        for name, field in model.model_fields.items()
    }


def _find_model(hint: object) -> type[BaseModel] | None:
    """Return the model that a type hint names, perhaps beside None; no other hint has one."""
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return hint
    if get_origin(hint) is Annotated:
        return _find_model(get_args(hint)[0])
    named = [part for part in get_args(hint) if part is not NoneType]
    return _find_model(named[0]) if get_origin(hint) in (Union, UnionType) and len(named) == 1 else None


def _find_element(hint: object) -> object:
    """Return the type hint of the elements of a list or tuple, perhaps beside None; None for every other hint."""
    if get_origin(hint) in (list, tuple):
        return get_args(hint)[0]
    parts = get_args(hint)[:1] if get_origin(hint) is Annotated else get_args(hint)
    named = [part for part in parts if part is not NoneType]
    is_one = get_origin(hint) in (Annotated, Union, UnionType) and len(named) == 1
    return _find_element(named[0]) if is_one else None


def _validation_error(where: str, model: type[BaseModel], error: ValidationError) -> ValidationFailed:
    listed = error.errors(include_url=False, include_input=False)
    messages = (_explain(where, model, fault, place < MAX_SUGGESTIONS) for place, fault in enumerate(listed))
    faults = [
        FieldError(short_pointer(*fault["loc"]), fault["type"], message)
        for fault, message in zip(listed[:MAX_REPORTED_ERRORS], messages, strict=False)
    ]
    return _error_of_faults(where, faults, len(listed))


def _explain(where: str, model: type[BaseModel], fault: ErrorDetails, suggest: bool) -> str:
    """Return the message of a fault: with the nearest known name, and without a regular expression."""
    if fault["type"] == "string_pattern_mismatch":
        return explain_form(fault["ctx"]["pattern"])
    if fault["type"] != "extra_forbidden":
        return fault["msg"].removeprefix(_OWN_PREFIX)
    *place, name = fault["loc"]
    close = find_nearest(str(name), _find_members(model, place)) if suggest else None
    return describe_unknown("parameter" if where == "query" else "member", close)


def _find_members(model: type[BaseModel], place: Iterable[object]) -> Iterable[str]:
    """Return the members that the object at a place may have; none if it has several models."""
    found: type[BaseModel] | None = model
    for part in place:
        if isinstance(part, str) and found is not None:
            member = _members_of(found).get(part)
            found = (member.model or member.element) if member else None
    return () if found is None else _members_of(found)


def _error_of_faults(where: str, faults: list[FieldError], count: int) -> ValidationFailed:
    """Build the error for `count` faults, of which `faults` are listed."""
    more = count - len(faults)
    rest = f" (and {more:,} more faults)" if more else ""
    return ValidationFailed(faults[0].append_to(f"The {where} is not valid") + rest, faults, more=more)
