"""`/healthz`: this process answers. `/readyz`: what it stands on answers too."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attestlab.core.errors import Unavailable
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
        results = {name: _result(check) for name, check in checks.items()}
        failed = [name for name, result in results.items() if result != "ok"]
        if failed:
            raise Unavailable(f"Not ready: {', '.join(failed)}.", details={"checks": results})
        return Readiness(status="ok", checks=results)

    return routes


def _result(check: Check) -> str:
    try:
        check()
    except Exception:  # whatever a check stumbles over is its result; the story is in that part's own log
        return "failed"
    return "ok"
