"""`Application`: the routes, callbacks, limits and thread pools that every request handler uses."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from attestlab.core.clock import Clock
from attestlab.core.errors import AttestLabError
from attestlab.core.execution.long_work import TakesLong, forbid_long_work
from attestlab.web.fair_threads import FairThreads
from attestlab.web.metrics import Metrics
from attestlab.web.outbound_calls import OutboundCalls
from attestlab.web.rate_limit.limiter import Limiter
from attestlab.web.request import Request
from attestlab.web.response import Response
from attestlab.web.routing.router import Router
from attestlab.web.routing.routes import Route

Result = TypeVar("Result")

# Returns the caller behind `request.credential`, in the form that `Requirement.require` takes, or raises AuthInvalid.
Authenticate = Callable[[Request], Any]
_READ_THREADS = 6  # each with a connection to the database; SQLite is read on the event loop
_LONG_THREADS = 6  # two proofs and two simulations may occupy some for a long time
_BODY_THREADS = 2  # bodies are parsed under the GIL, so more threads would only wait for each other
_PASSWORD_THREADS = 2  # each needs 64 MiB while it hashes


# Runs a job in the next group commit; returns the job's result once it is durable.
Write = Callable[[Callable[[Any], Any]], Awaitable[Any]]


# Records a denied attempt; `request.caller` is None if the caller is unknown.
OnDenied = Callable[[Request, AttestLabError], Awaitable[None]]


# Records a verification that was answered; it is stored with a later group commit.
OnMetered = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class BlockedClient:
    """A client that was blocked for exceeding its limits; `caller` is known if its credential was valid."""

    address: str
    caller: Any
    at: datetime
    request_id: str


# Records that a client was blocked.
OnBlocked = Callable[[BlockedClient], Awaitable[None]]


class ExecuteWrite(Protocol):
    """Executes a write once, durably: `route.prepare`, idempotency, the transaction, `route.run`, `render`."""

    def __call__(self, request: Request, body: BaseModel | None) -> Awaitable[Response]: ...


def generate_request_id() -> str:
    """Generates a random request id."""
    return secrets.token_hex(8)


class Application:
    """The routes and services of an application, as the request handler uses them.

    With `reads_inline`, authentication, rate counts and GET routes run on the event loop, because they are fast enough
    there (SQLite in the same process); otherwise they run in a thread. With `checks_tenant_header`, X-Tenant-ID must
    match the credential's tenant; otherwise the header is ignored.
    """

    def __init__(
        self,
        lab: Any,
        routes: Iterable[Route],
        *,
        authenticate: Authenticate,
        execute_write: ExecuteWrite,
        write: Write,
        on_denied: OnDenied,
        on_blocked: OnBlocked,
        on_metered: OnMetered,
        limiter: Limiter,
        clock: Clock,
        metrics: Metrics,
        reads_inline: bool = True,
        checks_tenant_header: bool = False,
        new_request_id: Callable[[], str] = generate_request_id,
    ) -> None:
        self.lab = lab
        self.router = Router(routes)
        self.authenticate = authenticate
        self.execute_write = execute_write
        self.write = write
        self.on_denied = on_denied
        self.on_blocked = on_blocked
        self.on_metered = on_metered
        self.limiter = limiter
        self.clock = clock
        self.metrics = metrics
        self.reads_inline = reads_inline
        self.checks_tenant_header = checks_tenant_header
        self.new_request_id = new_request_id
        self.bodies = FairThreads(_BODY_THREADS, "attestlab-bodies")
        self.outbound = OutboundCalls()
        self._reads = ThreadPoolExecutor(_READ_THREADS, "attestlab-reads")
        self._long = ThreadPoolExecutor(_LONG_THREADS, "attestlab-long")
        self._passwords = ThreadPoolExecutor(_PASSWORD_THREADS, "attestlab-passwords")
        self._date_second: datetime | None = None
        self._date = ""

    async def read(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs a read on the event loop or in a thread, as `reads_inline` sets.

        On the event loop, work that a read declares as long runs in a thread first.
        """
        if not self.reads_inline:
            return await asyncio.get_running_loop().run_in_executor(self._reads, function, *arguments)
        try:
            with forbid_long_work():
                return function(*arguments)
        except TakesLong as long:
            await self.run_in_thread(long.work)
        return function(*arguments)

    async def run_in_thread(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Runs long work in threads that no read uses; calls to other hosts belong in `outbound`."""
        return await asyncio.get_running_loop().run_in_executor(self._long, function, *arguments)

    async def hash_password(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Creates or verifies a password hash in threads that no other work uses."""
        return await asyncio.get_running_loop().run_in_executor(self._passwords, function, *arguments)

    def date_header(self, now: datetime) -> str:
        """Returns the `Date` header for this second, cached."""
        second = now.replace(microsecond=0)
        if second != self._date_second:
            self._date_second, self._date = second, format_datetime(second, usegmt=True)
        return self._date

    def close(self) -> None:
        """Shuts down the thread pools."""
        self.bodies.close()
        self.outbound.close()
        for pool in (self._reads, self._long, self._passwords):
            pool.shutdown(wait=False)
