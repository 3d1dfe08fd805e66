"""The HTTP door of a witness: C2SP tlog-witness on Tornado, one call, plain text.

Whoever can reach it may call it: a submission is judged by its signature alone. So what a
caller may send is bounded in size and in time before it is looked at.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, HTTPError, RequestHandler

from attestlab.core import errors
from attestlab.log.submissions import MAX_SUBMISSION_BYTES, PATH, SIZE_TYPE
from attestlab.web import journal
from attestlab.witness.rules import KnowsAnother
from attestlab.witness.service import Witness

STATUS_OF: dict[type[errors.AttestLabError], int] = {
    errors.ValidationFailed: 400,
    errors.SignatureInvalid: 403,
    errors.NotFound: 404,
    errors.ProofInvalid: 422,
    errors.Unavailable: 503,
}
TEXT = "text/plain; charset=utf-8"
IDLE_S = 30.0
BODY_S = 10.0
MAX_HEAD_BYTES = 16 * 1024
STOP_WITHIN_S = 4.5
_THREADS = 4

Submit = Callable[[bytes], Awaitable[str]]


class PlainHandler(RequestHandler):
    """Every path but one: plain text, whatever the answer, and nothing to be found."""

    def set_default_headers(self) -> None:
        self.set_header("Server", "attestlab")
        self.set_header("Content-Type", TEXT)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")

    async def prepare(self) -> None:
        self.send_error(404)

    def write_error(self, status_code: int, **_kwargs: Any) -> None:
        """Every refusal that is not about a submission; never a stack trace."""
        self.finish(f"{HTTPStatus(status_code).phrase}\n")

    def log_exception(self, _kind: Any, fault: BaseException | None, _trace: Any) -> None:
        """What nobody foresaw is ours to read; what callers get wrong is theirs."""
        if fault is not None and not isinstance(fault, HTTPError):
            journal.part_failed(fault, part="witness")


class AddCheckpoint(PlainHandler):
    """`POST /add-checkpoint`."""

    def initialize(self, submit: Submit) -> None:
        self._submit = submit

    async def prepare(self) -> None:
        """Every method but POST is refused by Tornado, with 405."""

    async def post(self) -> None:
        """200 with the cosignature line, or the refusal that tlog-witness asks for."""
        try:
            self.finish(await self._submit(self.request.body))
        except KnowsAnother as fault:
            self.set_status(409)
            self.set_header("Content-Type", SIZE_TYPE)
            self.finish(f"{fault.size}\n")
        except tuple(STATUS_OF) as fault:
            self._refuse(fault)

    def _refuse(self, fault: errors.AttestLabError) -> None:
        if isinstance(fault, errors.Unavailable):
            journal.part_failed(fault, part="witness")
        self.set_status(next(STATUS_OF[kind] for kind in type(fault).__mro__ if kind in STATUS_OF))
        self.finish(f"{fault.message}\n")


class WitnessServer:
    """A witness on sockets; requests run in a few threads, and the store puts them in order.

    A client may take `idle_s` seconds between two requests and for a head, and `body_s` for a body.
    """

    def __init__(self, witness: Witness, *, idle_s: float = IDLE_S, body_s: float = BODY_S) -> None:
        self._witness = witness
        self._pool = ThreadPoolExecutor(_THREADS, "attestlab-witness")
        self._at_work = 0
        handlers: list[Any] = [(PATH, AddCheckpoint, {"submit": self._submit})]
        application = Application(handlers, default_handler_class=PlainHandler, log_function=lambda _handler: None)
        self._server = HTTPServer(
            application,
            max_body_size=MAX_SUBMISSION_BYTES,
            max_buffer_size=MAX_SUBMISSION_BYTES + MAX_HEAD_BYTES,
            max_header_size=MAX_HEAD_BYTES,
            idle_connection_timeout=idle_s,
            body_timeout=body_s,
        )

    def start(self, sockets: list[socket.socket]) -> None:
        """Listen; from within a running event loop."""
        logging.getLogger("tornado.general").addHandler(logging.NullHandler())  # malformed requests: no news
        logging.getLogger("tornado.general").propagate = False
        self._server.add_sockets(sockets)

    async def stop(self) -> None:
        """Refuse new connections, finish the requests that are being judged, close."""
        self._server.stop()
        deadline = asyncio.get_running_loop().time() + STOP_WITHIN_S
        while self._at_work and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        await self._server.close_all_connections()
        self._pool.shutdown(wait=False)

    async def _submit(self, body: bytes) -> str:
        self._at_work += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._witness.add_checkpoint, body)
        finally:
            self._at_work -= 1


async def serve(witness: Witness, sockets: list[socket.socket], *, ready: Callable[[], None]) -> None:
    """Answer on `sockets` until SIGTERM or SIGINT."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = WitnessServer(witness)
    server.start(sockets)
    ready()
    await stop.wait()
    await server.stop()
