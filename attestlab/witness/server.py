"""The HTTP server of a witness: C2SP tlog-witness on Tornado, `add-checkpoint` and the monitoring API, plain text.

Any client may call it: a submission is accepted by the log's signature alone. So the server
bounds the size and duration of a request before it parses anything.

`run_witness` is the entry point of the process: it opens the store, listens, serves until a signal, and closes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeVar

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler, stream_request_body

from attestlab.core import errors
from attestlab.core.clock import SystemClock
from attestlab.core.crypto.keyring import Keyring
from attestlab.core.error_text import cause_of
from attestlab.core.execution import stop_signals
from attestlab.log.witnessing.submission_policy import MAX_SUBMISSION_BYTES, PATH, SIZE_TYPE
from attestlab.web import logging_setup
from attestlab.witness.rules import SizeConflict, WitnessedLog
from attestlab.witness.service import Witness, unseal_signer
from attestlab.witness.store import WitnessStore

STATUS_OF: dict[type[errors.AttestLabError], int] = {
    errors.ValidationFailed: 400,
    errors.SignatureInvalid: 403,
    errors.NotFound: 404,
    errors.ProofInvalid: 422,
    errors.Unavailable: 503,
}
TEXT = "text/plain; charset=utf-8"
IDLE_TIMEOUT_S = 30.0
BODY_TIMEOUT_S = 10.0
MAX_HEAD_BYTES = 16 * 1024
STOP_TIMEOUT_S = 4.5
_THREADS = 4

# A client that is still sending may not read an early refusal, so this much of a longer body is read and discarded.
MAX_DISCARDED_BYTES = 8 * MAX_SUBMISSION_BYTES
CHECKPOINT_PATH = r"/([0-9a-f]{64})/checkpoint"

SubmitCheckpoint = Callable[[bytes], Awaitable[str]]
ReadLatest = Callable[[str], Awaitable[str]]


@stream_request_body
class PlainHandler(RequestHandler):
    """Handler that responds in plain text and discards bodies; by itself it serves every unknown path with 404."""

    received = 0  # bytes of the body so far
    has_answered = False

    def set_default_headers(self) -> None:
        self.set_header("Server", "attestlab")
        self.set_header("Content-Type", TEXT)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cache-Control", "no-store")

    async def prepare(self) -> None:
        self.send_error(404)

    def on_finish(self) -> None:
        """Remember that the response was sent: a body may still arrive after it."""
        self.has_answered = True

    def data_received(self, chunk: bytes) -> None:
        """Discard a body, up to `MAX_DISCARDED_BYTES`."""
        self.received += len(chunk)
        if self.received > MAX_DISCARDED_BYTES and not self.has_answered:
            self.send_error(413)

    def write_error(self, status_code: int, **_kwargs: object) -> None:
        """Respond to an error outside of a submission with its phrase only, never a stack trace."""
        self.finish(f"{HTTPStatus(status_code).phrase}\n")

    def log_exception(self, _kind: object, fault: BaseException | None, _trace: object) -> None:
        """Log unexpected exceptions; errors of clients (`HTTPError`) are not logged."""
        if fault is not None and not isinstance(fault, HTTPError):
            logging_setup.log_part_failure(fault, part="witness")

    def refuse(self, error: errors.AttestLabError) -> None:
        """Respond with the status and message of an error."""
        if isinstance(error, errors.Unavailable):
            logging_setup.log_repeated_failure("witness unavailable", error)
        self.set_status(next(STATUS_OF[kind] for kind in type(error).__mro__ if kind in STATUS_OF))
        self.finish(f"{error.message}\n")


Argument = TypeVar("Argument")


class AddCheckpoint(PlainHandler):
    """`POST /add-checkpoint`."""

    def initialize(self, submit: SubmitCheckpoint) -> None:
        self._submit = submit
        self._body = bytearray()

    async def prepare(self) -> None:
        """Reject a body declared too long, early if it is not sent yet; Tornado rejects other methods with 405."""
        declared = self.request.headers.get("Content-Length", "")
        length = int(declared) if declared.isdecimal() else 0
        is_unsent = "Expect" in self.request.headers
        if length > MAX_DISCARDED_BYTES or (is_unsent and length > MAX_SUBMISSION_BYTES):
            self.send_error(413)

    def data_received(self, chunk: bytes) -> None:
        """Buffer the body up to the limit, and discard the rest."""
        super().data_received(chunk)
        if self.received <= MAX_SUBMISSION_BYTES:
            self._body += chunk

    async def post(self) -> None:
        """Respond with the cosignature line, or with the error status that tlog-witness defines."""
        if self.received > MAX_SUBMISSION_BYTES:
            self.send_error(413)
            return
        try:
            self.finish(await self._submit(bytes(self._body)))
        except SizeConflict as error:
            self.set_status(409)
            self.set_header("Content-Type", SIZE_TYPE)
            self.finish(f"{error.size}\n")
        except tuple(STATUS_OF) as error:
            self.refuse(error)


class LatestCheckpoint(PlainHandler):
    """`GET /<origin hash>/checkpoint`."""

    def initialize(self, latest: ReadLatest) -> None:
        self._latest = latest

    async def prepare(self) -> None:
        """Do nothing: Tornado rejects every method except GET with 405."""

    async def get(self, origin_hash: str) -> None:
        """Respond with the latest cosigned checkpoint, or 404."""
        try:
            self.finish(await self._latest(origin_hash))
        except tuple(STATUS_OF) as error:
            self.refuse(error)


class WitnessServer:
    """HTTP server of a witness; requests run in a few threads, and the store serialises them.

    A client may take `idle_s` seconds between two requests and for a head, and `body_s` for a body.
    """

    def __init__(self, witness: Witness, *, idle_s: float = IDLE_TIMEOUT_S, body_s: float = BODY_TIMEOUT_S) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, "attestlab-witness")
        self._running_requests = 0
        handlers: list[Any] = [  # tornado's rules have no public type
            (PATH, AddCheckpoint, {"submit": partial(self._run, witness.add_checkpoint)}),
            (CHECKPOINT_PATH, LatestCheckpoint, {"latest": partial(self._run, witness.latest)}),
        ]
        application = Application(handlers, default_handler_class=PlainHandler, log_function=lambda _handler: None)
        self._server = HTTPServer(
            application,
            max_body_size=2**63,  # `AddCheckpoint` counts bytes and returns 413, where Tornado would return 400
            max_buffer_size=MAX_SUBMISSION_BYTES + MAX_HEAD_BYTES,
            max_header_size=MAX_HEAD_BYTES,
            idle_connection_timeout=idle_s,
            body_timeout=body_s,
        )

    def start(self, sockets: list[socket.socket]) -> None:
        """Listen on the sockets; must be called within a running event loop."""
        logging.getLogger("tornado.general").addHandler(
            logging.NullHandler()
        )  # malformed requests are not worth a log line
        logging.getLogger("tornado.general").propagate = False
        self._server.add_sockets(sockets)

    async def stop(self) -> None:
        """Refuse new connections, wait for running requests up to `STOP_TIMEOUT_S`, and close."""
        self._server.stop()
        deadline = asyncio.get_running_loop().time() + STOP_TIMEOUT_S
        while self._running_requests and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        await self._server.close_all_connections()
        self._pool.shutdown(wait=False)

    async def _run(self, function: Callable[[Argument], str], argument: Argument) -> str:
        self._running_requests += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, function, argument)
        except OSError as error:
            raise errors.Unavailable(f"The witness is currently unavailable ({cause_of(error)}).") from error
        finally:
            self._running_requests -= 1


async def serve(witness: Witness, sockets: list[socket.socket], *, ready: Callable[[], None]) -> None:
    """Serve on `sockets` until SIGTERM or SIGINT."""
    stop = stop_signals.catch()
    server = WitnessServer(witness)
    server.start(sockets)
    ready()
    await stop.wait()
    await server.stop()
    stop_signals.ignore()


def run_witness(data: Path, *, logs: Iterable[str], host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve the witness in `data` for these logs, each `VKEY` or `ORIGIN VKEY`, until a signal stops it.

    Raises:
        NotFound: `data` holds no witness.
        ValidationFailed: a verifier key is malformed.
    """
    logging_setup.capture_library_logs()
    witnessed = [WitnessedLog.parse(text) for text in logs]
    with WitnessStore.open(data) as store:
        witness = Witness(
            store, unseal_signer(store, Keyring.open(data, os.environ)), logs=witnessed, clock=SystemClock()
        )
        sockets = bind_sockets(port, host)
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{sockets[0].getsockname()[1]}"
        asyncio.run(serve(witness, sockets, ready=lambda: announce(url)))
