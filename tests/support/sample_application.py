"""A small application of the tests' own: notes and files, served by the real server on a real socket."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Annotated, Any, cast
from uuid import UUID

from pydantic import Field
from sqlalchemy import Connection
from tornado.netutil import bind_sockets

from attestlab.core.clock import FixedClock
from attestlab.core.db.transaction import Transaction
from attestlab.core.errors import AttestLabError, AuthInvalid, Conflict, IntegrityFailed, NotFound, RateLimited
from attestlab.core.limits.rate_counters import Counters
from attestlab.core.shapes import In, Moment, Out, Uuid
from attestlab.web.application import Application, BlockedClient
from attestlab.web.executor import Executor
from attestlab.web.health import health_routes
from attestlab.web.http1.acceptor import ConnectionLimits, ConnectionSlot
from attestlab.web.http1.connection import Fallback, Timeouts
from attestlab.web.http1.server import Server
from attestlab.web.metrics import Metrics, metrics_routes
from attestlab.web.openapi.document import openapi_routes
from attestlab.web.paging import OffsetPageQuery, Page, decode_number, split_page
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.rate_limit.limiter import Limiter
from attestlab.web.request import Request
from attestlab.web.response import RawResponse, Response, StreamedResponse
from attestlab.web.routing import calls
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.routes import Routes
from support.raw_http import WRITER_KEY, RawConnection
from support.timeouts import WAIT_TIMEOUT_S

DEFAULT_TIMEOUTS = Timeouts()
PER_MINUTE = 6_000_000  # of an address whose clock stands still
UNLIMITED = SimpleNamespace(requests_per_minute=None, has_endpoint_limits=False)
MANY_PIECES = 300
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
READER_KEY = "key-of-a-reader"
SCOPES = {WRITER_KEY: {"notes:read", "notes:write"}, READER_KEY: {"notes:read"}}
KNOWN_ID = UUID("0193b5a0-7f3c-7abc-8def-0123456789ab")

HEADER_INJECTIONS = {"crlf": "a\r\nSet-Cookie: b", "lf": "a\nSet-Cookie: b", "cr": "a\rSet-Cookie: b", "wide": "\u010a"}


def make_slot() -> ConnectionSlot:
    """A slot for a connection that no server accepted."""
    slot = ConnectionLimits(1, 1).try_acquire("127.0.0.1")
    assert slot is not None
    return slot


@dataclass
class SampleServices:
    """What the sample routes share with a test."""

    waiting: threading.Event = field(default_factory=threading.Event)
    may_continue: threading.Event = field(default_factory=threading.Event)
    gone: threading.Event = field(default_factory=threading.Event)
    broken: set[str] = field(default_factory=set)
    pieces_made: int = 0
    counters: Counters = field(default_factory=Counters.in_memory)

    def check(self) -> None:
        if self.broken:
            raise RuntimeError("the disk said: /secret/path")


notes = Routes("notes")


class Claims(In):
    name: str
    expiry_date: Moment | None = None


class NoteIn(In):
    text: Annotated[str, Field(max_length=100_000)]
    stars: int = 0
    claims: Claims | None = None
    about: Uuid | None = None


class Note(Out):
    id: UUID
    text: str
    created_at: Moment


class FileIn(In):
    name: str = ""
    payload_b64url: str | None = None
    other: Any = None


class FileFacts(Out):
    sha256: str
    size: int
    chars: int
    seen: str | None
    parsed: Any
    other: Any


class Readme(Out):
    prepared: str


@notes.get("/v1/notes", scope="notes:read")
def listed(request: Request, query: OffsetPageQuery) -> Page[str]:
    """Ten notes, newest first."""
    below = decode_number("notes", query.cursor)
    rows = [f"note {n}" for n in range(10, 0, -1) if below is None or n < below][query.rows_to_skip :]
    items, cursor = split_page(
        rows[: query.limit + 1], limit=query.limit, kind="notes", position=lambda r: [int(r[5:])]
    )
    return Page(items=list(items), next_cursor=cursor)


@notes.post("/v1/notes", scope="notes:write", status=201)
def written(request: Request, body: NoteIn, tx: Transaction) -> Note:
    """Write a note."""
    request.respond_headers["Location"] = f"/v1/notes/{KNOWN_ID}"
    return Note(id=KNOWN_ID, text=body.text, created_at=request.now)


@notes.get("/v1/notes/{id}", scope="notes:read")
def read(request: Request, id: UUID) -> Note:
    """Read a note."""
    if id != KNOWN_ID:
        raise NotFound("note", id)
    return Note(id=id, text="hello", created_at=request.now)


@notes.delete("/v1/notes/{id}", scope="notes:write", status=204)
def removed(request: Request, id: UUID, tx: Transaction) -> None:
    """Remove a note."""


@notes.put("/v1/notes/{id}/stars/{count}", scope="notes:write")
def starred(request: Request, id: UUID, count: int, tx: Transaction) -> Note:
    """Give a note stars."""
    return Note(id=id, text="*" * count, created_at=request.now)


@notes.post("/v1/open/notes", scope=PUBLIC, idempotency="none")
async def open_note(request: Request, body: NoteIn | None = None) -> Note:
    """Write a note without being anyone."""
    return Note(id=KNOWN_ID, text="" if body is None else body.text, created_at=request.now)


async def signed(request: Request, body: FileIn) -> str:
    await asyncio.sleep(0)
    return f"signed {body.name}"


@notes.post("/v1/signed", scope=PUBLIC, prepare=signed, idempotency="required")
def sign(request: Request, body: FileIn, prepared: str, tx: Transaction) -> Readme:
    """Do something that was prepared before."""
    return Readme(prepared=prepared)


@notes.post("/v1/files", scope=PUBLIC, payload=True)
def filed(request: Request, body: FileIn, tx: Transaction) -> FileFacts:
    """Hash a file."""
    payload = request.payload
    assert isinstance(request.document, dict)
    parsed = request.document.get("payload_b64url")
    if payload is None:
        return FileFacts(sha256="", size=-1, chars=-1, seen=body.payload_b64url, parsed=parsed, other=body.other)
    return FileFacts(
        sha256=payload.sha256.hex(),
        size=payload.size,
        chars=payload.chars,
        seen=body.payload_b64url,
        parsed=parsed,
        other=body.other,
    )


@notes.get(
    "/tile/{level}/{path...}",
    scope=PUBLIC,
    cache_control="public, max-age=31536000, immutable",
    produces={"application/octet-stream": bytes},
)
def tile(request: Request, level: int, path: str) -> RawResponse:
    """A tile."""
    return RawResponse(f"{level}:{path}".encode(), "application/octet-stream")


@notes.get("/v1/streams/{kind}", scope=PUBLIC, produces={"text/plain": str})
async def stream(kind: str, services: SampleServices) -> StreamedResponse:
    """A body in pieces: whole, broken off after the first, endless, or many that wait for nothing."""

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b"first "
            if kind == "broken":
                raise RuntimeError("password is hunter2")
            yield b"second"
            while kind == "endless":
                services.pieces_made += 1
                yield bytes(1 << 20)
            while kind == "many" and services.pieces_made < MANY_PIECES:
                services.pieces_made += 1
                yield b"x"
        finally:
            services.gone.set()

    return StreamedResponse(pieces(), "text/plain")


@notes.get("/v1/faults/{kind}", scope=PUBLIC, produces={"text/plain": str})
def fault(request: Request, kind: str) -> RawResponse:
    """Go wrong in one of several ways."""
    if kind in HEADER_INJECTIONS:
        return RawResponse(b"", "text/plain", {"X-Split": HEADER_INJECTIONS[kind]})
    faults: dict[str, Exception] = {
        "crash": RuntimeError("password is hunter2"),
        "conflict": Conflict("It is taken.", details={"since": request.now, "id": KNOWN_ID}),
        "limit": RateLimited("Slow down.", details={"limit": 5}, retry_after_s=0.2),
        "integrity": IntegrityFailed("leaf 7 does not hash to its tile"),
    }
    raise faults[kind]


@notes.get("/v1/wait", scope=PUBLIC)
async def wait(services: SampleServices) -> Readme:
    """Answer when the test says so."""
    services.waiting.set()
    await asyncio.to_thread(services.may_continue.wait, 10)
    return Readme(prepared="waited")


@notes.get("/v1/watched", scope=PUBLIC)
async def watched(request: Request, services: SampleServices) -> Readme:
    """Answer when the test says so, and know whether anybody waits for it."""
    services.gone = request.disconnect_event()
    services.waiting.set()
    await asyncio.to_thread(services.may_continue.wait, 10)
    return Readme(prepared="watched")


async def perform(request: Request, body: Any) -> Response:
    """A write without a store."""
    if request.route.is_async:
        return calls.render(request, await calls.run_async(request, body))
    prepared = await calls.prepare_write(request, body)
    result = calls.run_write(Transaction(cast(Connection, None)), request, body, prepared)
    return calls.render(request, calls.finish_write(request, result))


async def write(job: Callable[[Any], Any]) -> Any:
    """A transaction of nothing."""
    return job(None)


async def on_denied(request: Request, fault: AttestLabError) -> None:
    """Records no audit line: no test of the sample application reads one."""


async def on_blocked(block: BlockedClient) -> None:
    """Nor for this."""


def authenticate(request: Request) -> SimpleNamespace:
    credential = request.credential
    if credential is None or credential.kind != "api_key" or credential.secret not in SCOPES:
        raise AuthInvalid
    return SimpleNamespace(scopes=SCOPES[credential.secret], tenant_id=credential.secret)


def make_unlimited_limiter(counters: Counters) -> Limiter:
    """A limiter that admits every request."""
    return Limiter(
        counters,
        address_per_minute=PER_MINUTE,
        allowance_of=lambda caller: UNLIMITED,
        spent_today=lambda caller, metric, now: None,
        addresses=ClientAddressResolver(),
    )


def make_sample_application(lab: SampleServices | None = None, *, reads_inline: bool = True) -> Application:
    lab = lab or SampleServices()
    metrics = Metrics()
    routes = [*notes, *health_routes({"records": lab.check}), *metrics_routes(metrics)]
    routes += openapi_routes(routes, title="Notes", version="1")
    return Application(
        {SampleServices: lab},
        routes,
        executor=Executor(write, reads_inline=reads_inline),
        authenticate=authenticate,
        execute_write=perform,
        on_denied=on_denied,
        on_blocked=on_blocked,
        limiter=make_unlimited_limiter(lab.counters),
        clock=FixedClock(NOON),
        metrics=metrics,
    )


@dataclass
class SampleServer:
    """A server in a separate thread."""

    port: int
    lab: SampleServices
    server: Server
    loop: asyncio.AbstractEventLoop

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def call(self, function: Callable[[], Awaitable[Any]]) -> Any:
        """Await something on the server's loop."""

        async def awaited() -> Any:
            return await function()

        return asyncio.run_coroutine_threadsafe(awaited(), self.loop).result(WAIT_TIMEOUT_S)

    def connect(self) -> RawConnection:
        return RawConnection(self.port)


