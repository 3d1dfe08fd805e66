"""Router: finds the route for a method and path, by dictionary for fixed paths and by a segment tree otherwise.

A fixed segment takes precedence over a parameter, and a parameter over the rest of a path. If a branch leads to no
route, the search backtracks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote
from uuid import UUID

from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import MethodNotAllowed, NotFound, ValidationFailed
from attestlab.web.routing.routes import Route

_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_QUOTED_CHARS = 200
_REST = "..."
_NO_VALUES: Mapping[str, object] = {}


class Match(NamedTuple):
    """A route, and the values of its path parameters."""

    route: Route
    values: Mapping[str, object]


class _Node:
    """A node of the segment tree."""

    __slots__ = ("fixed", "methods", "parameter", "rest")

    def __init__(self) -> None:
        self.fixed: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.rest: _Node | None = None
        self.methods: dict[str, Route] = {}


class Router:
    """All routes of an application."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = _Node()
        self._fixed: dict[str, dict[str, Match]] = {}
        for route in routes:
            self._add(route)

    def find(self, method: str, path: str) -> Match:
        """Find the route for a method and path.

        Raises:
            NotFound: no route has this path.
            MethodNotAllowed: a route has this path, but not this method.
            ValidationFailed: a path parameter is malformed.
        """
        lookup_method = "GET" if method == "HEAD" else method
        fixed = self._fixed.get(path)
        if fixed is not None:
            if lookup_method in fixed:
                return fixed[lookup_method]
            raise MethodNotAllowed(method, _allowed_methods(fixed))
        ends = list(_matching_nodes(self._root, _decode_segments(path), ()))
        for methods, texts in ends:
            if lookup_method in methods:
                return Match(methods[lookup_method], _parse_values(methods[lookup_method], texts))
        if ends:
            raise MethodNotAllowed(method, _allowed_methods({name for methods, _ in ends for name in methods}))
        raise NotFound("route", path[:_MAX_QUOTED_CHARS])

    def has_path(self, path: str) -> bool:
        """Whether the path has a route for any method."""
        return path in self._fixed or any(_matching_nodes(self._root, _decode_segments(path), ()))

    def _add(self, route: Route) -> None:
        node = self._root
        for segment in route.path[1:].split("/"):
            node = _child_of(node, segment)
        if route.method in node.methods:
            raise ValueError(f"{route.method} {route.path} is declared twice.")
        node.methods[route.method] = route
        if not route.path_types:
            self._fixed.setdefault(route.path, {})[route.method] = Match(route, _NO_VALUES)


def _child_of(node: _Node, segment: str) -> _Node:
    if not segment.startswith("{"):
        return node.fixed.setdefault(segment, _Node())
    if segment.endswith(_REST + "}"):
        node.rest = node.rest or _Node()
        return node.rest
    node.parameter = node.parameter or _Node()
    return node.parameter


_MatchingNode = tuple[dict[str, Route], tuple[str, ...]]


def _matching_nodes(node: _Node, segments: tuple[str, ...], texts: tuple[str, ...]) -> Iterator[_MatchingNode]:
    """Yield the methods of each matching route, the most specific first, with the texts of its parameters."""
    if not segments:
        if node.methods:
            yield node.methods, texts
        return
    first, rest = segments[0], segments[1:]
    if first in node.fixed:
        yield from _matching_nodes(node.fixed[first], rest, texts)
    if node.parameter is not None and first:
        yield from _matching_nodes(node.parameter, rest, (*texts, first))
    if node.rest is not None and segments != ("",):
        yield node.rest.methods, (*texts, "/".join(segments))


def _decode_segments(path: str) -> tuple[str, ...]:
    segments = path[1:].split("/")
    if "%" not in path:
        return tuple(segments)
    if _BAD_ESCAPE.search(path):
        raise _invalid_path("The path has a % that is not followed by two hexadecimal digits.")
    try:
        decoded = tuple(unquote(segment, errors="strict") for segment in segments)
    except UnicodeDecodeError:
        raise _invalid_path("The path is not UTF-8.") from None
    if any(map(_CONTROL.search, decoded)):
        raise _invalid_path("The path has a control character.")
    return decoded


def _invalid_path(message: str) -> ValidationFailed:
    """Build the error for a path that cannot be read, which has no part to point at."""
    return ValidationFailed.of("", "path", message)


def _parse_values(route: Route, texts: tuple[str, ...]) -> dict[str, object]:
    return {
        name: _parse_value(name, kind, text) for (name, kind), text in zip(route.path_types.items(), texts, strict=True)
    }


def _parse_value(name: str, kind: type, text: str) -> object:
    if kind is UUID:
        return parse_uuid(text, field=f"/{name}")
    if kind is int:
        if not _INTEGER.fullmatch(text):
            raise ValidationFailed.of(f"/{name}", "int", f"{name} must be a whole number in plain digits.")
        return int(text)
    return text


def _allowed_methods(methods: Collection[str]) -> list[str]:
    return sorted({*methods, "HEAD"} if "GET" in methods else methods)
