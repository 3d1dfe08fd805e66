"""A policy as DuckDB SQL over typed columns, one column an attribute, NULL for missing.

Two forms of the same meaning. `case_sql` gives the effect only and stops at the first rule that
matches; `mask_sql` gives every rule that matches, one bit each in decision order, 64 a word.

SQL's own three-valued logic is Kleene's, so an ALLOW rule is the written tree, whose NULL is collapsed by the
CASE that it stands in; in a DENY rule each leaf is total (POLICY, Semantics 2), by a COALESCE where a NOT stands
above it, for elsewhere NULL and FALSE come to the same. Identifiers come from the registry alone, whose paths are
lower-case words; values are literals that are written from typed constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attestlab.policy.language.ast import AllOf, AnyOf, Comparison, Effect, Not, Policy, Rule, Tree
from attestlab.policy.language.attributes import PATH, AttributeType, Op, Value

WORD_BITS = 64

Forced = Mapping[tuple[str, Comparison], bool]
"""Leaves by their rules' ids, answered already where their attribute has a value; a missing one answers as ever."""

_NO_FORCED: Forced = {}

COLUMN_TYPES: dict[AttributeType, str] = {
    AttributeType.ENUM: "VARCHAR",
    AttributeType.TEXT: "VARCHAR",
    AttributeType.NUMBER: "DOUBLE",
    AttributeType.INTEGER: "BIGINT",
    AttributeType.BOOLEAN: "BOOLEAN",
}


def case_sql(policy: Policy) -> str:
    """A BOOLEAN expression: whether the policy allows. Lazy: later rules are asked where no earlier one matched."""
    return rules_sql(policy.enforced_rules, policy.default)


def rules_sql(rules: Sequence[Rule], default: Effect | None, forced: Forced = _NO_FORCED) -> str:
    """A BOOLEAN expression: what the first of these rules that matches says; without a `default` NULL if none does."""
    otherwise = "NULL::BOOLEAN" if default is None else _effect_sql(default)
    whens = " ".join(f"WHEN {rule_sql(rule, forced)} THEN {_effect_sql(rule.effect)}" for rule in rules)
    return f"CASE {whens} ELSE {otherwise} END" if whens else otherwise


def first_sql(policy: Policy) -> str:
    """An INTEGER expression: the place (from 1) of the counting rule that decides, negative if it denies; 0: none does.

    Lazy, as `case_sql` is, and tells who decided as well.
    """
    signs = {Effect.ALLOW: "", Effect.DENY: "-"}
    whens = " ".join(
        f"WHEN {rule_sql(rule)} THEN {signs[rule.effect]}{place}" for place, rule in enumerate(policy.enforced_rules, 1)
    )
    return f"CASE {whens} ELSE 0 END" if whens else "0"


def clear_lowest_bit(words: Sequence[str]) -> list[str]:
    """The mask's columns without the lowest bit that is set: what matches beside the rule that decides."""
    before = [" AND ".join(f"{word} = 0" for word in words[:index]) for index in range(len(words))]
    return [
        f"CASE WHEN {f'{lower} AND ' if lower else ''}{word} <> 0 THEN {word} & ({word} - 1::UBIGINT) ELSE {word} END"
        for word, lower in zip(words, before, strict=True)
    ]


def mask_sql(rules: Sequence[Rule]) -> list[str]:
    """UBIGINT expressions: bit i of word w is set where rule `64 * w + i` matches; no rules, no words."""
    words = [rules[start : start + WORD_BITS] for start in range(0, len(rules), WORD_BITS)]
    return [_bitwise_or([_bit_sql(rule, index) for index, rule in enumerate(word)]) for word in words]


def decided_sql(policy: Policy, words: Sequence[str]) -> str:
    """A BOOLEAN expression over the mask's columns `words`: the effect of the lowest bit that is set."""
    rules = policy.enforced_rules
    effect = _effect_sql(policy.default)
    for index in reversed(range(len(words))):
        allowing = sum(
            1 << bit
            for bit, rule in enumerate(rules[index * WORD_BITS : (index + 1) * WORD_BITS])
            if rule.effect is Effect.ALLOW
        )
        word = words[index]
        # x & -x is the lowest bit; UBIGINT has no minus, and xor(x, x - 1) holds it and what is below it.
        lowest = f"(xor({word}, {word} - 1::UBIGINT) & {word})"
        effect = f"CASE WHEN {word} = 0 THEN {effect} ELSE ({lowest} & {allowing}::UBIGINT) <> 0 END"
    return effect


