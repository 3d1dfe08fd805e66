"""Partitions the values of each attribute into the few equivalence classes that a set of policies distinguishes.

A leaf compares one attribute with constants, so two values between the same constants are equal to every rule. That
makes an infinite domain finite, and exact: a class of numbers contains at least one double, whereas a solver over the
reals would find witnesses between two neighbouring doubles that no context can hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from attestlab.policy.language.ast import Comparison, Policy, iterate_comparisons
from attestlab.policy.language.attributes import NUMERIC, OPERATORS, Attribute, AttributeType, AttributeValue, Operand

_NO_DOUBLE_ABOVE = math.nextafter(math.inf, 0)


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """One class. `value` represents it; `above` and `below` are the open ends of an interval of numbers.

    `others` marks the class of all texts or enum values that no rule names.
    """

    value: AttributeValue
    above: float | None = None
    below: float | None = None
    others: bool = False

    def holds(self, value: AttributeValue, named: frozenset[AttributeValue]) -> bool:
        """Whether the class contains `value`; `named` are the constants with classes of their own."""
        if self.others:
            return value not in named
        if self.above is None and self.below is None:
            return value == self.value
        return (self.above is None or self.above < float(value)) and (self.below is None or float(value) < self.below)


def partition(policies: Iterable[Policy]) -> dict[str, tuple[EquivalenceClass, ...]]:
    """Return the classes of each attribute that a rule uses, in ascending order; missing is not one of them."""
    asked: dict[str, tuple[Attribute, set[AttributeValue]]] = {}
    for leaf in (leaf for policy in policies for rule in policy.rules for leaf in iterate_comparisons(rule.when)):
        asked.setdefault(leaf.attribute.path, (leaf.attribute, set()))[1].update(compared_values(leaf))
    return {path: tuple(_partition_attribute(attribute, named)) for path, (attribute, named) in sorted(asked.items())}


def compared_values(leaf: Comparison) -> tuple[AttributeValue, ...]:
    """Return the constants of a comparison."""
    if OPERATORS[leaf.op].operand is Operand.PRESENCE:
        return ()
    return leaf.value if isinstance(leaf.value, tuple) else (leaf.value,)


def class_index(value: AttributeValue | None, cells: tuple[EquivalenceClass, ...]) -> int | None:
    """Return the index of the class that contains `value`; None for a missing value."""
    if value is None:
        return None
    named = frozenset(cell.value for cell in cells if not cell.others)
    return next(index for index, cell in enumerate(cells) if cell.holds(value, named))


def representatives(cells: Mapping[str, tuple[EquivalenceClass, ...]]) -> dict[str, tuple[AttributeValue | None, ...]]:
    """Return for each attribute one value of each class, and None for missing."""
    return {path: (None, *(cell.value for cell in classes)) for path, classes in cells.items()}


def _partition_attribute(attribute: Attribute, named: set[AttributeValue]) -> Iterator[EquivalenceClass]:
    if attribute.type is AttributeType.BOOLEAN:
        yield from (EquivalenceClass(False), EquivalenceClass(True))
    elif attribute.type in NUMERIC:
        yield from _partition_numbers(attribute, {float(constant) for constant in named})
    else:
        yield from (EquivalenceClass(text) for text in sorted(map(str, named)))
        if (other := _unnamed_value(attribute, named)) is not None:
            yield EquivalenceClass(other, others=True)


def _unnamed_value(attribute: Attribute, named: set[AttributeValue]) -> str | None:
    if attribute.type is AttributeType.ENUM:
        return next((value for value in attribute.values if value not in named), None)
    return next(text for text in (f"other{n or ''}" for n in range(len(named) + 1)) if text not in named)


def _partition_numbers(attribute: Attribute, named: set[float]) -> Iterator[EquivalenceClass]:
    """Yield each constant as a class, and each interval between neighbours that contains a value."""
    named |= {float(bound) for bound in (attribute.least, attribute.most) if bound is not None}
    points = sorted(named)
    ends: list[float | None] = [*([None] if attribute.least is None else []), *points]
    ends += [None] if attribute.most is None else []
    whole = attribute.type is AttributeType.INTEGER
    if not points:
        yield EquivalenceClass(0 if whole else 0.0, -math.inf, math.inf)
        return
    for low, high in pairwise([*ends, math.nan]):
        if low is not None:
            yield EquivalenceClass(int(low) if whole else low)
        if high is None or not math.isnan(high):
            inner = _integer_between(low, high) if whole else _double_between(low, high)
            if inner is not None:
                yield EquivalenceClass(inner, low, high)


def _integer_between(low: float | None, high: float | None) -> int | None:
    value = int(low) + 1 if low is not None else int(high or 0) - 1
    is_inside = (high is None or value < high) and abs(value) <= 2**53 - 1
    return value if is_inside else None


def _double_between(low: float | None, high: float | None) -> float | None:
    """Return a double strictly between, preferably a short one: next to 90 use 91, not 90.00000000000001."""
    floor = -math.inf if low is None else low
    ceiling = math.inf if high is None else high
    wished = [math.floor(low) + 1.0] if low is not None else [math.ceil(ceiling) - 1.0]
    wished += [floor / 2 + ceiling / 2, math.nextafter(floor, math.inf), math.nextafter(ceiling, -math.inf)]
    return next((value for value in wished if floor < value < ceiling and math.isfinite(value)), None)
