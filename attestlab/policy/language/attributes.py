"""The registry of attributes that policies may use, and the parsers for their values.

A value is typed or missing, nothing else (POLICY, Semantics 1). Contexts are untrusted: a value of the wrong type, out
of its domain or with an unknown spelling counts as missing, and a diagnostic gives the reason. The same parsers read
the constants of policies, where an invalid value is an error.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from attestlab.core.countries import LOCATIONS
from attestlab.core.errors import ValidationFailed
from attestlab.core.strict_json import MAX_SAFE_INTEGER, UNSTORABLE
from attestlab.core.suggestions import find_nearest
from attestlab.issuers.rules import IssuerStatus, KeyStatus, RiskRating, TrustTier
from attestlab.risk.rules import MAX_RECENT_SIGNALS, MAX_SCORE, EntityType

MAX_ATTRIBUTES = 200  # of a tenant's own
MAX_ENUM_VALUES = 1_000
PATH_LENGTH = 64
TEXT_LENGTH = 1_024
PATH = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*){0,3}")

AttributeValue = str | float | int | bool
"""A typed value of an attribute; a missing value is None or absent."""


class AttributeType(StrEnum):
    """The type of a value; an `enum` has a finite domain, a `text` has none."""

    ENUM = "enum"
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"


NUMERIC = frozenset({AttributeType.NUMBER, AttributeType.INTEGER})


class Op(StrEnum):
    """The operator of a comparison."""

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NOT_IN = "not_in"
    LT = "lt"
    LTE = "lte"
    GT = "gt"
    GTE = "gte"
    EXISTS = "exists"


class Operand(StrEnum):
    """What an operator compares the value of an attribute with."""

    VALUE = "one value, not a list"
    LIST = "a list"
    PRESENCE = "true or false"


@dataclass(frozen=True, slots=True)
class Operator:
    """The meaning of an operator; only languages that spell it differently (`sql`, `formats`) list operators again.

    `holds` judges a value that is present, and `holds_when_missing` is its answer in classical logic if it is not.
    """

    holds: Callable[..., bool]
    operand: Operand = Operand.VALUE
    types: frozenset[AttributeType] = frozenset(AttributeType)
    holds_when_missing: bool = False


_NOT_BOOLEAN = frozenset(AttributeType) - {AttributeType.BOOLEAN}
OPERATORS: dict[Op, Operator] = {
    Op.EQ: Operator(operator.eq),
    Op.NE: Operator(operator.ne, holds_when_missing=True),
    Op.IN: Operator(lambda actual, among: actual in among, Operand.LIST, _NOT_BOOLEAN),
    Op.NOT_IN: Operator(lambda actual, among: actual not in among, Operand.LIST, _NOT_BOOLEAN, holds_when_missing=True),
    Op.LT: Operator(operator.lt, types=NUMERIC),
    Op.LTE: Operator(operator.le, types=NUMERIC),
    Op.GT: Operator(operator.gt, types=NUMERIC),
    Op.GTE: Operator(operator.ge, types=NUMERIC),
    Op.EXISTS: Operator(lambda _actual, present: bool(present), Operand.PRESENCE),
}
ORDERING = frozenset({Op.LT, Op.LTE, Op.GT, Op.GTE})


def list_operators(kind: AttributeType) -> frozenset[Op]:
    """Return the operators that are defined for a type of attributes."""
    return frozenset(op for op, meaning in OPERATORS.items() if kind in meaning.types)


@dataclass(frozen=True, slots=True)
class ValueProblem:
    """The reason why a value was rejected; `code` is stable, `message` is for people.

    `word` is an unknown spelling and `among` are the known ones; the nearest is determined only on request.
    """

    code: str
    message: str
    word: str = ""
    among: tuple[str, ...] = ()

    def explain(self, *, suggest: bool) -> str:
        """Return the message; with the nearest known word if `suggest` is set."""
        close = find_nearest(self.word, self.among) if suggest and self.among else None
        return f"{self.message.removesuffix('.')}; did you mean {close}?" if close else self.message


Parse = Callable[[object], AttributeValue | ValueProblem]


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute. `values` is an enum's domain, `least` and `most` (inclusive) a number's.

    `mutable` is true if a person could bring about another value, so that counterfactuals may change it.

    Raises:
        ValidationFailed: its path, domain or unit is invalid.
    """

    path: str
    type: AttributeType
    values: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    unit: str | None = None
    mutable: bool = True
    parse: Parse = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(str(value) for value in self.values))  # of a StrEnum too
        _require_valid(self)
        object.__setattr__(self, "parse", _PARSERS[self.type](self))

    def ops(self) -> frozenset[Op]:
        """Return the operators that are defined for the attribute's type."""
        return list_operators(self.type)


