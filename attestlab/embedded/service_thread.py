"""A service in a daemon thread of this process: one event loop with the real application and its write queue.

Calls come from any other thread, so they also work while Jupyter's own loop runs in the main thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import TypeVar
from uuid import UUID

from attestlab.client.service_errors import LabClosed
from attestlab.core.encoding import parse_uuid
from attestlab.core.errors import AuthInvalid, ValidationFailed
from attestlab.embedded.unlimited import UnlimitedRequests
from attestlab.installation import Installation
from attestlab.orgs.rules import Caller
from attestlab.server.app import build_application
from attestlab.server.login_learner import LoginLearner
from attestlab.server.write_queue import WriteQueue
from attestlab.web.application import Application
from attestlab.web.request import Request

Result = TypeVar("Result")

STOP_TIMEOUT_S = 30.0  # to commit the writes that were accepted


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
        """Commit every accepted write and the buffered metering, and end the thread; may be called again."""
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
        self._ready.set_result((asyncio.get_running_loop(), stop, application))
        await stop.wait()
        await learner.finish()
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
            return self.installation.identity.sessions.authenticate(credential.secret, now=request.now)
        return self.installation.orgs.service_caller(_read_tenant(credential.secret))


def _read_tenant(text: str) -> UUID:
    try:
        return parse_uuid(text)
    except ValidationFailed:
        raise AuthInvalid from None
