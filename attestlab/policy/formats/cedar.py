"""Exports a policy to Cedar (https://docs.cedarpolicy.com) with the same decisions.

Cedar has neither priorities nor defaults, so one `permit` for `Action::"decide"` contains the whole decision. A
further `permit` per rule, for `Action::"match"`, makes Cedar name the matching rules: its `policy<i>` is rule i in
decision order, counted from 1. Attributes are those of the context, named by dotted paths. Cedar has no floating
point: numbers become decimals of four digits, and a number that does not fit is rejected, never rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from attestlab.core.errors import ValidationFailed
from attestlab.core.json_types import JsonValue
from attestlab.policy.language.ast import And, Effect, Literal, NormalForm, Policy, to_normal_form
from attestlab.policy.language.attributes import Attribute, AttributeType, AttributeValue, Op
from attestlab.policy.language.context import Values

MAX_CEDAR_RULES = 60  # they nest in one condition, and the depth of Cedar's parser is limited
_MAX_DECIMAL = Decimal("922337203685477.5807")


def to_cedar(policy: Policy) -> str:
    """Return the policies in Cedar's syntax.

    Raises:
        ValidationFailed: there are too many rules, or a number does not fit into Cedar's decimal.
    """
    rules = policy.enforced_rules
    if len(rules) > MAX_CEDAR_RULES:
        raise ValidationFailed(f"The policy has {len(rules)} rules; an export to Cedar has at most {MAX_CEDAR_RULES}.")
    conditions = [(rule, _format_form(to_normal_form(rule))) for rule in rules]
    decision = _format_boolean(policy.default is Effect.ALLOW)
    for rule, condition in reversed(conditions):
        decision = f"if {condition} then {_format_boolean(rule.effect is Effect.ALLOW)}\n  else {decision}"
    texts = [_permit("decision", "decide", decision)]
    texts += [_permit(rule.id, "match", condition) for rule, condition in conditions]
    return "\n".join(texts)


def to_cedar_context(values: Values, attributes: Mapping[str, Attribute]) -> dict[str, JsonValue]:
    """Return a typed context as the JSON that Cedar reads.

    Raises:
        ValidationFailed: a number does not fit into Cedar's decimal.
    """
    return {path: _to_json(value) for path, value in values.items() if path in attributes}


def _permit(name: str, action: str, condition: str) -> str:
    head = f'permit (principal, action == Action::"{action}", resource)'
    return f"@id({_quote(name)})\n{head}\nwhen {{ {condition} }};\n"


def _format_form(form: NormalForm) -> str:
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
    """Format the test of a present value."""
    leaf = atom.leaf
    value = f"context[{_quote(leaf.attribute.path)}]"
    if leaf.op is Op.EXISTS:
        return _format_boolean(bool(leaf.value))
    if isinstance(leaf.value, tuple):
        among = f"[{', '.join(map(_format_constant, leaf.value))}].contains({value})"
        return f"{_MEMBERSHIPS[leaf.op]}{among}"
    if leaf.attribute.type is AttributeType.NUMBER and leaf.op in _DECIMAL:
        return f"{value}.{_DECIMAL[leaf.op]}({_format_constant(leaf.value)})"
    return f"{value} {_SIGNS[leaf.op]} {_format_constant(leaf.value)}"


_DECIMAL = {Op.LT: "lessThan", Op.LTE: "lessThanOrEqual", Op.GT: "greaterThan", Op.GTE: "greaterThanOrEqual"}
_MEMBERSHIPS = {Op.IN: "", Op.NOT_IN: "!"}
_SIGNS = {Op.EQ: "==", Op.NE: "!=", Op.LT: "<", Op.LTE: "<=", Op.GT: ">", Op.GTE: ">="}


def _format_constant(value: AttributeValue) -> str:
    if isinstance(value, bool):
        return _format_boolean(value)
    if isinstance(value, float):
        return f'decimal("{_format_decimal(value)}")'
    return str(value) if isinstance(value, int) else _quote(value)


def _to_json(value: AttributeValue) -> JsonValue:
    if isinstance(value, float):
        return {"__extn": {"fn": "decimal", "arg": _format_decimal(value)}}
    return value


def _format_decimal(value: float) -> str:
    """Format a number with the one to four decimal digits of Cedar; exact or rejected."""
    exact = Decimal(repr(value))
    if abs(exact) > _MAX_DECIMAL or exact != round(exact, 4):
        raise ValidationFailed(
            f"{value!r} is not a Cedar decimal, which has four digits after the point; use another number."
        )
    return f"{exact:.4f}"


def _quote(text: str) -> str:
    """Quote a Cedar string; all but plain ASCII is escaped by its code point."""
    plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{{{ord(c):x}}}" for c in text)
    return '"' + "".join(plain) + '"'


def _format_boolean(truth: bool) -> str:
    return "true" if truth else "false"