class Registry(Mapping[str, Attribute]):
    """The attributes by path; immutable."""

    def __init__(self, attributes: Iterable[Attribute]) -> None:
        self._by_path = {attribute.path: attribute for attribute in attributes}

    def __getitem__(self, path: str) -> Attribute:
        return self._by_path[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_path)

    def __len__(self) -> int:
        return len(self._by_path)

    def with_own(self, attributes: Iterable[Attribute]) -> Registry:
        """Return the registry extended by a tenant's own attributes.

        Raises:
            ValidationFailed: there are too many, a path occurs twice, or one path contains another (`key` and
                `key.status`).
        """
        own = list(attributes)
        if len(own) > MAX_ATTRIBUTES:
            raise _invalid("path", f"At most {MAX_ATTRIBUTES} attributes can be registered.")
        _require_disjoint_paths([*self._by_path, *(attribute.path for attribute in own)])
        return Registry([*self._by_path.values(), *own])

    def nearest(self, path: str) -> str | None:
        """Return the registered path that is nearest to `path`, or None."""
        return find_nearest(path, self._by_path)


def _require_valid(attribute: Attribute) -> None:
    if len(attribute.path) > PATH_LENGTH or not PATH.fullmatch(attribute.path):
        raise _invalid("path", "A path is lower-case words of letters, digits and _, joined by up to three dots.")
    if (attribute.type is AttributeType.ENUM) != bool(attribute.values):
        raise _invalid("domain", "An enum, and no other type, has a list of values.")
    if len(attribute.values) > MAX_ENUM_VALUES:
        raise _invalid("domain", f"An enum has at most {MAX_ENUM_VALUES:,} values.")
    if len({value.casefold() for value in attribute.values}) < len(attribute.values):
        raise _invalid("domain", "Two values of an enum must differ by more than case.")
    if any(not value or len(value) > TEXT_LENGTH or UNSTORABLE.search(value) for value in attribute.values):
        raise _invalid(
            "domain", f"A value is a text of 1 to {TEXT_LENGTH:,} characters without NUL and lone surrogates."
        )
    bounds = [bound for bound in (attribute.least, attribute.most) if bound is not None]
    if bounds and (attribute.type not in NUMERIC or not all(map(math.isfinite, bounds)) or bounds != sorted(bounds)):
        raise _invalid("domain", "Only a number has `min` and `max`; both are finite and `min` is not above `max`.")
    if attribute.type is AttributeType.INTEGER and not all(float(bound).is_integer() for bound in bounds):
        raise _invalid("domain", "The bounds of an integer are whole numbers.")


def _require_disjoint_paths(paths: list[str]) -> None:
    """Reject a path that is the beginning of another, because dotted and nested spellings are the same."""
    known = set(paths)
    if len(known) < len(paths):
        twice = next(path for path in known if paths.count(path) > 1)
        raise _invalid("path", f"The attribute {twice} is already registered; choose another path.")
    for path in known:
        words = path.split(".")
        inside = next((".".join(words[:n]) for n in range(1, len(words)) if ".".join(words[:n]) in known), None)
        if inside:
            raise _invalid("path", f"{path} is inside {inside}, which has a value; choose another path.")


def _invalid(name: str, message: str) -> ValidationFailed:
    return ValidationFailed.of(f"/{name}", "attribute", message)


def _enum_parser(attribute: Attribute) -> Parse:
    values = attribute.values
    spelt = {
        spelling: value for value in values for spelling in (value.casefold(), value.lower(), value.upper(), value)
    }

    def parse(raw: object) -> AttributeValue | ValueProblem:
        if not isinstance(raw, str):
            return _wrong_type("a text", raw)
        found = spelt.get(raw) or (spelt.get(raw.casefold()) if len(raw) <= TEXT_LENGTH else None)
        if found is None:
            return ValueProblem("out_of_domain", f"{raw[:64]!r} is not a value.", raw, values)
        return found

    return parse


def _text_parser(attribute: Attribute) -> Parse:
    def parse(raw: object) -> AttributeValue | ValueProblem:
        if not isinstance(raw, str):
            return _wrong_type("a text", raw)
        if len(raw) > TEXT_LENGTH or UNSTORABLE.search(raw):
            return ValueProblem(
                "out_of_domain", f"a text has at most {TEXT_LENGTH:,} characters, no NUL, no lone surrogate."
            )
        return raw

    return parse


def _number_parser(attribute: Attribute) -> Parse:
    least = -math.inf if attribute.least is None else attribute.least
    most = math.inf if attribute.most is None else attribute.most

    def parse(raw: object) -> AttributeValue | ValueProblem:
        if type(raw) is float:
            value = raw + 0.0  # -0.0 and 0.0 are one value
        elif type(raw) is int and -MAX_SAFE_INTEGER <= raw <= MAX_SAFE_INTEGER:
            value = float(raw)
        else:
            return _not_a_number(raw)
        if least <= value <= most and value - value == 0:  # neither NaN nor infinite
            return value
        return _out_of_domain(value, attribute)

    return parse


