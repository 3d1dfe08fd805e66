"""The binder: resolves the attributes of a document and checks operators and constants against their types."""

from __future__ import annotations

from collections.abc import Iterable

from attestlab.core.encoding import json_pointer
from attestlab.core.errors import MAX_REPORTED_ERRORS, FieldError
from attestlab.core.suggestions import MAX_SUGGESTIONS, find_nearest
from attestlab.policy.language.ast import AllOf, AnyOf, Comparison, ConditionTree, Not, Policy, Rule, decision_order
from attestlab.policy.language.attributes import (
    OPERATORS,
    Attribute,
    AttributeValue,
    Op,
    Operand,
    Registry,
    ValueProblem,
)
from attestlab.policy.language.document import (
    AllDoc,
    AnyDoc,
    ComparisonDoc,
    Condition,
    Document,
    NotDoc,
    RuleDoc,
    invalid_policy,
)

DocumentPath = tuple[int | str, ...]


def bind(document: Document, registry: Registry) -> Policy:
    """Bind a document to a registry and return the typed policy.

    Raises:
        ValidationFailed: an unknown attribute (with the nearest name), an operator that does not fit the attribute's
            type, a constant of the wrong type or out of its domain; also in rules that are not enabled.
    """
    reader = _Binder(registry)
    rules = [(written, reader.rule(written, index)) for index, written in enumerate(document.rules)]
    if reader.faults:
        raise invalid_policy(reader.faults, count=reader.count)
    enabled = sorted((rule for written, rule in rules if written.enabled), key=decision_order)
    return Policy(document.name, document.default_effect, document.mode, tuple(enabled))


class _Binder:
    """Collects the first errors, so that an author can correct them together, and counts all errors."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self.faults: list[FieldError] = []
        self.count = 0

    def rule(self, written: RuleDoc, index: int) -> Rule:
        when = self._tree(written.when, ("rules", index, "when"))
        reason = written.reason or f"Rule {written.id} matched."
        return Rule(written.id, written.effect, written.priority, written.mode, reason, when)

    def _tree(self, written: Condition, place: DocumentPath) -> ConditionTree:
        match written:
            case AllDoc():
                return AllOf(self._parts(written.all, (*place, "all")))
            case AnyDoc():
                return AnyOf(self._parts(written.any, (*place, "any")))
            case NotDoc():
                return Not(self._tree(written.not_, (*place, "not")))
            case ComparisonDoc():
                return self._leaf(written, place)

    def _parts(self, written: Iterable[Condition], place: DocumentPath) -> tuple[ConditionTree, ...]:
        return tuple(self._tree(part, (*place, index)) for index, part in enumerate(written))

    def _leaf(self, written: ComparisonDoc, place: DocumentPath) -> ConditionTree:
        path, op, value = written.attr, written.op, written.value
        attribute = self._registry.get(path)
        if attribute is None:
            self._refuse((*place, "attr"), "unknown_attribute", self._unknown(path))
            return AllOf(())
        if op not in attribute.ops():
            fitting = ", ".join(sorted(attribute.ops()))
            self._refuse(
                (*place, "op"),
                "operator",
                f"Operator {op} does not apply to {path} of type {attribute.type}; use {fitting}.",
            )
            return AllOf(())
        return Comparison(attribute, op, self._value(attribute, op, value, (*place, "value")))

    def _value(
        self, attribute: Attribute, op: Op, raw: object, place: DocumentPath
    ) -> AttributeValue | tuple[AttributeValue, ...]:
        operand = OPERATORS[op].operand
        if not _is_of_kind(raw, operand):
            self._refuse(place, "value_type", f"{op} takes {operand}.")
            return False
        if operand is Operand.PRESENCE:
            return bool(raw)
        if isinstance(raw, tuple):
            read = [self._constant(attribute, each, (*place, index)) for index, each in enumerate(raw)]
            return tuple(dict.fromkeys(read))
        return self._constant(attribute, raw, place)

    def _constant(self, attribute: Attribute, raw: object, place: DocumentPath) -> AttributeValue:
        value = attribute.parse(raw)
        if isinstance(value, ValueProblem):
            self._refuse(place, value.code, f"{attribute.path}: {value.explain(suggest=self._suggests)}")
            return False
        return value

    @property
    def _suggests(self) -> bool:
        return self.count < MAX_SUGGESTIONS

    def _unknown(self, path: str) -> str:
        close = find_nearest(path, self._registry) if self._suggests else None
        return f"No attribute {path[:64]!r} is registered" + (f"; did you mean {close}?" if close else ".")

    def _refuse(self, place: DocumentPath, code: str, message: str) -> None:
        self.count += 1
        if len(self.faults) < MAX_REPORTED_ERRORS:
            self.faults.append(FieldError(json_pointer(*place), code, message))


def _is_of_kind(raw: object, operand: Operand) -> bool:
    if operand is Operand.PRESENCE:
        return type(raw) is bool
    return isinstance(raw, tuple) is (operand is Operand.LIST)
