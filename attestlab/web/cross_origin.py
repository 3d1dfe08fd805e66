"""Cross-origin requests (Fetch standard, CORS protocol): what anyone may read, any page in a browser may read.

Only public reads take part, and never with credentials: `*` as allowed origin rules them out. Routes that need a
credential send no such header, so a browser gives their responses to no other origin.
"""

from __future__ import annotations

from typing import Final

from attestlab.web.http1.request_head import RequestHead
from attestlab.web.rate_limit.limiter import is_probe
from attestlab.web.response import Response
from attestlab.web.routing.authorization import PUBLIC
from attestlab.web.routing.router import Router
from attestlab.web.routing.routes import Route

_EXPOSED: Final = (
    "ETag, Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Policy"
)
_ANY_ORIGIN: Final = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": _EXPOSED}
_PREFLIGHT: Final = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Headers": "Content-Type, If-None-Match, X-Request-Id",
    "Access-Control-Max-Age": "86400",
}


def is_shared(route: Route) -> bool:
    """Whether pages of any origin may read the route's responses: it is public, and reads.

    `POST /v1/verify` and its like are reads too: they ignore an Idempotency-Key, and no sender signs them.
    """
    reads = route.method == "GET" or (route.idempotency == "none" and not route.signed)
    return route.needs is PUBLIC and reads and not route.secret and not is_probe(route)


def share(route: Route | None, response: Response) -> Response:
    """Allow every origin to read a response of a shared route, an error included."""
    if route is None or not is_shared(route):
        return response
    return response._replace(headers={**response.headers, **_ANY_ORIGIN})


def answer_preflight(router: Router, head: RequestHead) -> Response | None:
    """Answer a browser that asks whether it may send a request to a shared route; None for any other request.

    Raises:
        NotFound, MethodNotAllowed: the path or its method has no route.
    """
    method = head.headers.get("access-control-request-method")
    if head.method != "OPTIONS" or method is None or "origin" not in head.headers:
        return None
    if not is_shared(router.find(method, head.path).route):
        return None
    return Response(204, {**_PREFLIGHT, "Access-Control-Allow-Methods": method}, b"")