def _integer_parser(attribute: Attribute) -> Parse:
    least = -MAX_SAFE_INTEGER if attribute.least is None else max(int(attribute.least), -MAX_SAFE_INTEGER)
    most = MAX_SAFE_INTEGER if attribute.most is None else min(int(attribute.most), MAX_SAFE_INTEGER)

    def parse(raw: object) -> AttributeValue | ValueProblem:
        if type(raw) is float and raw.is_integer():  # JSON has one type of number: 3.0 is 3
            raw = int(raw)
        if type(raw) is not int:
            return _wrong_type("a whole number", raw)
        return raw if least <= raw <= most else _out_of_domain(raw, attribute)

    return parse


def _boolean_parser(attribute: Attribute) -> Parse:
    def parse(raw: object) -> AttributeValue | ValueProblem:
        return raw if type(raw) is bool else _wrong_type("true or false", raw)

    return parse


_PARSERS: dict[AttributeType, Callable[[Attribute], Parse]] = {
    AttributeType.ENUM: _enum_parser,
    AttributeType.TEXT: _text_parser,
    AttributeType.NUMBER: _number_parser,
    AttributeType.INTEGER: _integer_parser,
    AttributeType.BOOLEAN: _boolean_parser,
}


def _wrong_type(expected: str, raw: object) -> ValueProblem:
    return ValueProblem("wrong_type", f"expected {expected}, not {_JSON_NAMES.get(type(raw), 'another type')}.")


def _not_a_number(raw: object) -> ValueProblem:
    if type(raw) is int:
        return _INEXACT
    return _wrong_type("a number", raw)


def _out_of_domain(value: float, attribute: Attribute) -> ValueProblem:
    if not math.isfinite(value):
        return ValueProblem("out_of_domain", "NaN and infinity are not valid values.")
    if attribute.type is AttributeType.INTEGER and abs(value) > MAX_SAFE_INTEGER:
        return _INEXACT
    return ValueProblem(
        "out_of_domain", f"{_format_number(value)} is outside the domain ({_describe_bounds(attribute)})."
    )


def _describe_bounds(attribute: Attribute) -> str:
    low, high = attribute.least, attribute.most
    if low is not None and high is not None:
        return f"{_format_number(low)} to {_format_number(high)}"
    return f"at most {_format_number(high)}" if high is not None else f"at least {_format_number(low or 0)}"


def _format_number(number: float) -> str:
    """Format a number briefly if that loses nothing: 0.0 is 0."""
    short = f"{number:.15g}"
    return short if float(short) == number else repr(number)


_INEXACT = ValueProblem("out_of_domain", "whole numbers beyond 2^53 - 1 are not exact.")
_JSON_NAMES: dict[type, str] = {
    str: "a text", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "an object",
}  # fmt: skip


def _risk_attributes(entity: EntityType) -> list[Attribute]:
    """Return what policies see of an entity's risk; `attestations.risk_context` looks it up."""
    return [
        Attribute(f"risk.{entity}.score", AttributeType.NUMBER, least=0, most=MAX_SCORE),
        Attribute(f"risk.{entity}.signals_24h", AttributeType.NUMBER, least=0, most=MAX_RECENT_SIGNALS, unit="signals"),
        Attribute(f"risk.{entity}.allow_listed", AttributeType.BOOLEAN),
        Attribute(f"risk.{entity}.deny_listed", AttributeType.BOOLEAN),
    ]


RISK_ENTITIES = (EntityType.ISSUER, EntityType.DOCUMENT, EntityType.IP)
RISK_ATTRIBUTES = {attribute.path: entity for entity in RISK_ENTITIES for attribute in _risk_attributes(entity)}
"""The entity of each attribute of risk, by path."""

PLATFORM = Registry(
    [
        Attribute("jurisdiction", AttributeType.ENUM, tuple(sorted(LOCATIONS)), mutable=False),
        Attribute("trust_tier", AttributeType.ENUM, tuple(TrustTier)),
        Attribute("status", AttributeType.ENUM, tuple(IssuerStatus)),
        Attribute("risk_rating", AttributeType.ENUM, tuple(RiskRating)),
        Attribute("assurance_level", AttributeType.ENUM, ("LOW", "SUBSTANTIAL", "HIGH")),
        Attribute("key.age_days", AttributeType.NUMBER, least=0, unit="days"),
        Attribute(
            "key.status", AttributeType.ENUM, tuple(status for status in KeyStatus if status != KeyStatus.PENDING)
        ),
        *(attribute for entity in RISK_ENTITIES for attribute in _risk_attributes(entity)),
    ]
)
