"""A policy as Cedar text (https://docs.cedarpolicy.com), with the same answers.

Cedar has neither priorities nor defaults: all of that is one `permit` for `Action::"decide"`.
One further `permit` a rule, for `Action::"match"`, makes Cedar name the rules that match: its
`policy<i>` is rule i in decision order, counted from 1. Attributes are the context's, named by their
dotted paths. Cedar has no floating point: numbers become its decimals of four digits, and what
does not fit is refused, never rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from attestlab.core.errors import ValidationFailed
from attestlab.policy.language.ast import And, Effect, Form, Literal, Policy, to_normal_form
from attestlab.policy.language.attributes import Attribute, AttributeType, Op, Value
from attestlab.policy.language.context import Values

MAX_CEDAR_RULES = 60  # they nest in one condition, and Cedar's parser follows only so deep
_MAX_DECIMAL = Decimal("922337203685477.5807")


def to_cedar(policy: Policy) -> str:
    """The policies in Cedar's syntax.

    Raises:
        ValidationFailed: too many rules, or a number that Cedar's decimal cannot hold.
    """
    rules = policy.enforced_rules
    if len(rules) > MAX_CEDAR_RULES:
        raise ValidationFailed(
            f"A policy of {len(rules)} rules cannot be exported to Cedar, at most {MAX_CEDAR_RULES} can."
        )
    conditions = [(rule, _format_form(to_normal_form(rule))) for rule in rules]
    decision = _format_boolean(policy.default is Effect.ALLOW)
    for rule, condition in reversed(conditions):
        decision = f"if {condition} then {_format_boolean(rule.effect is Effect.ALLOW)}\n  else {decision}"
    texts = [_permit("decision", "decide", decision)]
    texts += [_permit(rule.id, "match", condition) for rule, condition in conditions]
    return "\n".join(texts)


def to_cedar_context(values: Values, attributes: Mapping[str, Attribute]) -> dict[str, Any]:
    """A typed context as the JSON that Cedar reads.

    Raises:
        ValidationFailed: a number that Cedar's decimal cannot hold.
    """
    return {path: _to_json(value) for path, value in values.items() if path in attributes}


def _permit(name: str, action: str, condition: str) -> str:
    head = f'permit (principal, action == Action::"{action}", resource)'
    return f"@id({_quote(name)})\n{head}\nwhen {{ {condition} }};\n"


def _format_form(form: Form) -> str:
    if isinstance(form, Literal):
        return _format_literal(form)
    joint = " && " if isinstance(form, And) else " || "
    return "(" + joint.join(map(_format_form, form.parts)) + ")"


def _format_literal(atom: Literal) -> str:
    leaf = atom.leaf
    name = _quote(leaf.attribute.path)
    asked = f"!({_test_value(atom)})" if atom.negated else _test_value(atom)
    return f"(!(context has {name}) || {asked})" if atom.when_missing else f"(context has {name} && {asked})"


def _test_value(atom: Literal) -> str:
    """What is asked of a value that is there."""
    leaf = atom.leaf
    value = f"context[{_quote(leaf.attribute.path)}]"
    if leaf.op is Op.EXISTS:
        return _format_boolean(bool(leaf.value))
    if isinstance(leaf.value, tuple):
        among = f"[{', '.join(map(_format_constant, leaf.value))}].contains({value})"
        return f"!{among}" if leaf.op is Op.NOT_IN else among
    if leaf.attribute.type is AttributeType.NUMBER and leaf.op in _DECIMAL:
        return f"{value}.{_DECIMAL[leaf.op]}({_format_constant(leaf.value)})"
    return f"{value} {_SIGNS[leaf.op]} {_format_constant(leaf.value)}"


_DECIMAL = {Op.LT: "lessThan", Op.LTE: "lessThanOrEqual", Op.GT: "greaterThan", Op.GTE: "greaterThanOrEqual"}
_SIGNS = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LTE: "<=", Op.GT: ">", Op.GTE: ">="}


def _format_constant(value: Value) -> str:
    if isinstance(value, bool):
        return _format_boolean(value)
    if isinstance(value, float):
        return f'decimal("{_format_decimal(value)}")'
    return str(value) if isinstance(value, int) else _quote(value)


def _to_json(value: Value) -> Any:
    if isinstance(value, float):
        return {"__extn": {"fn": "decimal", "arg": _format_decimal(value)}}
    return value


def _format_decimal(value: float) -> str:
    """One to four digits after the point, as Cedar wants them; exact or refused."""
    exact = Decimal(repr(value))
    if abs(exact) > _MAX_DECIMAL or exact != round(exact, 4):
        raise ValidationFailed(f"{value!r} is no Cedar decimal, which has four digits after the point; write another.")
    return f"{exact:.4f}"


def _quote(text: str) -> str:
    """A Cedar string; all but plain ASCII is escaped by its code point."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return '"' + "".join(plain) + '"'


def _format_boolean(truth: bool) -> str:
    return "true" if truth else "false"
