"""A reading of POLICY that is as naive as can be.

`evaluate_naively` does not use the package's trees: it reads the JSON document and the raw context and follows
the sentences of POLICY one by one, with None for unknown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from attestlab.policy.language.attributes import NUMERIC, Attribute, AttributeType
from support.policies.documents import REGISTRY


def evaluate_naively(raw: Mapping[str, Any], context: Mapping[str, Any]) -> tuple[bool, list[str], list[str]]:
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
