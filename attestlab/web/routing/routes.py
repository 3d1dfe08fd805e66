"""Routes: a handler's requirements are declared with it, and read once, at import.

The same declaration generates the request's validation, the access table and OpenAPI. A route is

    routes = Routes("issuers")

    @routes.post("/v1/issuers", scope=Scope.ISSUERS_WRITE, status=201)
    def create(tx: Transaction, caller: Caller, issuers: Issuers, body: IssuerIn) -> IssuerOut:
        \"\"\"Register an issuer.\"\"\"

`attestlab.web.routing.handlers` explains how parameters are bound. `body` and `query` are pydantic models (a body
annotated `Model | None` is optional). A handler returns a model, `RawResponse`, `StreamedResponse` or None.

A GET runs on the event loop or in a read thread. Any other method is a write of up to three steps, which share one
declaration:

1. `prepare` (optional, async) runs on the event loop, before the transaction: what needs no lock, such as signing.
2. The handler runs in the write transaction `tx`, which it passes to each verb that it calls. It may return
   `CommittedError`: the changes are kept, and the client gets the error.
3. `respond` (optional) makes the response from the handler's `result`, once the log has sequenced the appended
   entries and their inclusion proofs are known, still before the commit.

A write on a busy path also declares `foresee`: it names the keys that the handler will read under the writer's lock,
so that on PostgreSQL one query reads them for all writes of a group.

The handler of a write that is `async` is awaited on the loop, and opens its own transactions.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import Final, Literal, NamedTuple, Protocol, TypedDict, TypeVar, Unpack, cast, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaSerializer

from attestlab.core.errors import AttestLabError
from attestlab.web.body.payload_stream import CONTENT, PAYLOAD, LargeMember
from attestlab.web.body.reader import JSON, NDJSON, WEB_FORM
from attestlab.web.response import CommittedError, RawResponse, StreamedResponse
from attestlab.web.routing.authorization import Access, Requirement, requirement_of
from attestlab.web.routing.handlers import Handler, Services

Idempotency = Literal["honoured", "required", "none"]
Function = TypeVar("Function", bound=Callable[..., object])

BODY_LIMIT_BYTES: Final = 1024 * 1024
_PARAMETER = re.compile(r"\{(\w+)(?:\.\.\.)?\}")


class Limit(NamedTuple):
    """A limit of requests per tenant and window, without burst (SPEC, Per-endpoint limits).

    Routes that name the same limit share it. `daily` names the daily limit that they also consume.
    """

    name: str
    requests: int
    window_s: int
    daily: str | None = None


class RouteOptions(TypedDict, total=False):
    """The options of a declaration; see `Route`."""

    status: int
    body_limit: int
    content: bool
    payload: bool
    form_part: str
    ndjson: bool
    signed: bool
    web_form: bool
    idempotency: Idempotency
    cache_control: str
    limit: Limit
    charged: bool
    page: bool
    secret: bool
    share_links: bool
    fixed: bool
    redirect: str
    permanent: bool
    existing: str
    conditional: bool
    representation: bool
    produces: Mapping[str, object]
    headers: tuple[str, ...]
    raises: tuple[type[AttestLabError], ...]


Prepare = Callable[..., Awaitable[object]]
Respond = Callable[..., object]
ForeseeWrite = Callable[..., None]


class _OtherSteps(NamedTuple):
    """The handlers of a write beside the one that runs in its transaction."""

    prepare: Handler | None
    respond: Handler | None
    foresee: Handler | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Route:
    """One method of one path: its requirements and its handlers."""

    method: str
    path: str  # the template, such as /v1/issuers/{id}
    tag: str
    handler: Handler
    needs: Requirement | None  # PUBLIC: anyone may call it, and credentials are ignored
    status: int = 200
    body_limit: int = BODY_LIMIT_BYTES  # without the payload, if the route takes one
    content: bool = False  # a huge `content_b64url` is spooled to a file, `request.payload.file`
    payload: bool = False  # a huge `payload_b64url` is streamed; its facts are in `request.payload`
    form_part: str | None = None  # the JSON part of a form (`multipart/form-data`), whose file is the payload
    ndjson: bool = False  # the body is NDJSON, `request.unparsed`; the route parses it line by line
    signed: bool = False  # the body is JSON, `request.unparsed`; its sender signed these very bytes
    web_form: bool = False  # the body is the form of a page, whose fields are the members of a JSON object
    idempotency: Idempotency = "none"
    prepare: Handler | None = None
    respond: Handler | None = None
    foresee: Handler | None = None  # names the keys that the handler reads, so that a group of writes reads them once
    cache_control: str | None = None
    limit: Limit | None = None  # its own limit, in addition to that of the caller's plan
    page: bool = False  # a public page for people: it has a separate bucket of the client's address
    charged: bool = True  # whether a request counts towards the limit of its caller or address
    secret: bool = False  # body or response hold a secret, so its idempotency record is sealed and keyed
    share_links: bool = False  # the response has keys of share links, so it is never compressed
    fixed: bool = False  # the body is public and the same while the process runs, so it is compressed once
    redirect: str | None = None  # where its 303 leads, for OpenAPI
    permanent: bool = False  # whether the redirect is a 301, which a client may keep
    existing: str | None = None  # what a 200 in place of its 201 says, for OpenAPI
    conditional: bool = False  # it honours If-Match, for OpenAPI
    representation: bool = False  # its response has a body only if Prefer asks for it, for OpenAPI
    produces: Mapping[str, object] = field(default_factory=dict)  # types of the bodies that it renders itself
    headers: tuple[str, ...] = ()  # response headers of this route alone, for OpenAPI
    raises: tuple[type[AttestLabError], ...] = ()  # errors that the declaration alone does not imply, for OpenAPI
    query: type[BaseModel] | None
    body: type[BaseModel] | None
    body_optional: bool
    result: object  # the type of the response's model, `RawResponse` or `NoneType`
    serializer: SchemaSerializer | None  # None: the route answers bytes or nothing

    @property
    def is_async(self) -> bool:
        """Whether the handler is awaited on the event loop and opens its own transactions."""
        return self.handler.is_async

    @property
    def body_type(self) -> str:
        """The media type that a body must have; a form with a file may stand for JSON."""
        return NDJSON if self.ndjson else WEB_FORM if self.web_form else JSON

    @property
    def is_unparsed(self) -> bool:
        """Whether the route takes the body as the bytes that were sent."""
        return self.ndjson or self.signed

    @property
    def large_member(self) -> LargeMember | None:
        """The member of the body that may be huge."""
        if self.content:
            return CONTENT
        return PAYLOAD if self.payload else None

    @property
    def has_etag(self) -> bool:
        """Whether its success carries an entity tag; that of a streamed body would be known at its end only."""
        returns = self.handler.returns
        return self.method == "GET" and StreamedResponse not in (returns, *get_args(returns))

    @property
    def path_types(self) -> Mapping[str, type]:
        """The types of the path parameters, in their order in the path."""
        return self.handler.path_types

    def bind(self, services: Services) -> Route:
        """Return the route with the services of its handlers.

        Raises:
            TypeError: a handler takes a service that the application lacks.
        """
        return replace(
            self,
            handler=self.handler.bind(services),
            prepare=self.prepare and self.prepare.bind(services),
            respond=self.respond and self.respond.bind(services),
            foresee=self.foresee and self.foresee.bind(services),
        )


class Declare(Protocol):
    """A decorator that declares a function as the handler of a route and returns it unchanged."""

    def __call__(self, function: Function, /) -> Function: ...


class Routes:
    """The routes of one capability, in the order of their declaration."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._routes: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def get(self, path: str, *, scope: Access, **options: Unpack[RouteOptions]) -> Declare:
        """Declare a read. It also answers HEAD, carries a strong ETag and honours If-None-Match."""
        return self._declare("GET", path, scope, options)

    def post(
        self,
        path: str,
        *,
        scope: Access,
        prepare: Prepare | None = None,
        respond: Respond | None = None,
        foresee: ForeseeWrite | None = None,
        **options: Unpack[RouteOptions],
    ) -> Declare:
        """Declare a write, which honours Idempotency-Key by default."""
        return self._declare("POST", path, scope, {"idempotency": "honoured", **options}, prepare, respond, foresee)

    def put(
        self, path: str, *, scope: Access, prepare: Prepare | None = None, **options: Unpack[RouteOptions]
    ) -> Declare:
        """Declare an idempotent replacement."""
        return self._declare("PUT", path, scope, options, prepare)

    def patch(self, path: str, *, scope: Access, **options: Unpack[RouteOptions]) -> Declare:
        """Declare a partial update."""
        return self._declare("PATCH", path, scope, options)

    def delete(self, path: str, *, scope: Access, **options: Unpack[RouteOptions]) -> Declare:
        """Declare a removal."""
        return self._declare("DELETE", path, scope, options)

    def _declare(
        self,
        method: str,
        path: str,
        scope: Access,
        options: RouteOptions,
        prepare: Prepare | None = None,
        respond: Respond | None = None,
        foresee: ForeseeWrite | None = None,
    ) -> Declare:
        names = tuple(_PARAMETER.findall(path))
        steps = (None if step is None else Handler.of(step, path_names=names) for step in (prepare, respond, foresee))
        others = _OtherSteps(*steps)

        def declare(function: Function) -> Function:
            handler = Handler.of(function, path_names=names)
            self._routes.append(_build_route(method, path, self.tag, scope, handler, others, options))
            return function

        return declare