def rule_sql(rule: Rule, forced: Forced = _NO_FORCED) -> str:
    """The condition of a CASE: TRUE where the rule matches, FALSE or NULL where it does not."""
    asked = _kleene_sql if rule.effect is Effect.ALLOW else _classical_sql

    def leaf_sql(leaf: Comparison, negated: bool) -> str:
        answer = forced.get((rule.id, leaf))
        return asked(leaf, negated) if answer is None else _forced_sql(leaf, answer, rule.effect)

    return _tree_sql(rule.when, leaf_sql)


def quote_column(path: str) -> str:
    """The quoted identifier of an attribute.

    Raises:
        ValueError: it is no path that a registry takes; nothing else may become an identifier.
    """
    if not PATH.fullmatch(path):
        raise ValueError(f"{path!r} is not a registered path")
    return f'"{path}"'


def literal(value: Value) -> str:
    """A typed constant as SQL; a number is spelt as a DOUBLE that reads back as the same double."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"({value}::BIGINT)"
    if isinstance(value, float):
        spelt = repr(value)
        return f"({spelt if 'e' in spelt else spelt + 'e0'})"
    if "\x00" in value:  # NUL cannot stand in a query, so it is joined in
        return "(" + " || chr(0) || ".join(literal(part) for part in value.split("\x00")) + ")"
    return "'" + value.replace("'", "''") + "'"


def _effect_sql(effect: Effect) -> str:
    return "TRUE" if effect is Effect.ALLOW else "FALSE"


def _bit_sql(rule: Rule, index: int) -> str:
    return f"CASE WHEN {rule_sql(rule)} THEN {1 << index}::UBIGINT ELSE 0::UBIGINT END"


def _bitwise_or(terms: list[str]) -> str:
    """A balanced tree, so that 64 terms nest six deep."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_bitwise_or(terms[:half])} | {_bitwise_or(terms[half:])})"


def _tree_sql(tree: Tree, leaf: Callable[[Comparison, bool], str], *, negated: bool = False) -> str:
    """`negated` says that a NOT stands above."""
    if isinstance(tree, Comparison):
        return leaf(tree, negated)
    if isinstance(tree, Not):
        return f"(NOT {_tree_sql(tree.part, leaf, negated=True)})"
    joint = " AND " if isinstance(tree, AllOf) else " OR "
    assert isinstance(tree, AllOf | AnyOf)
    return "(" + joint.join(_tree_sql(part, leaf, negated=negated) for part in tree.parts) + ")"


def _kleene_sql(leaf: Comparison, _negated: bool) -> str:
    """NULL where the attribute is missing, whatever is asked of it."""
    name = quote_column(leaf.attribute.path)
    if leaf.op is Op.EXISTS:
        return f"(CASE WHEN {name} IS NOT NULL THEN {literal(bool(leaf.value))} END)"
    return _comparison_sql(leaf, name)


def _classical_sql(leaf: Comparison, negated: bool) -> str:
    """A missing value makes a positive question false (NULL, where that is the same) and `ne` and `not_in` true."""
    name = quote_column(leaf.attribute.path)
    if leaf.op is Op.EXISTS:
        return f"({name} IS {'NOT ' if leaf.value else ''}NULL)"
    if leaf.op in {Op.NE, Op.NOT_IN}:
        return f"COALESCE({_comparison_sql(leaf, name)}, TRUE)"
    return f"COALESCE({_comparison_sql(leaf, name)}, FALSE)" if negated else _comparison_sql(leaf, name)


def _forced_sql(leaf: Comparison, answer: bool, effect: Effect) -> str:
    """A positive question that is answered already; of a missing value it is unknown in ALLOW rules, false in DENY."""
    there = f"{quote_column(leaf.attribute.path)} IS NOT NULL"
    if effect is Effect.ALLOW:
        return f"(CASE WHEN {there} THEN {literal(answer)} END)"
    return f"({there})" if answer else "FALSE"


def _comparison_sql(leaf: Comparison, name: str) -> str:
    if isinstance(leaf.value, tuple):
        among = ", ".join(map(literal, leaf.value))
        return f"({name} {'NOT IN' if leaf.op is Op.NOT_IN else 'IN'} ({among}))"
    return f"({name} {_SIGNS[leaf.op]} {literal(leaf.value)})"


_SIGNS = {Op.EQ: "=", Op.NE: "<>", Op.LT: "<", Op.LTE: "<=", Op.GT: ">", Op.GTE: ">="}
