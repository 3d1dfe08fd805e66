"""Random policies and contexts, and a reading of POLICY that is as naive as can be.

`reference` knows nothing of the package's trees: it reads the JSON document and the raw context and follows
the sentences of POLICY one by one, with None for unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from attestlab.policy.evaluation.binder import bind
from attestlab.policy.language.ast import Policy
from attestlab.policy.language.attributes import NUMERIC, PLATFORM, Attribute, AttributeType, Registry
from attestlab.policy.language.document import Document

HOSTILE = ["", "'", "''; DROP TABLE x; --", '"', "\\", "%_", "é", "e\u0301", "\U0001f600", "a\nb", "{}", "$1", "NULL"]
REGISTRY: Registry = PLATFORM.with_own(
    [
        Attribute("claims.amount", AttributeType.NUMBER, unit="CHF"),
        Attribute("claims.count", AttributeType.INTEGER, least=-5, most=5),
        Attribute("is_resident", AttributeType.BOOLEAN),
        Attribute("note", AttributeType.TEXT),
        Attribute("size", AttributeType.ENUM, ("S", "M", "l")),
    ]
)
FEW = {"jurisdiction": ("CH", "DE", "NO", "US")}


def values_of(attribute: Attribute) -> list[Any]:
    """Values that are worth asking about: bounds, neighbours, a few of each domain."""
    match attribute.type:
        case AttributeType.BOOLEAN:
            return [True, False]
        case AttributeType.TEXT:
            return HOSTILE
        case AttributeType.ENUM:
            return list(FEW.get(attribute.path, attribute.values))
        case AttributeType.INTEGER:
            return [-5, -1, 0, 1, 2, 5]
        case _ if attribute.least == 0:
            return [0, 0.5, 30, 89.5, 90, 365.25]
        case _:
            return [-1e300, -90.0, math.nextafter(90.0, 0), 90, 90.25, 0.1, -0.0, 1e-7, 1e300]


def json_leaf(draw: st.DrawFn) -> dict[str, Any]:
    """A leaf that the registry takes."""
    attribute = REGISTRY[draw(st.sampled_from(sorted(REGISTRY)))]
    op = draw(st.sampled_from(sorted(attribute.ops())))
    known = st.sampled_from(values_of(attribute))
    if op == "exists":
        return {"attr": attribute.path, "op": op, "value": draw(st.booleans())}
    value = draw(st.lists(known, min_size=1, max_size=3)) if op in {"in", "not_in"} else draw(known)
    return {"attr": attribute.path, "op": op, "value": value}


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
    return document(
        *[draw(json_rules(number)) for number in range(count)], default_effect=draw(st.sampled_from(["ALLOW", "DENY"]))
    )


@st.composite
def raw_contexts(draw: st.DrawFn) -> dict[str, Any]:
    """What a caller may send: dotted or nested, folded, of the wrong type, out of the domain, missing."""
    context: dict[str, Any] = {}
    for path, attribute in REGISTRY.items():
        kind = draw(st.sampled_from(["good", "good", "good", "missing", "odd"]))
        if kind == "good":
            value = draw(st.sampled_from(values_of(attribute)))
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


def document(*rules: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A tenant's default policy for minting, with what a test wants to say."""
    plain = {"name": "p", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "DENY"}
    return {**plain, "rules": list(rules), **more}


def rule(name: str, effect: str, when: Mapping[str, Any], priority: int = 0, **more: Any) -> dict[str, Any]:
    """One rule of a document."""
    return {"id": name, "effect": effect, "priority": priority, "when": when, **more}


def leaf(attr: str, op: str, value: Any) -> dict[str, Any]:
    """One question."""
    return {"attr": attr, "op": op, "value": value}


def typed(raw: Mapping[str, Any], registry: Registry = REGISTRY) -> Policy:
    """The policy that a JSON document means."""
    return bind(Document.read(raw), registry)


def reference(raw: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[bool, list[str], list[str]]:
    """Allowed, the counting rules that match with the deciding one first, the watched ones that match."""
    values = {path: value for path in REGISTRY if (value := _typed(REGISTRY[path], _found(context, path))) is not None}
    rules = [rule for rule in raw["rules"] if rule.get("enabled", True)]
    rules.sort(key=lambda rule: (rule["priority"], rule["effect"] == "ALLOW", rule["id"]))
    matching = [rule for rule in rules if _holds(rule["when"], values, rule["effect"]) is True]
    counting = [rule for rule in matching if rule.get("mode", "ENFORCE") == "ENFORCE"]
    effect = counting[0]["effect"] if counting else raw["default_effect"]
    return effect == "ALLOW", [rule["id"] for rule in counting], [r["id"] for r in matching if r not in counting]


def _found(context: Mapping[str, Any], path: str) -> Any:
    """Dotted or nested; both at once is neither."""
    first, _, rest = path.partition(".")
    nested = context.get(first)
    inside = isinstance(nested, dict) and rest in nested
    if rest and inside and path in context:
        return None
    return nested[rest] if rest and inside else context.get(path)


def _typed(attribute: Attribute, raw: Any) -> Any:
    kind = attribute.type
    if kind is AttributeType.ENUM and isinstance(raw, str):
        return next((value for value in attribute.values if value.casefold() == raw.casefold()), None)
    if kind is AttributeType.TEXT and isinstance(raw, str):
        return raw
    if kind is AttributeType.BOOLEAN and isinstance(raw, bool):
        return raw
    if kind not in NUMERIC or isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        return None
    if (isinstance(raw, int) and abs(raw) >= 2**53) or (kind is AttributeType.INTEGER and raw != int(raw)):
        return None
    low, high = attribute.least, attribute.most
    return raw if (low is None or raw >= low) and (high is None or raw <= high) else None


def _holds(when: Mapping[str, Any], values: Mapping[str, Any], effect: str) -> bool | None:
    if "not" in when:
        inner = _holds(when["not"], values, effect)
        return None if inner is None else not inner
    for word, decides in (("all", False), ("any", True)):
        if word in when:
            truths = [_holds(part, values, effect) for part in when[word]]
            return decides if decides in truths else (None if None in truths else not decides)
    return _answered(when, values, effect)


def _answered(when: Mapping[str, Any], values: Mapping[str, Any], effect: str) -> bool | None:
    attribute, op = REGISTRY[when["attr"]], when["op"]
    actual = values.get(when["attr"])
    if actual is None:
        if effect == "ALLOW":
            return None
        return op in {"ne", "not_in"} or (op == "exists" and not when["value"])
    if op == "exists":
        return bool(when["value"])
    wanted = (
        [_typed(attribute, each) for each in when["value"]]
        if op in {"in", "not_in"}
        else _typed(attribute, when["value"])
    )
    return {
        "eq": lambda: actual == wanted, "ne": lambda: actual != wanted,
        "in": lambda: actual in wanted, "not_in": lambda: actual not in wanted,
        "lt": lambda: actual < wanted, "lte": lambda: actual <= wanted,
        "gt": lambda: actual > wanted, "gte": lambda: actual >= wanted,
    }[op]()  # fmt: skip
