"""What the JSON Schema (2020-12) of a policy document says beyond the fields of its models.

The operators and types of attributes determine it, so that a schema and the parser refuse the same documents as far as
a schema can. Generators of clients ignore `if`, `then` and `else`, and make one class of each model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from pydantic.json_schema import JsonSchemaValue

from attestlab.policy.language.attributes import (
    OPERATORS,
    PATH,
    PATH_LENGTH,
    TEXT_LENGTH,
    AttributeType,
    Op,
    Operand,
)

COMPARISON: JsonSchemaValue = {"attr": "risk_rating", "op": "eq", "value": "CRITICAL"}
COMBINATION: JsonSchemaValue = {
    "all": [{"attr": "trust_tier", "op": "in", "value": ["VERIFIED", "ENTERPRISE"]}, {"not": COMPARISON}]
}
"""Examples of conditions."""
_TEXT: JsonSchemaValue = {"type": "string", "maxLength": TEXT_LENGTH}
_NUMBER: JsonSchemaValue = {"type": "number"}  # JSON has one type of number: 3.0 is an integer
_BOOLEAN: JsonSchemaValue = {"type": "boolean"}
_VALUES = {
    AttributeType.ENUM: _TEXT,
    AttributeType.TEXT: _TEXT,
    AttributeType.NUMBER: _NUMBER,
    AttributeType.INTEGER: _NUMBER,
    AttributeType.BOOLEAN: _BOOLEAN,
}


def describe_path(schema: JsonSchemaValue) -> None:
    """Describe the path of an attribute; the parser looks the path up, and names the nearest one instead."""
    schema.update(pattern=f"^{PATH.pattern}$", maxLength=PATH_LENGTH)


def describe_condition(schema: JsonSchemaValue) -> None:
    """Describe the forms of a condition as `anyOf`: for `oneOf`, a Go client wants a library that it does not name."""
    schema.update(anyOf=schema.pop("oneOf"), examples=[COMBINATION])


def describe_comparison(schema: JsonSchemaValue) -> None:
    """Describe which values each operator takes; `schema` is that of a comparison with any value."""
    value = schema["properties"]["value"]
    [array] = [each for each in value["anyOf"] if each.get("type") == "array"]
    by_operator = {op: _list_values(op, array) for op in Op}
    value["anyOf"] = _distinct(each for listed in by_operator.values() for each in listed)
    rules: JsonSchemaValue = {}
    for listed in reversed(_distinct(by_operator.values())):
        operators = [{"const": op.value} for op in Op if by_operator[op] == listed]
        rules = {
            "if": {"properties": {"op": {"anyOf": operators}}},
            "then": {"properties": {"value": listed[0] if len(listed) == 1 else {"anyOf": listed}}},
            **({"else": rules} if rules else {}),
        }
    schema.update(rules, examples=[COMPARISON])


def _list_values(op: Op, array: JsonSchemaValue) -> list[JsonSchemaValue]:
    """List the values of one operator: those of each type that has it, or a list of such values."""
    meaning = OPERATORS[op]
    if meaning.operand is Operand.PRESENCE:
        return [_BOOLEAN]
    kinds = _distinct(schema for kind, schema in _VALUES.items() if kind in meaning.types)
    return [{**array, "items": each} for each in kinds] if meaning.operand is Operand.LIST else kinds


Part = TypeVar("Part")


def _distinct(parts: Iterable[Part]) -> list[Part]:
    """List each part once, in the order of their first occurrences."""
    found: list[Part] = []
    for part in parts:
        if part not in found:
            found.append(part)
    return found
