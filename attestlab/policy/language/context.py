"""The context normalizer: turns a caller's context into typed values, with diagnostics for everything else.

Evaluators see only its output and never JSON (POLICY, Semantics 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from attestlab.core.suggestions import MAX_SUGGESTIONS
from attestlab.policy.language.attributes import PATH_LENGTH, AttributeValue, Registry, ValueProblem

Values = dict[str, AttributeValue]
"""Typed values by path; an absent path is a missing value."""

MAX_DIAGNOSTICS = 20
_MAX_PATH_WORDS = 4  # words in a path
_UNKNOWN_ATTRIBUTE = ValueProblem("unknown_attribute", "This attribute is not registered.")
_GIVEN_TWICE = ValueProblem("given_twice", "It is given both dotted and nested, so neither is used.")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """The reason why an element of a context counts as missing or is ignored."""

    path: str
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class NormalizedContext:
    """A context as evaluators see it; `diagnostics` has at most twenty entries for rejected elements."""

    values: Values
    diagnostics: tuple[Diagnostic, ...] = ()


class ContextNormalizer:
    """Normalizes contexts with one registry."""

    def __init__(self, registry: Registry) -> None:
        self._parsers = {path: attribute.parse for path, attribute in registry.items()}
        self._registry = registry

    def __call__(self, context: Mapping[str, object]) -> NormalizedContext:
        """Normalize a context: dotted and nested spellings are the same, null is missing, no content raises an
        error.
        """
        values: Values = {}
        parsers = self._parsers
        for path, raw in context.items():
            parse = parsers.get(path)
            if parse is None:
                return self._with_care(context)
            value = parse(raw)
            if type(value) is ValueProblem:
                return self._with_care(context)
            values[path] = value  # type: ignore[assignment]  # not a ValueProblem: checked above
        return NormalizedContext(values)

    def _with_care(self, context: Mapping[str, object]) -> NormalizedContext:
        """Normalize a context that is nested or contains rejected elements."""
        values: Values = {}
        seen: set[str] = set()
        diagnostics: list[Diagnostic] = []
        for path, raw in _flatten(context, "", self._parsers):
            fault = self._take(path, raw, values, seen)
            if fault and len(diagnostics) < MAX_DIAGNOSTICS:
                message = self._explain(path, fault, suggest=len(diagnostics) < MAX_SUGGESTIONS)
                diagnostics.append(Diagnostic(path[:PATH_LENGTH], fault.code, message))
        return NormalizedContext(values, tuple(diagnostics))

    def _take(self, path: str, raw: object, values: Values, seen: set[str]) -> ValueProblem | None:
        if path not in self._parsers:
            return _UNKNOWN_ATTRIBUTE
        if path in seen:
            values.pop(path, None)
            return _GIVEN_TWICE
        seen.add(path)
        if raw is None:
            return None
        value = self._parsers[path](raw)
        if isinstance(value, ValueProblem):
            return value
        values[path] = value
        return None

    def _explain(self, path: str, fault: ValueProblem, *, suggest: bool) -> str:
        close = self._registry.nearest(path) if suggest and fault is _UNKNOWN_ATTRIBUTE else None
        return f"{fault.message} Did you mean {close}?" if close else fault.explain(suggest=suggest)


def _flatten(
    context: Mapping[str, object], prefix: str, known: Mapping[str, object], depth: int = 1
) -> Iterator[tuple[str, object]]:
    """Yield each value with its dotted path; descend into objects as deep as paths can be."""
    for key, raw in context.items():
        path = prefix + str(key)
        if isinstance(raw, dict) and path not in known and depth < _MAX_PATH_WORDS:
            yield from _flatten(raw, path + ".", known, depth + 1)
        else:
            yield path, raw