@contextmanager
def serve_sample_application(
    *,
    timeouts: Timeouts = DEFAULT_TIMEOUTS,
    fallback: Callable[[], Fallback] | None = None,
    reads_inline: bool = True,
    limits: ConnectionLimits | None = None,
) -> Iterator[SampleServer]:
    """The sample site on a free port."""
    started = threading.Event()
    found: list[SampleServer] = []
    over: list[asyncio.Event] = []

    async def serve() -> None:
        lab = SampleServices()
        server = Server(
            make_sample_application(lab, reads_inline=reads_inline),
            timeouts=timeouts,
            fallback=fallback() if fallback else None,
            limits=limits,
        )
        sockets = bind_sockets(0, "127.0.0.1", family=socket.AF_INET)
        server.add_sockets(sockets)
        over.append(asyncio.Event())
        found.append(SampleServer(sockets[0].getsockname()[1], lab, server, asyncio.get_running_loop()))
        started.set()
        await over[0].wait()
        await server.stop_gracefully(within_s=1)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(WAIT_TIMEOUT_S)
    try:
        yield found[0]
    finally:
        found[0].lab.may_continue.set()
        found[0].loop.call_soon_threadsafe(over[0].set)
        thread.join(WAIT_TIMEOUT_S)
        found[0].lab.counters.close()
