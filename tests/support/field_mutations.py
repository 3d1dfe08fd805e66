"""Bodies with one wrong field each, derived from the JSON Schema of an operation in OpenAPI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

Json = dict[str, Any]

UNKNOWN = "no_such_field"
LONG = 600_000
"""Characters of a text without a stated limit, and of an object: more than a field takes, less than a body may have."""
MAX_INTEGER = 2**53 - 1
"""The largest integer of strict JSON; a larger one is refused before its field is known."""
SAMPLES: dict[str, Any] = {
    **{"string": "7", "integer": 7, "number": 7.5, "boolean": True, "null": None, "array": [7], "object": {"seven": 7}},
}
_ALSO = {"integer": {"number"}}  # a type that accepts samples of another: an integer is a number
_FORMS = ("enum", "pattern", "format", "const")


class Mutation(NamedTuple):
    """A body that is wrong in one field; `what` says how."""

    what: str
    field: str
    body: Any


class Description:
    """The OpenAPI description of a service, whose references it resolves."""

    def __init__(self, document: Json) -> None:
        self._document = document

    def list_bodies(self, *prefixes: str) -> dict[str, Json]:
        """List the schemas of the JSON bodies below some paths, by operation such as `POST /v1/receipts`."""
        found = {}
        for path, item in self._document["paths"].items():
            for method, operation in item.items():
                content = operation.get("requestBody", {}).get("content", {}) if method != "parameters" else {}
                if path.startswith(prefixes) and "application/json" in content:
                    found[f"{method.upper()} {path}"] = self.resolve(content["application/json"]["schema"])
        return found

    def resolve(self, schema: Json) -> Json:
        """Return the schema that a reference names; another schema is returned as it is."""
        while "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            schema = self._document["components"]["schemas"][name]
        return schema

    def list_choices(self, schema: Json) -> list[Json]:
        """List the schemas of which a value has to match one."""
        resolved = self.resolve(schema)
        if "anyOf" not in resolved:
            return [resolved]
        return [choice for each in resolved["anyOf"] for choice in self.list_choices(each)]

    def mutate(self, schema: Json, valid: Json) -> Iterator[Mutation]:
        """Yield bodies that are wrong in one field, made of a valid body."""
        for field, of_field in schema["properties"].items():
            if field in schema.get("required", ()):
                yield Mutation("missing", field, {name: value for name, value in valid.items() if name != field})
            for what, value in self._list_wrong_values(self.list_choices(of_field)):
                yield Mutation(what, field, {**valid, field: value})
        yield Mutation("unknown", UNKNOWN, {**valid, UNKNOWN: 7})

    def _list_wrong_values(self, choices: list[Json]) -> Iterator[tuple[str, Any]]:
        taken = {kind for choice in choices for kind in types_of(choice)}
        for kind, sample in SAMPLES.items():
            if kind not in taken and not taken & _ALSO.get(kind, set()):
                yield ("null" if kind == "null" else f"a {kind}"), sample
        for choice in choices:
            yield from _list_wrong_forms(choice)


def types_of(schema: Json) -> set[str]:
    """Return the JSON types that a schema without references accepts."""
    if "type" in schema:
        kinds = schema["type"]
        return set(kinds) if isinstance(kinds, list) else {kinds}
    return {"string"} if "enum" in schema else set(SAMPLES)


def _list_wrong_forms(schema: Json) -> Iterator[tuple[str, Any]]:
    """Yield values of the right type that break a bound of a schema."""
    kinds = types_of(schema)
    if "string" in kinds:
        yield from _list_wrong_texts(schema)
    if "integer" in kinds:
        yield from (("too much", schema["maximum"] + 1),) if schema.get("maximum", MAX_INTEGER) < MAX_INTEGER else ()
        yield from (("too little", schema["minimum"] - 1),) if "minimum" in schema else ()
    if "array" in kinds:
        yield from (("too many", ["a"] * (schema["maxItems"] + 1)),) if "maxItems" in schema else ()
        yield "a wrong item", [7.5]
    if "object" in kinds and "properties" not in schema:
        yield "too large", {"text": "a" * LONG}
    if "boolean" in kinds and schema.get("const") is True:
        yield "another value", False


def _list_wrong_texts(schema: Json) -> Iterator[tuple[str, str]]:
    yield "too long", "a" * (schema["maxLength"] + 1 if "maxLength" in schema else LONG)
    if schema.get("minLength"):
        yield "empty", ""
    if any(name in schema for name in _FORMS):
        yield "no such value", "No, such value!"
