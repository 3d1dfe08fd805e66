"""Every error that a route answers in any test is one that its description declares."""

from __future__ import annotations

from functools import cache

from attestlab.web.metrics import Metrics
from attestlab.web.openapi.errors import error_statuses
from attestlab.web.routing.routes import Route

FIRST_ERROR = 400
_undeclared: set[str] = set()


def watch_statuses() -> None:
    """Look at the responses of all servers that run in this process."""
    count = Metrics.count_response

    def look_and_count(self: Metrics, route: Route | None, status: int, seconds: float) -> None:
        if route is not None and status >= FIRST_ERROR and is_ours(route) and status not in error_statuses(route):
            _undeclared.add(f"{status} of {route.method} {route.path}")
        count(self, route, status, seconds)

    Metrics.count_response = look_and_count  # type: ignore[method-assign]


def take_undeclared() -> set[str]:
    """Return the errors that were seen since the last call and that no description declares."""
    seen = set(_undeclared)
    _undeclared.clear()
    return seen


def is_ours(route: Route) -> bool:
    """Whether a route is one of the service; tests have sample applications, too."""
    return (route.method, route.path) in _list_ours()


@cache
def _list_ours() -> frozenset[tuple[str, str]]:
    from attestlab.server.app import all_routes  # imported when the first error comes

    return frozenset((route.method, route.path) for route in all_routes())
