"""Calls of the handlers of a request's route, and the response to what they return."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import cast

from pydantic import BaseModel

from attestlab.core.db.transaction import Foreseen, Transaction
from attestlab.web.paging import Page, PageQuery, bind_cursor
from attestlab.web.request import Request
from attestlab.web.response import JSON, RawResponse, Response, StreamedResponse
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.handlers import Handler, RequestParts


def run_read(request: Request) -> object:
    """Call the handler of a read that is not async."""
    return _call(request.route.handler, request)


async def run_async(request: Request, body: BaseModel | None = None) -> object:
    """Await an async handler."""
    return await cast("Awaitable[object]", _call(request.route.handler, request, body=body))


async def prepare_write(request: Request, body: BaseModel | None) -> object:
    """Run the first step of a write, if it has one."""
    prepare = request.route.prepare
    return None if prepare is None else await cast("Awaitable[object]", _call(prepare, request, body=body))


def foresee_write(request: Request, body: BaseModel | None, prepared: object, foreseen: Foreseen) -> None:
    """Name what the second step of a write will read, if its route declares that."""
    foresee = request.route.foresee
    if foresee is not None:
        _call(foresee, request, body=body, prepared=prepared, foreseen=foreseen)


def run_write(tx: Transaction, request: Request, body: BaseModel | None, prepared: object) -> object:
    """Run the second step of a write, in its transaction."""
    return _call(request.route.handler, request, body=body, tx=tx, prepared=prepared)


def finish_write(request: Request, result: object) -> object:
    """Run the third step of a write: return the model of its response."""
    respond = request.route.respond
    return result if respond is None else _call(respond, request, result=result)


def render(request: Request, result: object) -> Response:
    """Render the result of a request's handlers: a model as JSON, `RawResponse` unchanged, None as an empty body."""
    route = request.route
    status, pieces = route.status, None
    if isinstance(result, RawResponse):
        status = result.status or status
        headers, body = {"Content-Type": result.content_type, **result.headers}, result.body
    elif isinstance(result, StreamedResponse):
        headers, body, pieces = {"Content-Type": result.content_type, **result.headers}, b"", result.pieces
    elif route.serializer is None or result is None:
        headers, body = {}, b""
    else:
        headers, body = {"Content-Type": JSON}, route.serializer.to_json(_bind_page(result, request))
    if route.cache_control is not None:
        headers["Cache-Control"] = route.cache_control
    elif route.method == "GET":  # revalidated by ETag; never in a shared cache if it needed a credential
        headers["Cache-Control"] = "no-cache" if route.needs is PUBLIC else "private, no-cache"
    headers.update(request.respond_headers)
    return Response(status, headers, body, pieces)


def _bind_page(result: object, request: Request) -> object:
    """Bind the cursor of a page to the filters of its request."""
    if not isinstance(result, Page) or result.next_cursor is None or not isinstance(request.query, PageQuery):
        return result
    return result.model_copy(update={"next_cursor": bind_cursor(result.next_cursor, request.query)})


def _call(
    handler: Handler,
    request: Request,
    *,
    body: BaseModel | None = None,
    tx: Transaction | None = None,
    foreseen: Foreseen | None = None,
    prepared: object = None,
    result: object = None,
) -> object:
    parts = RequestParts(request, request.query, body, request.caller, tx, foreseen, prepared, result)
    return handler.call(parts, request.path_values)
