"""`Request`: all data of one request that a route handler may use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from threading import Event
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attestlab.core.errors import AttestLabError

if TYPE_CHECKING:
    from attestlab.core.limits.rate_counters import Count
    from attestlab.web.body.payload_stream import Payload
    from attestlab.web.credentials import Credential
    from attestlab.web.routing.routes import Route


Result = TypeVar("Result")

# Registers a callback that runs once on the event loop when the client disconnects, or now if it already has.
OnDisconnect = Callable[[Callable[[], None]], None]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A result that can be created only after the log has sequenced the entries that the route appended."""

    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class CommittedError:
    """An error that is raised after the route's changes are durable."""

    error: AttestLabError


class Request:
    """One request, as a route handler receives it.

    A write route may run more than once for one request, because its group is retried without a job that failed. So
    everything it stores here must be the same each time.
    """

    __slots__ = (
        "application",
        "caller",
        "canonical",
        "credential",
        "document",
        "headers",
        "lab",
        "method",
        "now",
        "on_disconnect",
        "path",
        "path_values",
        "payload",
        "peer",
        "query",
        "rate",
        "request_id",
        "respond_headers",
        "route",
    )

    def __init__(
        self,
        *,
        lab: Any,
        application: Any,
        route: Route,
        method: str,
        path: str,
        path_values: Mapping[str, Any],
        headers: Mapping[str, str],
        peer: str,
        request_id: str,
        now: datetime,
        on_disconnect: OnDisconnect,
    ) -> None:
        self.lab = lab  # the composition root; only the capabilities know its type
        self.application = application  # for async routes and `prepare`: `read`, `run_in_thread`, `write`
        self.route = route
        self.method = method
        self.path = path  # as sent
        self.path_values = path_values
        self.headers = headers
        self.peer = peer  # the client's address: the socket's peer, or the one that a trusted proxy forwards
        self.request_id = request_id
        self.now = now
        self.on_disconnect = on_disconnect
        self.credential: Credential | None = None  # as presented, not yet verified; None on a public route
        self.caller: Any = None  # the result of `authenticate`; None on a public route
        self.rate: Count | None = None  # the tightest limit that applied so far
        self.query: Any = None
        self.document: Any = None  # the body as parsed, its huge payload member replaced by ""
        self.canonical: bytes | None = (
            None  # the RFC 8785 form of a large `document`, if an Idempotency-Key is bound to it
        )
        self.payload: Payload | None = None
        self.respond_headers: dict[str, str] = {}

    def header(self, name: str) -> str | None:
        """Returns a request header by name, ignoring case, or None if it was not sent."""
        return self.headers.get(name.lower())

    def disconnect_event(self) -> Event:
        """Returns an event that is set when the client disconnects before it gets its response. Call on the event loop.

        Use it for long work whose result only this client needs. Disconnects are monitored only after the first call.
        """
        gone = Event()
        self.on_disconnect(gone.set)
        return gone

    def defer(self, make: Callable[[], Result]) -> Result:
        """Defers the result of a write route until its inclusion proof is known, and creates it with `make`."""
        return cast(Result, Deferred(make))

    def commit_then_raise(self, error: AttestLabError) -> Any:
        """Rejects the request from a write route but keeps its changes; raising the error would roll them back."""
        return CommittedError(error)
