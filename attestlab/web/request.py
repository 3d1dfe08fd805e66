"""`Request`: all data of one request that a route handler may use; and the credential in its headers.

Verifying the credential is up to `Application.authenticate`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, Self

from attestlab.core.errors import AuthInvalid, AuthRequired
from attestlab.core.execution.worker_processes import OnDisconnect

if TYPE_CHECKING:
    from pydantic import BaseModel

    from attestlab.core.limits.rate_counters import Count
    from attestlab.web.body.payload_stream import Payload
    from attestlab.web.routing.authorization import WebCaller
    from attestlab.web.routing.routes import Route


# Headers that count on the private socket alone, where the dashboards are the client.
UNATTENDED: Final = "x-unattended"
KEPT_TOKEN: Final = "x-kept-token"


class KeptTokenUse(StrEnum):
    """What a refresh token that stays unused is for: the next access token, or to open a session again."""

    RENEW = "renew"
    REOPEN = "reopen"


class Credential(NamedTuple):
    """A secret and its declared kind."""

    kind: Literal["api_key", "bearer"]
    secret: str

    def __repr__(self) -> str:
        return f"Credential({self.kind!r})"


def has_credential(headers: Mapping[str, str]) -> bool:
    """Whether a request claims to have a credential, valid or not."""
    return "x-api-key" in headers or "authorization" in headers


def extract_credential(headers: Mapping[str, str]) -> Credential:
    """Extract the API key from `X-API-Key` or `Authorization: ApiKey`, both accepted everywhere, or the bearer token.

    Raises:
        AuthRequired: the request has no credential.
        AuthInvalid: two credentials differ, or the scheme is unknown.
    """
    key, authorization = headers.get("x-api-key"), headers.get("authorization")
    if authorization is None:
        if not key:
            raise AuthRequired
        return Credential("api_key", key)
    scheme, _, secret = authorization.partition(" ")
    secret, scheme = secret.strip(), scheme.lower()
    if not secret or (key is not None and (scheme, key) != ("apikey", secret)):
        raise AuthInvalid
    if scheme == "apikey":
        return Credential("api_key", secret)
    if scheme == "bearer":
        return Credential("bearer", secret)
    raise AuthInvalid


class Request:
    """One request, as a route handler receives it.

    A write route may run more than once for one request, because its group is retried without a job that failed. So
    everything it stores here must be the same each time.
    """

    __slots__ = (
        "caller",
        "canonical",
        "credential",
        "document",
        "headers",
        "is_from_service",
        "method",
        "now",
        "on_disconnect",
        "path",
        "path_prefix",
        "path_values",
        "payload",
        "peer",
        "query",
        "rate",
        "request_id",
        "respond_headers",
        "route",
        "unparsed",
    )

    def __init__(
        self,
        *,
        route: Route,
        method: str,
        path: str,
        path_values: Mapping[str, object],
        headers: Mapping[str, str],
        peer: str,
        path_prefix: str,
        request_id: str,
        now: datetime,
        on_disconnect: OnDisconnect,
        is_from_service: bool = False,
    ) -> None:
        self.route = route
        self.method = method
        self.path = path  # as sent
        self.path_values = path_values
        self.headers = headers
        self.peer = peer  # the client's address: the socket's peer, or the one that a trusted proxy forwards
        self.is_from_service = is_from_service  # it came through a private socket, from another process of the service
        self.path_prefix = path_prefix  # the path below which a proxy serves us to this client; empty at the root
        self.request_id = request_id
        self.now = now
        self.on_disconnect = on_disconnect
        self.credential: Credential | None = None  # as presented, not yet verified; None on a public route
        self.caller: WebCaller | None = None  # the result of `authenticate`; None on a public route
        self.rate: Count | None = None  # the tightest limit that applied so far
        self.query: BaseModel | None = None
        self.document: object = None  # the body as parsed, its huge payload member replaced by ""
        self.canonical: bytes | None = (
            None  # the RFC 8785 form of a large `document`, if an Idempotency-Key is bound to it
        )
        self.payload: Payload | None = None
        self.unparsed = b""  # the body of a route that reads it itself: NDJSON, or what its sender signed
        self.respond_headers: dict[str, str] = {}

    @classmethod
    def without_connection(cls, route: Route, *, peer: str, request_id: str, now: datetime) -> Self:
        """Make a request to a route without parameters that no client sent, such as one of a demo."""
        return cls(
            route=route,
            method=route.method,
            path=route.path,
            path_values={},
            headers={},
            peer=peer,
            path_prefix="",
            request_id=request_id,
            now=now,
            on_disconnect=lambda end: None,  # there is no connection to lose
        )

    def header(self, name: str) -> str | None:
        """Return a request header by name, ignoring case, or None if it was not sent."""
        return self.headers.get(name.lower())

    @property
    def is_unattended(self) -> bool:
        """Whether a page of the dashboards made the request by itself: it is no use of the person's session.

        The header of anyone else does not count, so that no client hides that it uses a credential.
        """
        return self.is_from_service and UNATTENDED in self.headers

    @property
    def kept_token_use(self) -> KeptTokenUse | None:
        """What the dashboards use a refresh token for that stays unused; None if it is used up, as by anyone else."""
        sent = self.headers.get(KEPT_TOKEN)
        return KeptTokenUse(sent) if self.is_from_service and sent is not None else None

    def disconnect_event(self) -> Event:
        """Return an event that is set when the client disconnects before it gets its response. Call on the event loop.

        Use it for long work whose result only this client needs. Disconnects are monitored only after the first call.
        """
        gone = Event()
        self.on_disconnect(gone.set)
        return gone


class Authenticate(Protocol):
    """Returns the caller behind `request.credential`, or raises `AuthInvalid`."""

    def __call__(self, request: Request, /) -> WebCaller: ...


def prefers_representation(request: Request) -> bool:
    """Whether a client asks for the resource that its write left."""
    sent = request.header("Prefer") or ""
    return any(part.partition(";")[0].replace(" ", "").lower() == "return=representation" for part in sent.split(","))
