"""Health routes: `/healthz` reports that the process responds, `/readyz` that its dependencies respond too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Literal

from attestlab.core.errors import AttestLabError, Unavailable
from attestlab.core.shapes import Out
from attestlab.web.executor import Executor
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes

# Returns, immediately or awaited on the event loop, if the dependency works; raises otherwise.
Check = Callable[[], Awaitable[None] | None]


CheckResult = Literal["ok", "failed"]


class Health(Out, source="CONTRACT 11"):
    """The process runs."""

    status: Literal["ok"]
    """The process answers. Format: ok."""


class Readiness(Health, source="CONTRACT 11"):
    """Readiness of the process; each check is `ok` or `failed`."""

    status: Literal["ok"]
    """The process can serve requests. Format: ok."""
    checks: dict[str, CheckResult]
    """The result of each check. Format: ok or failed by name."""


def health_routes(checks: Mapping[str, Check]) -> Routes:
    """Build the two health routes; `checks` maps names to checks."""
    routes = Routes("operations")

    @routes.get("/healthz", scope=PUBLIC, charged=False)
    async def check_health() -> Health:
        """Report that the process runs. Runs on the event loop, because every thread pool may be full.

        It asks neither database nor disk, so it only says that the process answers.
        """
        return Health(status="ok")

    @routes.get("/readyz", scope=PUBLIC, charged=False)
    async def check_readiness(executor: Executor) -> Readiness:
        """Report whether the process can serve requests; 503 with the failed checks if it cannot.

        A load balancer sends requests only to processes that are ready.
        """
        outcomes = {name: await _run_check(executor, check) for name, check in checks.items()}
        errors = {name: error for name, error in outcomes.items() if error is not None}
        results: dict[str, CheckResult] = {name: "failed" if name in errors else "ok" for name in checks}
        if errors:
            reasons = {name: error.message for name, error in errors.items() if isinstance(error, AttestLabError)}
            raise Unavailable(f"Not ready: {', '.join(errors)}.", details={"checks": results, "reasons": reasons})
        return Readiness(status="ok", checks=results)

    return routes


async def _run_check(executor: Executor, check: Check) -> Exception | None:
    """Run a check and return its error. The text of a foreign error stays in the log of the failed component."""
    try:
        outcome = await executor.read(check)
        if isawaitable(outcome):
            await outcome
    except Exception as error:
        return error
    return None
