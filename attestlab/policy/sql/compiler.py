"""Compiles a policy to DuckDB SQL over typed columns, one column per attribute, NULL for missing.

There are two equivalent forms. `case_sql` returns only the effect and stops at the first matching rule; `mask_sql`
returns every matching rule, one bit each in decision order, 64 per word.

SQL's three-valued logic is Kleene's, so an ALLOW rule is compiled as written, and the enclosing CASE treats NULL as
false. In a DENY rule each leaf is total (POLICY, Semantics 2): a leaf under a NOT gets a COALESCE; elsewhere NULL and
FALSE are equivalent. Identifiers come only from the registry, whose paths are lower-case words; values are literals
written from typed constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attestlab.policy.language.ast import (
    AllOf,
    AnyOf,
    Comparison,
    ConditionTree,
    Effect,
    Not,
    Policy,
    Rule,
    holds_when_missing,
)
from attestlab.policy.language.attributes import PATH, AttributeType, AttributeValue, Op

WORD_BITS = 64

Forced = Mapping[tuple[str, Comparison], bool]
"""Given results of leaves by rule id, if the attribute has a value; a missing value is evaluated as usual."""

_NO_FORCED: Forced = {}

COLUMN_TYPES: dict[AttributeType, str] = {
    AttributeType.ENUM: "VARCHAR",
    AttributeType.TEXT: "VARCHAR",
    AttributeType.NUMBER: "DOUBLE",
    AttributeType.INTEGER: "BIGINT",
    AttributeType.BOOLEAN: "BOOLEAN",
}


def case_sql(policy: Policy) -> str:
    """Return a BOOLEAN expression: whether the policy allows. Lazy: a rule is evaluated only if no earlier one
    matched.
    """
    return rules_sql(policy.enforced_rules, policy.default)


def rules_sql(rules: Sequence[Rule], default: Effect | None, forced: Forced = _NO_FORCED) -> str:
    """Return a BOOLEAN expression: the effect of the first matching rule; else `default`, or NULL without one."""
    otherwise = "NULL::BOOLEAN" if default is None else _effect_sql(default)
    whens = " ".join(f"WHEN {rule_sql(rule, forced)} THEN {_effect_sql(rule.effect)}" for rule in rules)
    return f"CASE {whens} ELSE {otherwise} END" if whens else otherwise


def first_sql(policy: Policy) -> str:
    """Return an INTEGER expression: the place (from 1) of the deciding rule, negative if it denies; 0 if none
    matches.

    Lazy like `case_sql`, but also identifies the deciding rule.
    """
    signs = {Effect.ALLOW: "", Effect.DENY: "-"}
    whens = " ".join(
        f"WHEN {rule_sql(rule)} THEN {signs[rule.effect]}{place}" for place, rule in enumerate(policy.enforced_rules, 1)
    )
    return f"CASE {whens} ELSE 0 END" if whens else "0"


def clear_lowest_bit(words: Sequence[str]) -> list[str]:
    """Return the mask's words without the lowest set bit: the rules that match in addition to the deciding one."""
    before = [" AND ".join(f"{word} = 0" for word in words[:index]) for index in range(len(words))]
    return [
        f"CASE WHEN {f'{lower} AND ' if lower else ''}{word} <> 0 THEN {word} & ({word} - 1::UBIGINT) ELSE {word} END"
        for word, lower in zip(words, before, strict=True)
    ]


def mask_sql(rules: Sequence[Rule]) -> list[str]:
    """Return UBIGINT expressions: bit i of word w is set if rule `64 * w + i` matches; no words without rules."""
    words = [rules[start : start + WORD_BITS] for start in range(0, len(rules), WORD_BITS)]
    return [_bitwise_or([_bit_sql(rule, index) for index, rule in enumerate(word)]) for word in words]


def decided_sql(policy: Policy, words: Sequence[str]) -> str:
    """Return a BOOLEAN expression over the mask's columns `words`: the effect of the lowest set bit."""
    rules = policy.enforced_rules
    effect = _effect_sql(policy.default)
    for index in reversed(range(len(words))):
        allowing = sum(
            1 << bit
            for bit, rule in enumerate(rules[index * WORD_BITS : (index + 1) * WORD_BITS])
            if rule.effect is Effect.ALLOW
        )
        word = words[index]
        # x & -x is the lowest bit; UBIGINT has no minus, but xor(x, x - 1) has this bit and all lower ones set.
        lowest = f"(xor({word}, {word} - 1::UBIGINT) & {word})"
        effect = f"CASE WHEN {word} = 0 THEN {effect} ELSE ({lowest} & {allowing}::UBIGINT) <> 0 END"
    return effect