def _build_route(
    method: str,
    path: str,
    tag: str,
    scope: Access,
    handler: Handler,
    others: _OtherSteps,
    options: RouteOptions,
) -> Route:
    prepare, respond, foresee = others
    names = _PARAMETER.findall(path)
    if [*handler.path_types] != names:
        raise TypeError(f"{handler.name} takes {[*handler.path_types]}, but the path {path} has {names}.")
    _require_tx_of_writes(method, handler)
    result = _result_of(handler, respond)
    _require_media_type(result, handler, options)
    body = handler.hint("body") or (prepare and prepare.hint("body"))
    return Route(
        method=method,
        path=path,
        tag=tag,
        handler=handler,
        prepare=prepare,
        respond=respond,
        foresee=foresee,
        needs=requirement_of(scope),
        query=cast("type[BaseModel] | None", handler.hint("query")),
        body=_model_of(body),
        body_optional=body is None or NoneType in get_args(body),
        result=result,
        serializer=_serializer(result),
        **options,
    )


def _require_tx_of_writes(method: str, handler: Handler) -> None:
    """Require that exactly the handlers that run in a write transaction take it, to pass it to the verbs they call."""
    is_in_write = method != "GET" and not handler.is_async
    if is_in_write != ("tx" in handler.parts):
        raise TypeError(f"{handler.name} {'lacks' if is_in_write else 'has no'} tx, the transaction of a write.")


