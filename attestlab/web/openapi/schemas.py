"""JSON Schemas of wire models: named like their objects, with the meaning at each property and named enums.

Generators of clients make a class of each schema and name it by its key. So keys contain no Python names, a set of
texts is one schema wherever it occurs, and only components have titles.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema

from attestlab.core.shapes import find_wire_name
from attestlab.web.openapi.meanings import find_meaning, list_wire_fields
from attestlab.web.openapi.vocabulary import DocumentPart, Vocabulary

REFERENCE = "#/components/schemas/{model}"
_MAPS = ("properties", "patternProperties", "$defs")
_PARTS = ("items", "additionalProperties", "not", "propertyNames", "if", "then", "else")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_WORDS = re.compile("[a-z0-9]+")
_MAX_INT32 = 2**31 - 1
_NULL = {"type": "null"}

SchemaKey = tuple[str, str]  # operation id and role
# A key, the mode (`validation` or `serialization`) and the adapter of a type; Any: as pydantic takes them.
Input = tuple[SchemaKey, Any, TypeAdapter[Any]]


def build_schemas(
    inputs: Iterable[Input], vocabulary: Vocabulary
) -> tuple[Mapping[SchemaKey, DocumentPart], DocumentPart]:
    """Build the schema of each input, and the components that these refer to.

    Raises:
        ValueError: two models have the same name.
    """
    by_key, document = TypeAdapter.json_schemas(list(inputs), ref_template=REFERENCE, schema_generator=_Generator)
    definitions: DocumentPart = document.get("$defs", {})
    names = {key: _name_definition(key, definition, vocabulary) for key, definition in definitions.items()}
    simplify = _make_simplifier(names, vocabulary)
    components: DocumentPart = {name: _describe_enum(name, values) for name, values in vocabulary.enums.items()}
    for key, definition in definitions.items():
        name = names[key]
        schema = {**(definition if "enum" in definition else simplify(definition)), "title": name}
        if name not in vocabulary.enums and components.setdefault(name, schema) != schema:
            raise ValueError(f"Two schemas are named {name}. Give their models names of their own.")
    return {key: simplify(schema) for (key, _), schema in by_key.items()}, components


def name_schema(model: type[BaseModel]) -> str:
    """Return the name of a model's schema; a page of objects is named after them."""
    generic = model.__pydantic_generic_metadata__
    if (origin := generic["origin"]) is not None and issubclass(generic["args"][0], BaseModel):
        return name_schema(generic["args"][0]) + origin.__name__
    return "".join(part.capitalize() for part in _WORDS.findall(find_wire_name(model)))


def _name_definition(key: str, definition: DocumentPart, vocabulary: Vocabulary) -> str:
    named = vocabulary.find_enum(definition["enum"]) if "enum" in definition else None
    return named or str(definition.get("title", key))


def _describe_enum(name: str, values: Sequence[str] | type[StrEnum]) -> DocumentPart:
    described: DocumentPart = {"title": name, "type": "string", "enum": [str(value) for value in values]}
    if isinstance(values, type):
        described["description"] = inspect.getdoc(values)
    return described


class _Generator(GenerateJsonSchema):
    """Names models like their objects, and describes their properties."""

    def model_schema(self, schema: ModelSchema) -> DocumentPart:
        built = super().model_schema(schema)
        model = schema["cls"]
        built["title"] = name_schema(model)
        fields = list_wire_fields(model)
        for name, part in built.get("properties", {}).items():
            if (meaning := find_meaning(model, fields[name])) is not None:
                part["description"] = meaning.description
        return built


def _make_simplifier(names: Mapping[str, str], vocabulary: Vocabulary) -> Callable[[DocumentPart], DocumentPart]:
    def name_reference(reference: str) -> str:
        key = reference.rpartition("/")[2]
        schema_name = names.get(key, key)
        return REFERENCE.format(model=schema_name)

    def simplify(schema: DocumentPart) -> DocumentPart:
        """Return the schema without titles, with references to named schemas."""
        built: DocumentPart = {}
        for key, value in schema.items():
            if key in _MAPS:
                built[key] = {name: simplify(part) for name, part in value.items()}
            elif key in _PARTS and isinstance(value, dict):
                built[key] = simplify(value)
            elif key in _LISTS:
                built[key] = [simplify(part) for part in value]
            elif key == "$ref":
                built[key] = name_reference(value)
            elif key != "title":
                built[key] = value
        return _merge_null(_refer_to_enum(_widen(_drop_object_default(built)), vocabulary))

    return simplify


def _drop_object_default(schema: DocumentPart) -> DocumentPart:
    """Return a reference without a default that is an object: its members have theirs, and Go has no such literal."""
    if "$ref" in schema and isinstance(schema.get("default"), dict):
        return {key: value for key, value in schema.items() if key != "default"}
    return schema


def _widen(schema: DocumentPart) -> DocumentPart:
    """Add the format of 64 bits to a number that 32 may not hold. Without a format, generators of clients use 32."""
    if schema.get("type") == "number":
        return {**schema, "format": "double"}
    if schema.get("type") != "integer" or schema.get("maximum", _MAX_INT32 + 1) <= _MAX_INT32:
        return schema
    return {**schema, "format": "int64"}


def _refer_to_enum(schema: DocumentPart, vocabulary: Vocabulary) -> DocumentPart:
    """Replace a closed set of texts by a reference to its component."""
    name = vocabulary.find_enum(schema["enum"]) if "enum" in schema else None
    if name is None:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("enum", "type")}
    return {"$ref": REFERENCE.format(model=name), **rest}


def _merge_null(schema: DocumentPart) -> DocumentPart:
    """Write a simple type that may be null as OpenAPI 3.1 does: `type: [string, null]`."""
    choices = schema.get("anyOf", [])
    if len(choices) != 2 or choices[1] != _NULL or not isinstance(choices[0].get("type"), str):
        return schema
    if "enum" in choices[0] or "const" in choices[0]:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**choices[0], "type": [choices[0]["type"], "null"], **rest}


def without_null(schema: DocumentPart) -> DocumentPart:
    """Return the schema of a query parameter: it is left out where the model has null."""
    if isinstance(schema.get("type"), list):
        schema = {**schema, "type": schema["type"][0]}
    elif _NULL in (choices := schema.get("anyOf", [])):
        left = [choice for choice in choices if choice != _NULL]
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        schema = {**left[0], **rest} if len(left) == 1 else {**rest, "anyOf": left}
    return {key: value for key, value in schema.items() if not (key == "default" and value is None)}
