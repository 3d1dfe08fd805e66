"""Hypothesis strategies for policy documents and contexts."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from attestlab.policy.language.attributes import OPERATORS, Attribute, AttributeType, Operand
from support.policies.documents import REGISTRY, make_document

HOSTILE_TEXTS = [
    "",
    "'",
    "''; DROP TABLE x; --",
    '"',
    "\\",
    "%_",
    "é",
    "e\u0301",
    "\U0001f600",
    "a\nb",
    "{}",
    "$1",
    "NULL",
]


FEW = {"jurisdiction": ("CH", "DE", "NO", "US")}


def sample_values(attribute: Attribute) -> list[Any]:
    """Values that are worth asking about: bounds, neighbours, a few of each domain."""
    match attribute.type:
        case AttributeType.BOOLEAN:
            return [True, False]
        case AttributeType.TEXT:
            return HOSTILE_TEXTS
        case AttributeType.ENUM:
            return list(FEW.get(attribute.path, attribute.values))
        case AttributeType.INTEGER:
            return [-5, -1, 0, 1, 2, 5]
        case _ if attribute.most is not None:
            return [attribute.least, 0.5, 30, 79.5, 80, attribute.most]
        case _ if attribute.least == 0:
            return [0, 0.5, 30, 89.5, 90, 365.25]
        case _:
            return [-1e300, -90.0, math.nextafter(90.0, 0), 90, 90.25, 0.1, -0.0, 1e-7, 1e300]


def json_leaf(draw: st.DrawFn) -> dict[str, Any]:
    """A leaf that the registry takes."""
    attribute = REGISTRY[draw(st.sampled_from(sorted(REGISTRY)))]
    op = draw(st.sampled_from(sorted(attribute.ops())))
    known = st.sampled_from(sample_values(attribute))
    operands = {
        Operand.PRESENCE: st.booleans(),
        Operand.LIST: st.lists(known, min_size=1, max_size=3),
        Operand.VALUE: known,
    }
    return {"attr": attribute.path, "op": op, "value": draw(operands[OPERATORS[op].operand])}


@st.composite
def json_conditions(draw: st.DrawFn, depth: int = 3) -> dict[str, Any]:
    """A condition; leaves are the likeliest."""
    kind = draw(st.sampled_from(["leaf", "leaf", "all", "any", "not"])) if depth else "leaf"
    if kind == "leaf":
        return json_leaf(draw)
    if kind == "not":
        return {"not": draw(json_conditions(depth=depth - 1))}
    return {kind: draw(st.lists(json_conditions(depth=depth - 1), min_size=1, max_size=3))}


@st.composite
def json_rules(draw: st.DrawFn, number: int, effect: str | None = None) -> dict[str, Any]:
    """A rule; priorities are few, so that there are ties."""
    return {
        "id": f"r{number}",
        "effect": effect or draw(st.sampled_from(["ALLOW", "DENY"])),
        "priority": draw(st.integers(0, 3)),
        "enabled": draw(st.sampled_from([True, True, True, False])),
        "mode": draw(st.sampled_from(["ENFORCE", "ENFORCE", "ENFORCE", "MONITOR"])),
        "when": draw(json_conditions()),
    }


@st.composite
def json_policies(draw: st.DrawFn, most: int = 6) -> dict[str, Any]:
    """A whole document."""
    count = draw(st.integers(1, most))
    return make_document(
        *[draw(json_rules(number)) for number in range(count)], default_effect=draw(st.sampled_from(["ALLOW", "DENY"]))
    )


@st.composite
def raw_contexts(draw: st.DrawFn) -> dict[str, Any]:
    """What a caller may send: dotted or nested, folded, of the wrong type, out of the domain, missing."""
    context: dict[str, Any] = {}
    for path, attribute in REGISTRY.items():
        kind = draw(st.sampled_from(["good", "good", "good", "missing", "odd"]))
        if kind == "good":
            value = draw(st.sampled_from(sample_values(attribute)))
            is_enum = attribute.type is AttributeType.ENUM
            _put(draw, context, path, draw(st.sampled_from([value, value.lower()])) if is_enum else value)
        elif kind == "odd":
            odd = [None, True, 3, 2.5, "90", "", [], {}, math.nan, math.inf, 2**60, -7, "nowhere"]
            _put(draw, context, path, draw(st.sampled_from(odd)))
    return context


def _put(draw: st.DrawFn, context: dict[str, Any], path: str, value: Any) -> None:
    first, _, rest = path.partition(".")
    if rest and draw(st.booleans()):
        context.setdefault(first, {})[rest] = value
    else:
        context[path] = value
