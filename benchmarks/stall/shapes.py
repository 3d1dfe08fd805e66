"""The worst bodies for a JSON Schema: widest, deepest, longest, with the most elements and the most faults.

Each maker takes a size in bytes and returns a body of about that size; twice the size means twice the input.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple
from uuid import uuid4

Maker = Callable[[int], bytes]
Schema = Mapping[str, Any]
DEPTH = 60  # the parser admits 64 levels
READ_APART = frozenset({"payload_b64url"})  # members with a reader of their own, independent of their schemas


class Case(NamedTuple):
    """One kind of body, named after the part that is large."""

    name: str
    make: Maker


class Schemas:
    """The schemas of one OpenAPI document; `known` maps member names to real values, such as a `kid`."""

    def __init__(self, document: Schema, known: Mapping[str, Any]) -> None:
        self._definitions: Schema = document["components"]["schemas"]
        self._known = known

    def resolve(self, schema: Schema) -> Schema:
        """Resolve references, and return the first alternative that is not null."""
        if "$ref" in schema:
            return self.resolve(self._definitions[schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return self.resolve(next(each for each in schema["anyOf"] if each.get("type") != "null"))
        if len(schema.get("allOf", [])) == 1:
            return self.resolve(schema["allOf"][0])
        return schema

    def example(self, schema: Schema, name: str = "") -> Any:
        """Return a value that the schema admits, as far as the schema determines it."""
        if name in self._known:
            return self._known[name]
        schema = self.resolve(schema)
        if "const" in schema or "enum" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        makers: dict[str, Callable[[], Any]] = {
            "object": lambda: self._object(schema),
            "array": lambda: [self.example(schema.get("items", {}))] * schema.get("minItems", 0),
            "integer": lambda: int(schema.get("minimum", 1)),
            "number": lambda: schema.get("minimum", 1.0),
            "boolean": lambda: True,
        }
        return makers.get(str(schema.get("type")), lambda: _text(schema))()

    def _object(self, schema: Schema) -> dict[str, Any]:
        required = schema.get("required", [])
        return {
            name: self.example(part, name) for name, part in schema.get("properties", {}).items() if name in required
        }

    def cases(self, schema: Schema) -> Iterator[Case]:
        """Yield all kinds of bad bodies for one schema."""
        schema = self.resolve(schema)
        base = self.example(schema)
        if not isinstance(base, dict):
            return
        yield Case("unknown members", _wide_maker(base, None))
        yield Case("deep unknown member", _deep_maker(base, "unknown"))
        yield Case("nothing but a deep unknown member", _deep_maker({}, "unknown"))
        yield from self._members(base, schema.get("properties", {}))

    def _members(self, base: dict[str, Any], properties: Mapping[str, Schema]) -> Iterator[Case]:
        """Yield the cases of each member; of similar members only those of the first."""
        seen = set()
        for name, schema in properties.items():
            part = self.resolve(schema)
            kind = _kind(name, part)
            if kind not in seen:
                seen.add(kind)
                yield from self._member_cases(base, name, part)

    def _member_cases(self, base: dict[str, Any], name: str, part: Schema) -> Iterator[Case]:
        kind = part.get("type")
        if kind == "array":
            item = self.example(part.get("items", {}))
            yield Case(f"many {name}", _filled_maker(base, name, item, lambda value, _: value))
            yield Case(f"many wrong {name}", _filled_maker(base, name, None, lambda _, index: [index]))
        elif kind == "object" or "properties" in part:
            yield Case(f"wide {name}", _wide_maker(base, name))
            yield Case(f"deep {name}", _deep_maker(base, name))
        elif kind == "string" and "enum" not in part:
            yield Case(f"long {name}", _long_maker(base, name, "a"))
            yield Case(f"escaped {name}", _long_maker(base, name, "\\u0041"))


def _kind(name: str, part: Schema) -> str:
    """Return a key that is equal for members with the same schema, ignoring descriptions for people."""
    rules = {key: value for key, value in part.items() if key not in ("title", "description", "examples", "default")}
    return json.dumps([name in READ_APART and name, rules], sort_keys=True)


def _text(schema: Schema) -> str:
    formats = {"uuid": str(uuid4()), "date-time": "2030-01-01T00:00:00Z", "email": "ada@example.com"}
    return formats.get(str(schema.get("format")), "a" * max(1, int(schema.get("minLength", 1))))


def _wide_maker(base: dict[str, Any], name: str | None) -> Maker:
    """Return a maker of unknown members, in the body itself or in its member `name`."""

    def make(size: int) -> bytes:
        members = {f"m{index:06}": 0 for index in range(size // 13)}
        return dump_json({**base, **members} if name is None else {**base, name: members})

    return make


def _deep_maker(base: dict[str, Any], name: str) -> Maker:
    def make(size: int) -> bytes:
        nest: Any = {}
        for _ in range(DEPTH - 2):
            nest = {"a": nest}
        return dump_json({**base, name: {f"m{index:06}": nest for index in range(size // (6 * DEPTH))}})

    return make


def _filled_maker(base: dict[str, Any], name: str, item: Any, each: Callable[[Any, int], Any]) -> Maker:
    def make(size: int) -> bytes:
        count = max(1, size // (len(dump_json(each(item, 99_999))) + 1))
        return dump_json({**base, name: [each(item, index) for index in range(count)]})

    return make


def _long_maker(base: dict[str, Any], name: str, unit: str) -> Maker:
    def make(size: int) -> bytes:
        text = f'"{unit * (size // len(unit))}"'
        return dump_json({**base, name: "@"}).replace(f'"{name}":"@"'.encode(), f'"{name}":{text}'.encode())

    return make


def dump_json(value: Any) -> bytes:
    """Return JSON without blanks."""
    return json.dumps(value, separators=(",", ":")).encode()
