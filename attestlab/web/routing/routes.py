"""Routes: a handler's requirements are declared with it, and read once, at import.

The same declaration generates the request's validation, the access table and OpenAPI. A route is

    routes = Routes("issuers")

    @routes.post("/v1/issuers", scope=Scope.ISSUERS_WRITE, status=201)
    def create(request: Request, body: IssuerIn) -> IssuerOut:
        \"\"\"Register an issuer.\"\"\"

Parameters are bound by name: `request` first; `body` and `query` are pydantic models (a body annotated
`Model | None` is optional); `prepared` is the result of `prepare`; every other name is a path parameter `{name}`
(UUID, int or str) or, at the end of the path, `{name...}` for its rest. A handler returns a model, `RawResponse`,
or None.

A GET runs on the event loop or in a read thread. The handler of any other method runs inside a write job, unless it
is `async`: then it is awaited on the loop and performs its own writes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, TypeVar, get_args, get_type_hints
from uuid import UUID

from pydantic import BaseModel, TypeAdapter
from pydantic_core import SchemaSerializer

from attestlab.web.request import Request
from attestlab.web.response import RawResponse
from attestlab.web.routing.authorization import Access, Requirement, requirement_of

Idempotency = Literal["honoured", "required", "none"]
Prepare = Callable[[Request, Any], Awaitable[object]]
Handler = TypeVar("Handler", bound=Callable[..., Any])

BODY_LIMIT_BYTES: Final = 1024 * 1024
PATH_TYPES: Final = (UUID, int, str)
_PARAMETER = re.compile(r"\{(\w+)(\.\.\.)?\}")
_BY_NAME = frozenset({"request", "query", "body", "prepared", "return"})


class Limit(NamedTuple):
    """A limit of requests per tenant and window, without burst (SPEC, Per-endpoint limits).

    Routes that name the same limit share it. `daily` names the daily limit that they also consume.
    """

    name: str
    requests: int
    window_s: int
    daily: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One method of one path: its requirements and its handler."""

    method: str
    path: str  # the template, such as /v1/issuers/{id}
    tag: str
    function: Callable[..., Any]
    needs: Requirement | None  # PUBLIC: anyone may call it, and credentials are ignored
    status: int
    body_limit: int  # bytes; without the payload, if the route takes one
    payload: bool  # a huge `payload_b64url` is streamed; its facts are in `request.payload`
    idempotency: Idempotency
    prepare: Prepare | None  # runs on the loop before the write job, for work that needs no transaction
    cache_control: str | None
    limit: Limit | None  # its own limit, in addition to that of the caller's plan
    page: bool  # a public page for people: it has a separate bucket of the client's address
    charged: bool  # whether a request counts towards the limit of its caller or address
    secret: bool  # body or response hold a secret, so its idempotency record is sealed and keyed
    path_types: Mapping[str, type]
    query: type[BaseModel] | None
    body: type[BaseModel] | None
    body_optional: bool
    result: Any
    serializer: SchemaSerializer | None  # None: the route answers `RawResponse` or nothing
    is_async: bool

    def run(self, request: Request, body: BaseModel | None = None, prepared: object = None) -> Any:
        """Calls the handler with its declared arguments; returns an awaitable if the handler is async."""
        arguments = dict(request.path_values)
        if self.query is not None:
            arguments["query"] = request.query
        if self.body is not None:
            arguments["body"] = body
        if self.prepare is not None:
            arguments["prepared"] = prepared
        return self.function(request, **arguments)


class Routes:
    """The routes of one capability, in the order of their declaration."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self._routes: list[Route] = []

    def __iter__(self) -> Iterator[Route]:
        return iter(self._routes)

    def get(
        self,
        path: str,
        *,
        scope: Access,
        cache_control: str | None = None,
        limit: Limit | None = None,
        charged: bool = True,
        page: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Declares a read. It also answers HEAD, carries a strong ETag and honours If-None-Match."""
        return self._route(
            "GET", path, scope=scope, status=200, cache_control=cache_control, limit=limit, charged=charged, page=page
        )

    def post(
        self,
        path: str,
        *,
        scope: Access,
        status: int = 200,
        body_limit: int = BODY_LIMIT_BYTES,
        payload: bool = False,
        idempotency: Idempotency = "honoured",
        prepare: Prepare | None = None,
        limit: Limit | None = None,
        charged: bool = True,
        secret: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Declares a write, which honours Idempotency-Key by default."""
        return self._route(
            "POST",
            path,
            scope=scope,
            status=status,
            body_limit=body_limit,
            payload=payload,
            idempotency=idempotency,
            prepare=prepare,
            limit=limit,
            charged=charged,
            secret=secret,
        )

    def put(
        self, path: str, *, scope: Access, status: int = 200, prepare: Prepare | None = None
    ) -> Callable[[Handler], Handler]:
        """Declares an idempotent replacement."""
        return self._route("PUT", path, scope=scope, status=status, prepare=prepare)

    def patch(self, path: str, *, scope: Access, status: int = 200) -> Callable[[Handler], Handler]:
        """Declares a partial update."""
        return self._route("PATCH", path, scope=scope, status=status)

    def delete(self, path: str, *, scope: Access, status: int = 200) -> Callable[[Handler], Handler]:
        """Declares a removal."""
        return self._route("DELETE", path, scope=scope, status=status)

    def _route(
        self,
        method: str,
        path: str,
        *,
        scope: Access,
        status: int,
        body_limit: int = BODY_LIMIT_BYTES,
        payload: bool = False,
        idempotency: Idempotency = "none",
        prepare: Prepare | None = None,
        cache_control: str | None = None,
        limit: Limit | None = None,
        charged: bool = True,
        page: bool = False,
        secret: bool = False,
    ) -> Callable[[Handler], Handler]:
        def declare(function: Handler) -> Handler:
            hints = get_type_hints(function, include_extras=True)
            body = hints.get("body")
            self._routes.append(
                Route(
                    method=method,
                    path=path,
                    tag=self.tag,
                    function=function,
                    needs=requirement_of(scope),
                    status=status,
                    body_limit=body_limit,
                    payload=payload,
                    idempotency=idempotency,
                    prepare=prepare,
                    cache_control=cache_control,
                    limit=limit,
                    page=page,
                    charged=charged,
                    secret=secret,
                    path_types=_path_types(path, hints, function),
                    query=hints.get("query"),
                    body=_model_of(body),
                    body_optional=body is None or NoneType in get_args(body),
                    result=hints["return"],
                    serializer=_serializer(hints["return"]),
                    is_async=inspect.iscoroutinefunction(function),
                )
            )
            return function

        return declare


def _path_types(path: str, hints: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, type]:
    in_path = [name for name, _ in _PARAMETER.findall(path)]
    declared = {name: hint for name, hint in hints.items() if name not in _BY_NAME}
    if sorted(in_path) != sorted(declared) or not set(declared.values()) <= set(PATH_TYPES):
        raise TypeError(
            f"{function.__qualname__} takes {declared} from the path {path}. The names must agree, types be known."
        )
    return {name: declared[name] for name in in_path}


def _model_of(hint: Any) -> type[BaseModel] | None:
    """Returns the model of `Model` or `Model | None`."""
    models = [part for part in (get_args(hint) or (hint,)) if isinstance(part, type) and issubclass(part, BaseModel)]
    return models[0] if models else None


def _serializer(result: Any) -> SchemaSerializer | None:
    return None if result in (RawResponse, NoneType) else TypeAdapter(result).serializer
