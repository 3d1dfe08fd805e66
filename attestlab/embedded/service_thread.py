"""A service in a daemon thread of this process: one event loop with the real application and its write queue.

Calls come from any other thread, so they also work while Jupyter's own loop runs in the main thread. Only this
process can reach the application, so it has no rate limits; the caps of plans still hold.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from attestlab.client.service_errors import LabClosed
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import AuthInvalid, ValidationFailed
from attestlab.core.limits.rate_counters import Count, Counters
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.server.app import build_application
from attestlab.server.authentication import authenticate_bearer
from attestlab.server.login_learner import LoginLearner
from attestlab.server.outcome_settler import OutcomeSettler
from attestlab.server.write_queue import WriteQueue
from attestlab.web.application import Application
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.rate_limit.limiter import Limiter, OverLimit, RateLimits
from attestlab.web.request import Request
from attestlab.web.routing.authorization import WebCaller
from attestlab.web.routing.routes import Limit

Result = TypeVar("Result")

STOP_TIMEOUT_S = 30.0  # to commit the writes that were accepted
LONG_WRITE_STOP_TIMEOUT_S = 10.0  # a write in the process beside the service that takes longer is rolled back


_PER_MINUTE = 1_000_000  # what the rate limit headers show


class UnlimitedRequests(Limiter):
    """A limiter that admits every request; it neither reads nor writes a counter."""

    def __init__(self, counters: Counters) -> None:
        super().__init__(
            counters,
            address_per_minute=_PER_MINUTE,
            allowance_of=_refuse_to_look,
            spent_today=lambda caller, metric, now: None,
            addresses=ClientAddressResolver(()),
        )

    def require_unblocked(self, lane: str, *, now: datetime) -> None:
        """Admit the request."""

    def charge(self, request: Request, payer: WebCaller | None) -> Count:
        """Admit the request."""
        return self.full_bucket(now=request.now)

    def charge_refused(self, request: Request, *, body_bytes: int) -> Count | None:
        """Charge nothing."""
        return None

    def charge_address(self, client: str, *, now: datetime, cost: int = 1, page: bool = False) -> Count:
        """Charge nothing."""
        return self.full_bucket(now=now)

    def take_available(self, request: Request, limit: Limit, requested: int) -> tuple[int, OverLimit | None]:
        """Admit all items of a request."""
        return requested, None

    def count_failure(self, client: str, *, now: datetime) -> Count:
        """Count nothing; the attempt is recorded in the audit trail."""
        return self.full_bucket(now=now)

    def record_violation(self, lane: str, *, wait_s: float, now: datetime, is_guess: bool = False) -> bool:
        """Block nothing."""
        return False


def _refuse_to_look(caller: object) -> RateLimits:
    raise AssertionError("no request in process is limited by its plan's rates")


class ServiceThread:
    """The application of an open installation on an event loop in a separate thread.

    A request names the tenant that it acts for as its API key; only this process can send one.
    """

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self._ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, Application]] = Future()
        self._thread = threading.Thread(target=self._run, name="attestlab-service", daemon=True)
        self._thread.start()
        self._loop, self._stop, self.application = self._ready.result()

    def submit(self, work: Coroutine[object, object, Result]) -> Future[Result]:
        """Start a coroutine on the service's loop.

        Raises:
            LabClosed: the service is closed.
        """
        if not self._thread.is_alive():
            work.close()
            raise LabClosed
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Commit every accepted write and the buffered metering, and end the thread; may be called again.

        A long write, such as the kill of a large tree of agents, is rolled back if it has not ended after
        `LONG_WRITE_STOP_TIMEOUT_S`.
        """
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(STOP_TIMEOUT_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:
            if self._ready.done():
                raise
            self._ready.set_exception(error)

    async def _serve(self) -> None:
        write_queue, stop = WriteQueue(self.installation), asyncio.Event()
        limiter = UnlimitedRequests(self.installation.counters)
        application = build_application(
            self.installation, write_queue, authenticate=self._authenticate, limiter=limiter
        )
        learner = LoginLearner(self.installation.risk.logins.backfill, write_queue.executor)
        learner.start(write_queue.background)
        settler = OutcomeSettler(self.installation.risk.triage, write_queue.executor)
        settler.start(write_queue.background)
        self._ready.set_result((asyncio.get_running_loop(), stop, application))
        await stop.wait()
        asyncio.get_running_loop().call_later(LONG_WRITE_STOP_TIMEOUT_S, write_queue.long_writes.abort)
        await learner.finish()
        await settler.finish()
        await self._finish_requests()
        await self.installation.webhook_deliveries.transport.close()
        await write_queue.finish()
        application.close()

    async def _finish_requests(self) -> None:
        """Wait for the requests that other threads still await."""
        running = asyncio.all_tasks() - {asyncio.current_task()}
        if running:
            await asyncio.wait(running, timeout=STOP_TIMEOUT_S / 2)

    def _authenticate(self, request: Request) -> Caller:
        credential = request.credential
        if credential is None:
            raise AuthInvalid
        if credential.kind == "bearer":
            return authenticate_bearer(self.installation, credential.secret, now=request.now)
        return self.installation.orgs.service_caller(_read_tenant(credential.secret))


def _read_tenant(text: str) -> UUID:
    try:
        return parse_uuid(text)
    except ValidationFailed:
        raise AuthInvalid from None
