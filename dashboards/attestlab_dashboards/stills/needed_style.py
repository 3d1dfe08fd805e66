"""The part of a style sheet that some markup needs: a still of one pane stores no rules of the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from functools import cache
from typing import Final, NamedTuple

_GROUPS: Final = ("@media", "@container")  # of rules, which may all be unneeded
_CLASS: Final = re.compile(r"\.([A-Za-z][\w-]*)")
_PANE: Final = re.compile(r"\[data-pane=(\w+)\]")
_BRACKETS: Final = re.compile(r"\([^()]*\)")


class _Rule(NamedTuple):
    """A rule, or a group of rules: what stands before its braces, and within."""

    prelude: str
    body: str
    rules: tuple[_Rule, ...]


def keep_needed(sheet: str, classes: Set[str], panes: Set[str]) -> str:
    """Keep the rules that could match elements of these classes in these panes; in doubt a rule is kept.

    >>> keep_needed(".a{top:0}.b .c{top:1px}@media print{.c,.a b{top:2px}}", {"a"}, set())
    '.a{top:0}@media print{.a b{top:2px}}'
    >>> keep_needed(":is([data-pane=who],#_) p{top:0}p:not(.c){top:1px}", set(), {"when"})
    'p:not(.c){top:1px}'
    """
    return "".join(_write_needed(_parse(sheet), classes, panes))


def _write_needed(rules: Iterable[_Rule], classes: Set[str], panes: Set[str]) -> Iterator[str]:
    for rule in rules:
        if rule.prelude.startswith(_GROUPS):
            body = "".join(_write_needed(rule.rules, classes, panes))
            if body:
                yield f"{rule.prelude}{{{body}}}"
            continue
        parts = [each for each in _split_selector(rule.prelude) if _may_match(each, classes, panes)]
        if parts:
            yield f"{','.join(parts)}{{{rule.body}}}"


@cache
def _needs(selector: str) -> tuple[frozenset[str], frozenset[str]]:
    """Find the classes and panes without which a selector matches nothing; those in brackets are alternatives."""
    panes = frozenset(_PANE.findall(selector)) if ":not([data-pane" not in selector else frozenset()
    outside, inside = selector, ""
    while outside != inside:
        outside, inside = _BRACKETS.sub("", outside), outside
    return frozenset(_CLASS.findall(outside)), panes


def _may_match(selector: str, classes: Set[str], panes: Set[str]) -> bool:
    needed, places = _needs(selector)
    return needed <= classes and (not places or not places.isdisjoint(panes))


def _split_selector(prelude: str) -> Iterator[str]:
    """Split a list of selectors at the commas outside of brackets."""
    depth, start = 0, 0
    for place, character in enumerate(prelude):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            yield prelude[start:place].strip()
            start = place + 1
    yield prelude[start:].strip()


@cache
def _parse(sheet: str) -> tuple[_Rule, ...]:
    """Parse our own style sheets, whose texts have no braces and whose rules are not nested in other rules."""
    return tuple(_iterate_rules(sheet))


def _iterate_rules(sheet: str) -> Iterator[_Rule]:
    start = 0
    while (opened := sheet.find("{", start)) >= 0:
        closed = _find_end(sheet, opened)
        prelude, body = sheet[start:opened].strip(), sheet[opened + 1 : closed]
        yield _Rule(prelude, body, tuple(_iterate_rules(body)) if prelude.startswith(_GROUPS) else ())
        start = closed + 1


def _find_end(sheet: str, opened: int) -> int:
    depth = 0
    for found in re.compile(r"[{}]").finditer(sheet, opened):
        depth += 1 if found.group() == "{" else -1
        if not depth:
            return found.start()
    return len(sheet)
