"""`Request`: everything a route may know of the request it answers."""

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

# Has a function called on the loop, once, when the client is gone; at once where it is.
OnDisconnect = Callable[[Callable[[], None]], None]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A result that can only be made once the log has sealed what the route appended."""

    make: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class CommittedError:
    """A refusal that leaves something behind: raised once what the route changed is durable."""

    error: AttestLabError


class Request:
    """One request on its way through a route.

    A write route may run more than once for one call (its group is tried again without
    a neighbour that failed), so what it leaves here must come out the same each time.
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
        self.lab = lab  # the composition root, whose type only the capabilities know
        self.application = application  # for async routes and `prepare`: `read`, `run_in_thread`, `write`
        self.route = route
        self.method = method
        self.path = path  # as sent
        self.path_values = path_values
        self.headers = headers
        self.peer = peer  # the client's address: the socket's other end, or what a trusted proxy says of it
        self.request_id = request_id
        self.now = now
        self.on_disconnect = on_disconnect
        self.credential: Credential | None = None  # as presented, not yet believed; None on a public route
        self.caller: Any = None  # what `authenticate` returned; None on a public route
        self.rate: Count | None = None  # the tightest limit that applied so far
        self.query: Any = None
        self.document: Any = None  # the body as parsed, its huge payload member replaced by ""
        self.canonical: bytes | None = None  # the RFC 8785 form of a large `document`, where a key is bound to it
        self.payload: Payload | None = None
        self.respond_headers: dict[str, str] = {}

    def header(self, name: str) -> str | None:
        """A request header, whatever its case; None where it was not sent."""
        return self.headers.get(name.lower())

    def disconnected(self) -> Event:
        """An event that is set when the client closes its connection before it is answered; ask on the loop.

        For work that takes seconds and that nobody wants but whoever asked for it. Only where this is asked is the
        client watched at all.
        """
        gone = Event()
        self.on_disconnect(gone.set)
        return gone

    def defer(self, make: Callable[[], Result]) -> Result:
        """Return this from a write route whose answer holds a proof: `make` runs when the proof is known."""
        return cast(Result, Deferred(make))

    def commit_then_raise(self, error: AttestLabError) -> Any:
        """Return this from a write route that refuses, and yet keeps what it changed; raising takes that back."""
        return CommittedError(error)