def _require_media_type(result: object, handler: Handler, options: RouteOptions) -> None:
    """Require that a handler which renders its response declares the media types and the types of its bodies."""
    if result in (RawResponse, StreamedResponse) and not options.get("produces"):
        raise TypeError(f"{handler.name} answers bytes. Declare `produces`, the type of the body by its media type.")


def _result_of(handler: Handler, respond: Handler | None) -> object:
    """Return the type of the response's model: that of `respond`, or else of the handler.

    A handler may also return `RawResponse` or `StreamedResponse`, such as a model that another process has rendered,
    `CommittedError`, or None for an empty body.

    Raises:
        TypeError: `respond` does not take what the handler returns.
    """
    if respond is None:
        return _without(handler.returns, CommittedError, RawResponse, StreamedResponse, NoneType)
    if respond.hint("result") != _without(handler.returns, CommittedError):
        raise TypeError(f"{respond.name} takes {respond.hint('result')}, not {handler.returns}.")
    return respond.returns


def _without(returns: object, *left_out: type) -> object:
    """Return a return annotation without these members of its union."""
    if not isinstance(returns, UnionType):
        return returns
    kinds = [kind for kind in get_args(returns) if kind not in left_out]
    return reduce(or_, kinds)


def _model_of(hint: object) -> type[BaseModel] | None:
    """Return the model of `Model` or `Model | None`."""
    models = [part for part in (get_args(hint) or (hint,)) if isinstance(part, type) and issubclass(part, BaseModel)]
    return models[0] if models else None


def _serializer(result: object) -> SchemaSerializer | None:
    adapter: TypeAdapter[object] | None
    adapter = None if result in (RawResponse, StreamedResponse, NoneType) else TypeAdapter(cast("type[object]", result))
    return None if adapter is None else adapter.serializer