def rule_sql(rule: Rule, forced: Forced = _NO_FORCED) -> str:
    """Return the condition of a CASE: TRUE if the rule matches, FALSE or NULL if not."""
    asked = _kleene_sql if rule.effect is Effect.ALLOW else _classical_sql

    def leaf_sql(leaf: Comparison, negated: bool) -> str:
        answer = forced.get((rule.id, leaf))
        return asked(leaf, negated) if answer is None else _forced_sql(leaf, answer, rule.effect)

    return _tree_sql(rule.when, leaf_sql)


def quote_identifier(name: str) -> str:
    """Quote any name as an identifier of SQL.

    >>> print(quote_identifier('the "best" score'))
    "the ""best"" score"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_column(path: str, *, prefix: str = "", suffix: str = "") -> str:
    """Return the quoted identifier of an attribute's column, which may have a prefix and a suffix of ours.

    Raises:
        ValueError: it is not a registry path; nothing else may become an identifier.
    """
    if not PATH.fullmatch(path):
        raise ValueError(f"{path!r} is not a registered path")
    return quote_identifier(f"{prefix}{path}{suffix}")


def literal(value: AttributeValue) -> str:
    """Return a typed constant as SQL; a number as a DOUBLE that reads back as the same double."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return f"({value}::BIGINT)"
    if isinstance(value, float):
        spelt = repr(value)
        return f"({spelt if 'e' in spelt else spelt + 'e0'})"
    if "\x00" in value:  # a query cannot contain NUL, so it is concatenated
        return "(" + " || chr(0) || ".join(literal(part) for part in value.split("\x00")) + ")"
    return "'" + value.replace("'", "''") + "'"


def _effect_sql(effect: Effect) -> str:
    return "TRUE" if effect is Effect.ALLOW else "FALSE"


def _bit_sql(rule: Rule, index: int) -> str:
    return f"CASE WHEN {rule_sql(rule)} THEN {1 << index}::UBIGINT ELSE 0::UBIGINT END"


def _bitwise_or(terms: list[str]) -> str:
    """Join terms in a balanced tree, so that 64 terms nest six deep."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_bitwise_or(terms[:half])} | {_bitwise_or(terms[half:])})"


def _tree_sql(tree: ConditionTree, leaf: Callable[[Comparison, bool], str], *, negated: bool = False) -> str:
    """Compile a tree; `negated` is true under a NOT."""
    if isinstance(tree, Comparison):
        return leaf(tree, negated)
    if isinstance(tree, Not):
        return f"(NOT {_tree_sql(tree.part, leaf, negated=True)})"
    joint = " AND " if isinstance(tree, AllOf) else " OR "
    assert isinstance(tree, AllOf | AnyOf)
    return "(" + joint.join(_tree_sql(part, leaf, negated=negated) for part in tree.parts) + ")"


def _kleene_sql(leaf: Comparison, _negated: bool) -> str:
    """Compile a leaf in Kleene's logic: NULL if the attribute is missing, for any operator."""
    name = quote_column(leaf.attribute.path)
    if leaf.op is Op.EXISTS:
        return f"(CASE WHEN {name} IS NOT NULL THEN {literal(bool(leaf.value))} END)"
    return _comparison_sql(leaf, name)


def _classical_sql(leaf: Comparison, negated: bool) -> str:
    """Compile a leaf in classical logic: missing makes a positive test false (or an equivalent NULL), `ne` and
    `not_in` true.
    """
    name = quote_column(leaf.attribute.path)
    if leaf.op is Op.EXISTS:
        return f"({name} IS {'NOT ' if leaf.value else ''}NULL)"
    if holds_when_missing(leaf):
        return f"COALESCE({_comparison_sql(leaf, name)}, TRUE)"
    return f"COALESCE({_comparison_sql(leaf, name)}, FALSE)" if negated else _comparison_sql(leaf, name)


def _forced_sql(leaf: Comparison, answer: bool, effect: Effect) -> str:
    """Compile a positive test with a given result; if the value is missing: unknown in ALLOW rules, false in DENY
    rules.
    """
    there = f"{quote_column(leaf.attribute.path)} IS NOT NULL"
    if effect is Effect.ALLOW:
        return f"(CASE WHEN {there} THEN {literal(answer)} END)"
    return f"({there})" if answer else "FALSE"


def _comparison_sql(leaf: Comparison, name: str) -> str:
    if isinstance(leaf.value, tuple):
        among = ", ".join(map(literal, leaf.value))
        return f"({name} {_SIGNS[leaf.op]} ({among}))"
    return f"({name} {_SIGNS[leaf.op]} {literal(leaf.value)})"


_SIGNS = {
    Op.EQ: "=", Op.NE: "<>", Op.LT: "<", Op.LTE: "<=", Op.GT: ">", Op.GTE: ">=", Op.IN: "IN", Op.NOT_IN: "NOT IN",
}  # fmt: skip
