"""Schemas that tenants write: which are taken, which payloads conform, and what none of them can do to the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from attestlab.core.errors import ValidationFailed
from attestlab.receipts.types.json_schema import DIALECT, check_schema
from attestlab.receipts.types.rules import validate_payload

JsonObject = dict[str, Any]
NAMES = {"type": "string", "maxLength": 3}
TREE: JsonObject = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"left": {"$ref": "#/$defs/node"}, "right": {"$ref": "#/$defs/node"}},
            "additionalProperties": False,
        }
    },
}
ANY_JSON: JsonObject = {
    "properties": {"value": {"$ref": "#/$defs/value"}},
    "$defs": {
        "value": {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/value"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
            ]
        }
    },
}


def find_faults(schema: JsonObject, payload: Mapping[str, object]) -> list[tuple[str, str]]:
    return validate_payload(check_schema(schema).text, payload)


def places(schema: JsonObject, payload: Mapping[str, object]) -> list[str]:
    return sorted(place for place, _ in find_faults(schema, payload))


def refuse(schema: JsonObject) -> ValidationFailed:
    with pytest.raises(ValidationFailed) as caught:
        check_schema(schema)
    return caught.value


def refer(reference: str, definitions: JsonObject) -> JsonObject:
    """A schema whose property `a` refers to a definition."""
    return {"properties": {"a": {"$ref": reference}}, "$defs": definitions}


def nest(depth: int) -> JsonObject:
    """A schema that is nested so deep."""
    schema: JsonObject = {}
    for _ in range(depth - 1):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "payload", "expected"),
    [
        ({}, {"anything": [1, None]}, []),
        ({"required": ["a/b", "c"]}, {}, ["/payload/a~1b", "/payload/c"]),
        ({"properties": {"a": NAMES}}, {"a": "long"}, ["/payload/a"]),
        ({"properties": {"a": {"items": NAMES}}}, {"a": ["ok", 7, "long"]}, ["/payload/a/1", "/payload/a/2"]),
        ({"properties": {"a": {}}, "additionalProperties": False}, {"x": 1, "~y": 2}, ["/payload/x", "/payload/~0y"]),
        ({"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}, {"a": 1, "b": 2}, ["/payload/b"]),
        ({"properties": {"at": {"format": "date-time"}}}, {"at": "yesterday"}, ["/payload/at"]),
        ({"properties": {"at": {"format": "unheard-of"}}}, {"at": "yesterday"}, []),
        ({"minProperties": 1}, {}, ["/payload"]),
        ({"properties": {"n": {"type": "integer"}}}, {"n": 1.0}, []),
        (TREE, {"left": {"right": {"left": {}}}}, []),
        (TREE, {"left": {"middle": {}}}, ["/payload/left/middle"]),
        (ANY_JSON, {"value": [{"a": [None, {"b": 1}]}]}, []),
        (
            {"properties": {"a": {"$ref": "#b"}}, "$defs": {"x": {"$anchor": "b", "type": "null"}}},
            {"a": 1},
            ["/payload/a"],
        ),
        (
            {"properties": {"a": {"$ref": "#/$defs/a~1%25"}}, "$defs": {"a/%": {"type": "null"}}},
            {"a": 1},
            ["/payload/a"],
        ),
        (
            {"$dynamicAnchor": "me", "properties": {"me": {"$dynamicRef": "#me"}}, "required": ["n"]},
            {"n": 1, "me": {}},
            ["/payload/me/n"],
        ),
        (
            {
                "$id": "https://a.example/s",
                "$schema": DIALECT,
                "properties": {"a": {"$ref": "#/$defs/a"}},
                "$defs": {"a": {"type": "null"}},
            },
            {"a": 1},
            ["/payload/a"],
        ),
    ],
)
def test_faults_have_the_place_of_what_is_wrong(schema: JsonObject, payload: JsonObject, expected: list[str]) -> None:
    assert places(schema, payload) == expected


def test_at_most_twenty_faults_are_listed_in_short_sentences() -> None:
    faults = find_faults({"additionalProperties": {"enum": ["x" * 900]}}, {str(n): "y" * 90 for n in range(50)})

    assert len(faults) == 20
    assert all(len(message) <= 201 and message.endswith(".") for _, message in faults)


@pytest.mark.parametrize(
    ("schema", "place"),
    [
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, "/schema/$ref"),
        ({"$ref": "other.json#/a"}, "/schema/$ref"),
        ({"$ref": "file:///etc/passwd"}, "/schema/$ref"),
        ({"$ref": "//a.example/s"}, "/schema/$ref"),
        ({"$ref": ""}, "/schema/$ref"),
        ({"$ref": "#/nowhere"}, "/schema/$ref"),
        ({"$ref": "#nowhere"}, "/schema/$ref"),
        ({"$ref": "#/$defs"}, "/schema/$ref"),
        ({"$ref": "#/const", "const": {"$ref": "https://a.example"}}, "/schema/$ref"),
        ({"$id": "https://a.example/s", "$ref": "https://a.example/s#/$defs/a", "$defs": {"a": {}}}, "/schema/$ref"),
        ({"properties": {"a": {"$dynamicRef": "https://a.example#a"}}}, "/schema/properties/a/$dynamicRef"),
        ({"$defs": {"a": {"$id": "https://a.example/s"}}}, "/schema/$defs/a/$id"),
        ({"$defs": {"a": {"$schema": "http://json-schema.org/draft-04/schema#"}}}, "/schema/$defs/a/$schema"),
        ({"$defs": {"a": {"$anchor": "x"}, "b": {"$dynamicAnchor": "x"}}}, "/schema/$defs/"),
        ({"$schema": "https://a.example/dialect"}, "/schema/$schema"),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/schema/$schema"),
        ({"type": "array"}, "/schema/type"),
        ({"properties": {"a": {"type": "text"}}}, "/schema/properties/a/type"),
        ({"required": "a"}, "/schema/required"),
        (nest(33), "/schema"),
        ({"description": "x" * 65_600}, "/schema"),
    ],
)
def test_what_is_no_schema_of_ours_is_refused_at_its_place(schema: JsonObject, place: str) -> None:
    error = refuse(schema)

    assert error.fields[0].field.startswith(place), error.message
    assert error.message.endswith(".")


def test_a_schema_may_be_nested_32_deep() -> None:
    assert check_schema(nest(32)).text


@pytest.mark.parametrize(
    "schema",
    [
        {"const": {"$ref": "https://a.example", "$id": 7}},
        {"enum": [{"$schema": "x"}]},
        {"properties": {"$ref": {}, "$id": {}, "$schema": {}}},
        {"examples": [{"$ref": "x"}], "x-own": {"$ref": "https://a.example/"}},
    ],
)
def test_data_that_look_like_keywords_are_data(schema: JsonObject) -> None:
    assert check_schema(schema).text


@pytest.mark.parametrize(
    "pattern", ["(", "(?=a)", "(a)\\1", "(?<!a)b", "[z-a]", "\\p{L}{1,500}", "(((a{100}){100}){100})"]
)
def test_a_pattern_that_is_not_linear_or_too_large_is_refused(pattern: str) -> None:
    for schema in ({"properties": {"a": {"pattern": pattern}}}, {"patternProperties": {pattern: {}}}):
        assert refuse(schema).fields[0].field.startswith("/schema")


def test_a_hundred_patterns_are_taken_and_no_more() -> None:
    check_schema({"patternProperties": {f"^x{number}-[a-z]+$": {} for number in range(100)}})

    assert "at most 100" in refuse({"patternProperties": {f"^x{number}": {} for number in range(101)}}).message


def test_a_pattern_that_backtracks_elsewhere_is_matched_in_linear_time() -> None:
    schema = {"properties": {"a": {"pattern": "^(a+)+$"}, "b": {"pattern": "^(a|a)*$"}, "c": {"pattern": "(.*)*x"}}}
    text = "a" * 20_000 + "!"

    assert places(schema, {"a": text, "b": text, "c": text}) == ["/payload/a", "/payload/b", "/payload/c"]


def double(count: int, apply: Any) -> JsonObject:
    """A schema whose definitions each refer twice to the next one."""
    definitions = {f"d{number}": apply(f"#/$defs/d{number + 1}") for number in range(count)}
    return {"$ref": "#/$defs/d0", "$defs": {**definitions, f"d{count}": {"type": "object"}}}


@pytest.mark.parametrize(
    "schema",
    [
        double(30, lambda next_one: {"allOf": [{"$ref": next_one}, {"$ref": next_one}]}),
        double(30, lambda next_one: {"anyOf": [{"$ref": next_one}, {"not": {"$ref": next_one}}]}),
        double(30, lambda next_one: {"if": {"$ref": next_one}, "then": {"$ref": next_one}}),
        double(
            30,
            lambda next_one: {"properties": {"a": {"$ref": next_one}}, "patternProperties": {"a": {"$ref": next_one}}},
        ),
        double(30, lambda next_one: {"items": {"$ref": next_one}, "contains": {"$ref": next_one}}),
        double(30, lambda next_one: {"allOf": [{"$ref": next_one}], "unevaluatedProperties": False}),
        {"properties": {"a": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}},
        {"additionalProperties": {"$ref": "#"}, "patternProperties": {"a": {"$ref": "#"}}},
        {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]},
        {"properties": {"a": {"enum": [[number] for number in range(1_500)]}}},
    ],
)
def test_a_schema_whose_work_multiplies_is_refused(schema: JsonObject) -> None:
    assert "checks" in refuse(schema).message


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}},
        {"$dynamicAnchor": "a", "anyOf": [{"$dynamicRef": "#a"}]},
        {"$ref": "#", "unevaluatedProperties": False},
    ],
)
def test_references_that_lead_back_to_the_same_value_are_refused(schema: JsonObject) -> None:
    assert "without an end" in refuse(schema).message


def test_a_payload_that_is_too_large_for_its_schema_is_refused() -> None:
    schema = {"properties": {"list": {"items": {"anyOf": [{"const": number} for number in range(900)]}}}}
    text = check_schema(schema).text

    assert validate_payload(text, {"list": [899] * 300}) == []
    with pytest.raises(ValidationFailed, match=r"could take [0-9,]+ checks; at most 5,000,000") as caught:
        validate_payload(text, {"list": [899] * 10_000})
    assert caught.value.fields[0].field == "/payload"
