"""`/healthz`: this process answers. `/readyz`: what it stands on answers too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.shapes import Out
from attestlab.web.access import PUBLIC
from attestlab.web.call import Call
from attestlab.web.routing import Routes

Check = Callable[[], None]  # returns when all is well, raises otherwise


class Health(Out):
    """The process runs."""

    status: str


class Readiness(Health):
    """The process can do its work; every check is `ok` or `failed`."""

    checks: dict[str, str]


def health_routes(checks: Mapping[str, Check]) -> Routes:
    """The two routes; `checks` by name."""
    routes = Routes("operations")

    @routes.get("/healthz", scope=PUBLIC, charged=False)
    def healthz(call: Call) -> Health:
        """Whether the process runs."""
        return Health(status="ok")

    @routes.get("/readyz", scope=PUBLIC, charged=False)
    def readyz(call: Call) -> Readiness:
        """Whether the process can do its work; 503 with the failed checks where it cannot."""
        errors = {name: error for name, check in checks.items() if (error := _error_of(check)) is not None}
        results = {name: "failed" if name in errors else "ok" for name in checks}
        if errors:
            reasons = {name: error.message for name, error in errors.items() if isinstance(error, AttestLabError)}
            raise Unavailable(f"Not ready: {', '.join(errors)}.", details={"checks": results, "reasons": reasons})
        return Readiness(status="ok", checks=results)

    return routes


def _error_of(check: Check) -> Exception | None:
    """The error that a check raises; the text of a foreign one stays in the log of the part that failed."""
    try:
        check()
    except Exception as error:
        return error
    return None
