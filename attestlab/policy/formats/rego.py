"""Exports a policy as a Rego v1 module (https://www.openpolicyagent.org) with the same decisions.

`input` is a typed context by dotted paths; `data.attestlab.allow` is the effect, `data.attestlab.matched` the set of
matching enforced rules, `data.attestlab.deciding` the deciding one. In Rego a missing attribute is undefined and its
negation true, which would let an ALLOW rule match on absence; so each test states its own result for a missing
attribute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from attestlab.policy.language.ast import And, Effect, Literal, NormalForm, Policy, to_normal_form
from attestlab.policy.language.attributes import AttributeValue, Op

PACKAGE = "attestlab"


def to_rego(policy: Policy) -> str:
    """Return the module's text."""
    return "\n".join([f"package {PACKAGE}\n\nimport rego.v1\n", *_Writer().lines(policy)]) + "\n"


class _Writer:
    """Collects the helper rules for disjunctions, which Rego cannot write inline: each is a rule with several
    bodies.
    """

    def __init__(self) -> None:
        self._choices: list[str] = []

    def lines(self, policy: Policy) -> Iterator[str]:
        """Yield the effect, then the rules, then the helper rules."""
        rules = policy.enforced_rules
        allowing = [rule.id for rule in rules if rule.effect is Effect.ALLOW]
        yield f"order := {_format_list([rule.id for rule in rules])}\n"
        yield "found := [name | some name in order; name in matched]\n"
        yield "deciding := found[0]\n"
        yield "default allow := false\n"
        yield f"allow if deciding in {_format_list(allowing)}\n"
        if policy.default is Effect.ALLOW:
            yield "allow if count(found) == 0\n"
        if not rules:
            yield "matched := set()\n"
        for rule in rules:
            yield f"matched contains {_format_constant(rule.id)} if {{\n\t{self._body(to_normal_form(rule))}\n}}\n"
        yield from self._choices

    def _body(self, form: NormalForm) -> str:
        """Return the conditions of a body, one per line."""
        if isinstance(form, Literal):
            return self._atom(form)
        if isinstance(form, And):
            return "\n\t".join(map(self._body, form.parts))
        return self._choice([self._body(part) for part in form.parts])

    def _choice(self, bodies: list[str]) -> str:
        """Add a helper rule that is true if one of the bodies is, and return its name."""
        name = f"choice_{len(self._choices)}"
        self._choices.append("".join(f"{name} if {{\n\t{body}\n}}\n\n" for body in bodies))
        return name

    def _atom(self, atom: Literal) -> str:
        has = f"{_format_constant(atom.leaf.attribute.path)} in object.keys(input)"
        asked = f"{has}\n\t{_test_value(atom)}"
        return self._choice([f"not {has}", asked]) if atom.when_missing else asked


def _test_value(atom: Literal) -> str:
    """Format the test of a present value."""
    leaf = atom.leaf
    if leaf.op is Op.EXISTS:
        return _format_constant(bool(leaf.value) is not atom.negated)
    value = f"input[{_format_constant(leaf.attribute.path)}]"
    if isinstance(leaf.value, tuple):
        inside = _MEMBERSHIPS[leaf.op] is not atom.negated
        return f"{'' if inside else 'not '}{value} in {_format_list(leaf.value)}"
    return f"{value} {_CONTRARY[_SIGNS[leaf.op]] if atom.negated else _SIGNS[leaf.op]} {_format_constant(leaf.value)}"


_MEMBERSHIPS = {Op.IN: True, Op.NOT_IN: False}
_SIGNS = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LTE: "<=", Op.GT: ">", Op.GTE: ">="}
_CONTRARY = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _format_list(values: tuple[AttributeValue, ...] | list[str]) -> str:
    return "[" + ", ".join(map(_format_constant, values)) + "]"


def _format_constant(value: AttributeValue) -> str:
    """Format a constant; Rego's constants are JSON's."""
    return json.dumps(value, ensure_ascii=False)
