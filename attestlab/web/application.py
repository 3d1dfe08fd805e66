"""`Application`: the routes, callbacks and limits that every request handler uses."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Protocol

from pydantic import BaseModel

from attestlab.core.clock import Clock
from attestlab.core.errors import AttestLabError
from attestlab.web.executor import Executor
from attestlab.web.metrics import Metrics
from attestlab.web.path_prefix import PathPrefixResolver
from attestlab.web.problems import PageOfError
from attestlab.web.rate_limit.limiter import Limiter
from attestlab.web.request import Authenticate, Request
from attestlab.web.response import Response
from attestlab.web.routing.authorization import WebCaller
from attestlab.web.routing.handlers import Services
from attestlab.web.routing.router import Router
from attestlab.web.routing.routes import Route

# Records a denied attempt; `request.caller` is None if the caller is unknown.
OnDenied = Callable[[Request, AttestLabError], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class BlockedClient:
    """A client that was blocked for exceeding its limits; `caller` is known if its credential was valid."""

    address: str
    caller: WebCaller | None
    at: datetime
    request_id: str


# Records that a client was blocked.
OnBlocked = Callable[[BlockedClient], Awaitable[None]]


class ExecuteWrite(Protocol):
    """Executes a write once, durably: its three steps, with idempotency, in one transaction."""

    def __call__(self, request: Request, body: BaseModel | None) -> Awaitable[Response]: ...


def generate_request_id() -> str:
    """Generate a random request id."""
    return secrets.token_hex(8)


class Application:
    """The routes of an application with their services, and what every request needs before its route runs.

    The handlers' services are resolved here: those in `services`, and the executor, limiter and authenticator.
    `page_of_error` renders errors for browsers; without it, they get the envelope too.
    `path_prefix` is that of requests for which no trusted proxy forwards one.
    With `checks_tenant_header`, X-Tenant-ID must match the credential's tenant; otherwise the header is ignored.

    Raises:
        TypeError: a handler takes a service that is missing.
    """

    def __init__(
        self,
        services: Services,
        routes: Iterable[Route],
        *,
        executor: Executor,
        authenticate: Authenticate,
        execute_write: ExecuteWrite,
        on_denied: OnDenied,
        on_blocked: OnBlocked,
        limiter: Limiter,
        clock: Clock,
        metrics: Metrics,
        page_of_error: PageOfError | None = None,
        path_prefix: str = "",
        checks_tenant_header: bool = False,
        new_request_id: Callable[[], str] = generate_request_id,
    ) -> None:
        own = {Executor: executor, Limiter: limiter, Authenticate: authenticate}
        self.router = Router([route.bind({**services, **own}) for route in routes])
        self.executor = executor
        self.authenticate = authenticate
        self.execute_write = execute_write
        self.on_denied = on_denied
        self.on_blocked = on_blocked
        self.limiter = limiter
        self.clock = clock
        self.metrics = metrics
        self.page_of_error = page_of_error
        self.path_prefixes = PathPrefixResolver(limiter.addresses, path_prefix)
        self.checks_tenant_header = checks_tenant_header
        self.new_request_id = new_request_id
        self._date_second: datetime | None = None
        self._date = ""

    def date_header(self, now: datetime) -> str:
        """Return the `Date` header for this second, cached."""
        second = now.replace(microsecond=0)
        if second != self._date_second:
            self._date_second, self._date = second, format_datetime(second, usegmt=True)
        return self._date

    def close(self) -> None:
        """Shut down the thread pools."""
        self.executor.close()
