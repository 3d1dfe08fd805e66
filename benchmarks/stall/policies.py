"""The worst policy documents: misspelt everywhere, with thousands of leaves, and as TOML with dotted keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from benchmarks.stall.shapes import Case, dump_json

Put = Callable[[dict[str, Any]], dict[str, Any]]
"""Puts the document into a body: as the body itself, or as one member of it."""

LIST_VALUES = 1_000
RULES = 1_000
WRONG = ("eqq", "ALLOWW", "ENFORCEE")


def document(rules: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return a document with these rules."""
    head = {"name": "stall", "category": "MINT", "target_type": "TENANT_DEFAULT", "default_effect": "ALLOW"}
    return {**head, "rules": rules, **more}


def rule(number: int, when: Any, effect: str = "ALLOW") -> dict[str, Any]:
    """Return one rule."""
    return {"id": f"r{number}", "effect": effect, "priority": number, "when": when}


def leaf(number: int, attr: str = "key.age_days", op: str = "eq") -> dict[str, Any]:
    """Return one leaf condition, different for each number."""
    return {"attr": attr, "op": op, "value": number}


def cases(put: Put) -> Iterator[Case]:
    """Yield all kinds of bad documents for one route."""
    for name, made in _KINDS.items():
        yield Case(f"policy: {name}", partial(_body, put, made))


def toml_cases(put: Put) -> Iterator[Case]:
    """Yield bad TOML for routes that accept TOML."""
    for name, made in _TOML.items():
        yield Case(f"policy as TOML: {name}", partial(_toml_body, put, made))


def _body(put: Put, made: Callable[[int], dict[str, Any]], size: int) -> bytes:
    return dump_json(put(made(size)))


def _toml_body(put: Put, made: Callable[[int], str], size: int) -> bytes:
    return dump_json(put({"toml": made(size)}))


def wrong_lists(size: int) -> dict[str, Any]:
    """Return a document with lists of invalid countries."""
    words = max(1, size // 6)
    lists = [[f"{word % 46_656:03x}"[-3:] for word in range(at, min(at + LIST_VALUES, words))]
             for at in range(0, words, LIST_VALUES)]  # fmt: skip
    return document([rule(n, {"attr": "jurisdiction", "op": "in", "value": each}) for n, each in enumerate(lists)])


def _long_wrong_lists(size: int) -> dict[str, Any]:
    values = [f"{'subst' * 10}{number:06}" for number in range(max(1, size // 60))]
    lists = [values[at : at + LIST_VALUES] for at in range(0, len(values), LIST_VALUES)]
    return document([rule(n, {"attr": "assurance_level", "op": "in", "value": each}) for n, each in enumerate(lists)])


def _wrong_words(size: int) -> dict[str, Any]:
    when = {"any": [leaf(number, "key.age_dayz", "eqq") for number in range(min(200, max(1, size // 60)))]}
    return document([rule(n, when, "ALLOWW") for n in range(min(RULES, max(1, size // len(dump_json(when)))))])


def _unknown_attributes(size: int) -> dict[str, Any]:
    return _spread(size, lambda number: leaf(number, f"jurisdictio{number}"))


def many_leaves(size: int) -> dict[str, Any]:
    return _spread(size, leaf)


def _spread(size: int, each: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    """Return a document with as many leaves as fit, 200 per rule."""
    count = max(1, min(12_000, size // 60))
    leaves = [each(number) for number in range(count)]
    parts = [leaves[at : at + 200] for at in range(0, count, 200)]
    return document([rule(n, {"any": part}) for n, part in enumerate(parts)])


def _deep(size: int) -> dict[str, Any]:
    when: dict[str, Any] = leaf(1)
    for _ in range(13):
        when = {"not": {"not": when}}
    return document([rule(n, when) for n in range(min(RULES, max(1, size // len(dump_json(when)))))])


def _unknown_members(size: int) -> dict[str, Any]:
    return {**document([rule(0, leaf(0))]), **{f"defaulteffec{number}": 0 for number in range(size // 20)}}


def _wrong_tests(size: int) -> dict[str, Any]:
    context = {"jurisdiction": "CHH", "trust_tierr": "VERIFIEDD", "risk_rating": "HIGHH"}
    test = {"context": context, "allowed": True, "matched_rules": [f"rule{n}" for n in range(20)]}
    count = min(1_000, max(1, size // 300))
    rules = [rule(n, leaf(n)) for n in range(min(RULES, max(1, size // 300)))]
    return document(rules, tests=[{"name": f"t{n}", **test} for n in range(count)])


def _long_reasons(size: int) -> dict[str, Any]:
    return document([{**rule(n, leaf(n)), "reason": "why " * 120} for n in range(min(RULES, max(1, size // 560)))])


_KINDS: dict[str, Callable[[int], dict[str, Any]]] = {
    "wrong values in lists": wrong_lists,
    "long wrong values in lists": _long_wrong_lists,
    "wrong words": _wrong_words,
    "unknown attributes": _unknown_attributes,
    "many leaves": many_leaves,
    "deep conditions": _deep,
    "unknown members": _unknown_members,
    "wrong tests": _wrong_tests,
    "long reasons": _long_reasons,
}


def _dotted(size: int) -> str:
    return "\n".join(f"a.b{number} = 1" for number in range(size // 12))


def _deep_dots(size: int) -> str:
    """Return keys with many dots, each of which the parser follows from its start."""
    return "\n".join(f"{'a.' * 30}b{number} = 1" for number in range(size // 72))


def long_key(size: int) -> str:
    return "a." * (size // 2) + "b = 1"


def _tables(size: int) -> str:
    return "\n".join(f"[t{number}]" for number in range(size // 8))


def _brackets(size: int) -> str:
    return "a = " + "[" * (size // 2) + "]" * (size // 2)


_TOML: dict[str, Callable[[int], str]] = {
    "dotted keys": _dotted,
    "deep dotted keys": _deep_dots,
    "one long key": long_key,
    "many tables": _tables,
    "brackets": _brackets,
}
