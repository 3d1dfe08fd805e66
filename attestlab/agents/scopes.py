"""Scopes of machine agents (SPEC, Machine agent; CONTRACT 11.8): what an agent may do, and what it may never do.

A scope is `resource:action` or `resource:*`; `!` before it denies. A deny always wins, whatever the order. Agents
choose the words: `docs:read` means what the tool server that asks for it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from attestlab.core.encoding import quote
from attestlab.core.errors import FieldError, ValidationFailed

MAX_SCOPES: Final = 64
MAX_PART_LENGTH: Final = 64  # characters of a resource or an action
_PART = f"[a-z0-9][a-z0-9._-]{{0,{MAX_PART_LENGTH - 1}}}"
SCOPE_PATTERN: Final = rf"{_PART}:(?:{_PART}|\*)"  # without `!`
_PATTERN = re.compile(SCOPE_PATTERN)
_FORM = (
    f"'resource:action', 'resource:*', or one of these after '!'. Both parts have 1 to {MAX_PART_LENGTH} characters "
    "of a-z, 0-9, '.', '_' and '-', and begin with a letter or digit"
)


class ScopeSet(NamedTuple):
    """What is allowed and what is denied; each member is `resource:action` or `resource:*`, without `!`.

    >>> granted = parse_scopes(["docs:*", "!docs:delete"])
    >>> granted.permits("docs:read"), granted.permits("docs:delete"), granted.permits("mail:send")
    (True, False, False)
    """

    allows: frozenset[str] = frozenset()
    denies: frozenset[str] = frozenset()

    def permits(self, scope: str) -> bool:
        """Whether all that a scope names is allowed and none of it is denied."""
        return is_covered(scope, self.allows) and not self._denies_part_of(scope)

    def can_grant(self, scope: str) -> bool:
        """Whether a holder may pass a scope on: it is allowed, and no deny covers all of it.

        A deny of a part does not prevent that, because the receiver gets every deny of the holder as well.
        """
        return is_covered(scope, self.allows) and not is_covered(scope, self.denies)

    def intersect(self, other: ScopeSet) -> ScopeSet:
        """Return what both allow, with the denies of both.

        >>> parse_scopes(["docs:*"]).intersect(parse_scopes(["docs:read", "mail:send", "!docs:delete"])).as_list()
        ['docs:read', '!docs:delete']
        """
        denies = self.denies | other.denies
        common = {scope for scope in self.allows if is_covered(scope, other.allows)}
        common |= {scope for scope in other.allows if is_covered(scope, self.allows)}
        return ScopeSet(frozenset(common), denies).simplify()

    def simplify(self) -> ScopeSet:
        """Return an equal set without the scopes that a wildcard or a deny makes idle."""
        denies = _remove_idle(self.denies)
        return ScopeSet(
            _remove_idle(frozenset(scope for scope in self.allows if not is_covered(scope, denies))), denies
        )

    def as_list(self) -> list[str]:
        """Return the scopes as agents send them: allows, then denies with `!`, each in alphabetical order."""
        return [*sorted(self.allows), *(f"!{scope}" for scope in sorted(self.denies))]

    def count_wildcards(self) -> int:
        """Count the allowed scopes that end in `:*`; a denied wildcard is none.

        >>> parse_scopes(["docs:read", "mail:*", "!news:*"]).count_wildcards()
        1
        """
        return sum(scope.endswith(":*") for scope in self.allows)

    def _denies_part_of(self, scope: str) -> bool:
        if is_covered(scope, self.denies):
            return True
        resource, _, action = scope.partition(":")
        return action == "*" and any(denied.startswith(f"{resource}:") for denied in self.denies)


NO_SCOPES: Final = ScopeSet()


def is_covered(scope: str, by: frozenset[str]) -> bool:
    """Whether a set has a scope itself, or the wildcard of its resource."""
    return scope in by or f"{scope.partition(':')[0]}:*" in by


def find_widening(child: ScopeSet, parent: ScopeSet) -> str | None:
    """Find a scope with which a child would be able to do what its parent is not; None if there is none.

    It is an allow that the parent cannot grant, or a deny of the parent (with `!`) that no deny of the child covers.
    """
    uncovered = [scope for scope in child.allows if not parent.can_grant(scope)]
    if uncovered:
        return min(uncovered)
    missing = [scope for scope in parent.denies if not is_covered(scope, child.denies)]
    return f"!{min(missing)}" if missing else None


def parse_scopes(texts: object, *, field: str = "/scopes") -> ScopeSet:
    """Parse the scopes of a request; `field` is the JSON Pointer of the list.

    Raises:
        ValidationFailed: there are more than 64, one is listed twice, or one has another form.
    """
    if isinstance(texts, str | bytes) or not isinstance(texts, Sequence):
        raise ValidationFailed.of(field, "type", f"Scopes are a list of texts, not {quote(repr(texts))}.")
    if len(texts) > MAX_SCOPES:
        message = f"{len(texts)} scopes exceed the limit of {MAX_SCOPES}; use wildcards such as 'docs:*'."
        raise ValidationFailed.of(field, "too_many", message)
    faults = [*_find_faults(texts, field)]
    if faults:
        raise ValidationFailed(faults[0].message, faults)
    return _split(texts)


def parse_required_scope(text: object, *, field: str = "/required_scope") -> str:
    """Parse the one scope that a caller needs; a wildcard asks for every action of the resource.

    Raises:
        ValidationFailed: it denies, or has another form.
    """
    if isinstance(text, str) and _PATTERN.fullmatch(text):
        return text
    if isinstance(text, str) and text.startswith("!"):
        message = f"{quote(text)} denies; a required scope has no '!'."
        raise ValidationFailed.of(field, "scope", message)
    raise ValidationFailed.of(field, "scope", _explain_form(text))


def _remove_idle(scopes: frozenset[str]) -> frozenset[str]:
    """Remove the scopes whose resource has a wildcard in the same set."""
    wild = {scope.partition(":")[0] for scope in scopes if scope.endswith(":*")}
    return frozenset(scope for scope in scopes if scope.endswith(":*") or scope.partition(":")[0] not in wild)


def _find_faults(texts: Sequence[object], field: str) -> Iterable[FieldError]:
    known: set[str] = set()
    for index, text in enumerate(texts):
        if not isinstance(text, str) or not _PATTERN.fullmatch(text.removeprefix("!")):
            yield FieldError(f"{field}/{index}", "scope", _explain_form(text))
        elif text in known:
            yield FieldError(f"{field}/{index}", "duplicate", f"The scope {quote(text)} is listed twice; list it once.")
        else:
            known.add(text)


def _explain_form(text: object) -> str:
    shown = quote(text) if isinstance(text, str) else quote(repr(text))
    if isinstance(text, str) and text.removeprefix("!").startswith("*:"):
        return f"{shown} is no scope: the resource cannot be a wildcard. Name each resource, such as 'docs:*'."
    return f"{shown} is no scope. A scope is {_FORM}."


def _split(texts: Sequence[str]) -> ScopeSet:
    denies = frozenset(text[1:] for text in texts if text.startswith("!"))
    return ScopeSet(frozenset(text for text in texts if not text.startswith("!")), denies)
