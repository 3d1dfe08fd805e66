"""Handles one request and produces its response.

The order keeps a rejection cheap and discloses no more than the client may know: path and method, authentication,
rate limits, authorization, the body's declared length and type. Only then is the body read and validated, and only
then does the route run.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable
from functools import partial
from time import perf_counter
from typing import cast

from pydantic import BaseModel
from tornado.iostream import StreamClosedError

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.unreachable import is_unreachable
from attestlab.core.errors import (
    AttestLabError,
    AuthInvalid,
    AuthRequired,
    BillingLimit,
    NotFound,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    TenantIdentityUnverified,
    Unavailable,
    ValidationFailed,
)
from attestlab.core.execution.worker_processes import OnDisconnect
from attestlab.core.limits.rate_counters import Count
from attestlab.web import content_coding, cross_origin, problems
from attestlab.web.application import Application, BlockedClient
from attestlab.web.body import reader as body_reader
from attestlab.web.body.form import find_boundary
from attestlab.web.etags import apply_if_none_match
from attestlab.web.http1.request_body import RequestBody
from attestlab.web.http1.request_head import RequestHead
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.media_types import prefers_html
from attestlab.web.paging import PageQuery, release_cursor
from attestlab.web.path_prefix import place_below
from attestlab.web.rate_limit.limiter import (
    BLOCK_DURATION_S,
    ClientBlocked,
    OverLimit,
    is_probe,
    lane_of,
    limit_for,
    owner_of,
)
from attestlab.web.request import Request, extract_credential, has_credential
from attestlab.web.response import Response, compose
from attestlab.web.routing import calls
from attestlab.web.routing.authorization import PUBLIC, WebCaller, require_same_tenant
from attestlab.web.routing.routes import Route
from attestlab.web.validation import validate_body, validate_query

# Attempts at something that the caller may not do, as opposed to something that is impossible.
DENIALS = (AuthInvalid, PermissionDenied, TenantIdentityUnverified, QuotaExceeded, BillingLimit)
# Denials that no plan of the caller limits; their audit entries are limited by address instead.
UNPAID = (AuthInvalid, BillingLimit)
# Errors that the request did not cause; a body that was read before such an error is not charged.
NOT_CHARGED = (RateLimited, BillingLimit, Unavailable)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestHandler:
    """One request, from its head to the bytes of its response."""

    __slots__ = (
        "_application",
        "_body",
        "_head",
        "_is_from_service",
        "_now",
        "_on_disconnect",
        "_path_prefix",
        "_payer",
        "_peer",
        "_rate",
        "_request",
        "_request_id",
        "_response",
        "_route",
        "_started_at",
    )

    def __init__(
        self, application: Application, head: RequestHead, body: RequestBody, peer: str, on_disconnect: OnDisconnect
    ) -> None:
        application.executor.requests.received += 1
        self._application = application
        self._head = head
        self._body = body
        self._on_disconnect = on_disconnect
        self._is_from_service = not peer
        self._peer = application.limiter.addresses.client(peer, head.headers.get("x-forwarded-for"))
        self._path_prefix = application.path_prefixes.resolve(peer, head.headers.get("x-forwarded-prefix"))
        self._rate: Count | None = None
        self._route: Route | None = None
        self._request: Request | None = None
        self._payer: WebCaller | None = None  # the caller whose tenant is charged; None: the address is charged
        self._started_at = perf_counter()
        self._now = application.clock.now()
        sent = head.headers.get("x-request-id", "")
        self._request_id = sent if _REQUEST_ID.fullmatch(sent) else application.new_request_id()

    async def run(self) -> None:
        """Produce the response; an error becomes an error response.

        Raises:
            StreamClosedError: the client disconnected while its body was read.
        """
        with self._application.executor.requests.count():
            await self._await_response(self._respond())

    async def reject(self, error: AttestLabError) -> None:
        """Respond with an error that occurred before a route could run."""
        await self._await_response(self._reject_unrouted(error))

    async def _await_response(self, answering: Awaitable[Response]) -> None:
        """Await the response; an unexpected error becomes one too, even if it occurs while an error is recorded."""
        try:
            self._response = await self._respond_or_reject(answering)
        except StreamClosedError:
            raise
        except AttestLabError as error:  # such as a full disk, on which no denied attempt can be recorded
            self._response = self._for_browsers(problems.error_response(error, self._request_id))
        except Exception as error:
            answered = problems.unavailable_response if is_unreachable(error) else problems.internal_error_response
            self._response = self._for_browsers(answered(error, self._request_id))

    def take_pieces(self) -> AsyncGenerator[bytes] | None:
        """Return the pieces of a streamed response's body, which the connection sends after `response`."""
        return None if self._head.method == "HEAD" else self._response.pieces

    def response(self, *, close: bool) -> bytes:
        """Return the response's bytes; `close` announces that the server closes the connection after it."""
        try:
            message = self._compose(close=close)
        except ValueError as error:  # a route put a line break into a header
            self._response = problems.internal_error_response(error, self._request_id)
            message = self._compose(close=close)
        self._application.metrics.count_response(self._route, self._response.status, perf_counter() - self._started_at)
        return message

    async def _respond_or_reject(self, answering: Awaitable[Response]) -> Response:
        try:
            return await answering
        except AttestLabError as error:
            refused = await self._record_error(error)
            if isinstance(refused, RateLimited):
                self._rate = limit_for(refused, now=self._now)
            return self._for_browsers(problems.error_response(refused, self._request_id))

    def _for_browsers(self, answer: Response) -> Response:
        """Render an error as a page if the client prefers HTML, as browsers do."""
        page_of = self._application.page_of_error
        if page_of is None or not prefers_html(self._head.headers.get("accept")):
            return answer
        return problems.page_response(answer, page_of, path=self._head.path, path_prefix=self._path_prefix)

    async def _record_error(self, error: AttestLabError) -> AttestLabError:
        """Count a rejected request and record a denied attempt.

        Returns the error to send, which may be another one.
        """
        limiter, call = self._application.limiter, self._request
        error = await self._charge_error(error)
        attempt = (error.attempt if isinstance(error, NotFound) else None) or error
        is_recorded = isinstance(attempt, DENIALS) and call is not None
        if isinstance(attempt, UNPAID):
            failures = await self._application.executor.read(lambda: limiter.count_failure(self._peer, now=self._now))
            is_recorded = is_recorded and failures.allowed
            if isinstance(attempt, AuthInvalid) and not failures.allowed:
                error = OverLimit(failures, caller=cast("WebCaller | None", attempt.known))
        if isinstance(error, OverLimit) and not isinstance(error, ClientBlocked):
            return await self._record_violation(error, is_guess=isinstance(attempt, AuthInvalid))
        if is_recorded and call is not None:
            await self._application.on_denied(call, attempt)
        return error

    async def _charge_error(self, error: AttestLabError) -> AttestLabError:
        """Charge a rejected request to the client's address.

        Returns the error to send: `OverLimit` if the address has exhausted its limit.
        """
        call = self._request
        if call is None or self._payer is not None or is_probe(call.route) or isinstance(error, NOT_CHARGED):
            return error
        try:
            rate = await self._application.executor.read(
                lambda: self._application.limiter.charge_refused(call, body_bytes=self._body.bytes_read)
            )
        except OverLimit as over:
            return over
        self._rate = rate or self._rate
        return error

    async def _record_violation(self, error: OverLimit, *, is_guess: bool) -> OverLimit:
        """Count a violation; the one that reaches the limit blocks the lane, and its error states for how long."""
        limiter, wait_s = self._application.limiter, error.retry_after_s or 0.0

        def record() -> bool:
            return limiter.record_violation(self._lane(), wait_s=wait_s, now=self._now, is_guess=is_guess)

        if not await self._application.executor.read(record):
            return error
        await self._application.on_blocked(BlockedClient(self._peer, error.caller, self._now, self._request_id))
        return OverLimit(error.count, caller=error.caller, wait_s=BLOCK_DURATION_S)

    async def _reject_unrouted(self, error: AttestLabError) -> Response:
        """Reject a request that no route matches; it costs the address as much as any other request."""
        await self._application.executor.read(self._charge_address)
        raise error

    def _charge_address(self) -> None:
        limiter = self._application.limiter
        limiter.require_unblocked(lane_of(self._peer), now=self._now)
        self._rate = limiter.charge_address(self._peer, now=self._now)

    def _lane(self) -> str:
        return lane_of(self._peer, payer=self._payer, page=self._route is not None and self._route.page)

    async def _respond(self) -> Response:
        head, application = self._head, self._application
        try:
            preflight = cross_origin.answer_preflight(application.router, head)
            if preflight is not None:
                await application.executor.read(self._charge_address)
                return preflight
            route, values = application.router.find(head.method, head.path)
        except AttestLabError as error:
            return await self._reject_unrouted(error)
        self._route = route
        call = self._request = Request(
            route=route,
            method=head.method,
            path=head.path,
            path_values=values,
            headers=head.headers,
            peer=self._peer,
            path_prefix=self._path_prefix,
            request_id=self._request_id,
            now=self._now,
            on_disconnect=self._on_disconnect,
            is_from_service=self._is_from_service,
        )
        if not is_probe(route):
            await application.executor.read_shared(self._admit, call)
        if route.method != "GET":
            self._require_readable_body(route)
        query = validate_query(route.query, head.query)
        call.query = release_cursor(query) if isinstance(query, PageQuery) else query
        if route.method == "GET":
            return await self._run_read(call)
        waiting = application.executor.requests
        with waiting.leave_out():
            body = await self._read_body(call)
        with waiting.leave_out(is_left_out=route.is_async):
            answer = await application.execute_write(call, body)
        answer, as_gzip = content_coding.negotiate(route, answer, call.header("Accept-Encoding"))
        return await self._compress(call, answer) if as_gzip else answer

    def _require_readable_body(self, route: Route) -> None:
        length = self._head.length
        if length == 0:
            return
        body_reader.require_length(length or 0, limit_bytes=route.body_limit, member=route.large_member)
        body_reader.require_media_type(self._head.headers, route.body_type, form=route.form_part is not None)

    def _admit(self, request: Request) -> None:
        """Authenticate the caller, charge the request and check authorization.

        All of it is one call, because it may run in a thread.
        """
        application, needs = self._application, request.route.needs
        if needs is PUBLIC or (needs.or_else is not None and not has_credential(request.headers)):
            self._require_unblocked_public(request)
            request.rate = application.limiter.charge(request, self._payer)
            return
        caller = self._payer = self._authenticate(request)
        application.limiter.require_unblocked(self._lane(), now=request.now)
        request.rate = application.limiter.charge(request, caller)
        if application.checks_tenant_header:
            require_same_tenant(request.header("X-Tenant-ID"), caller)
        needs.require(caller)

    def _authenticate(self, request: Request) -> WebCaller:
        try:
            request.credential = extract_credential(request.headers)
            caller = request.caller = self._application.authenticate(request)
        except (AuthRequired, AuthInvalid):
            self._charge_address()
            raise
        return caller

    def _require_unblocked_public(self, request: Request) -> None:
        """Admit a tenant's authenticated request for a public route from a blocked address, charged to the tenant."""
        limiter = self._application.limiter
        try:
            limiter.require_unblocked(self._lane(), now=request.now)
        except ClientBlocked as blocked:
            try:
                request.credential = extract_credential(request.headers)
                self._payer = self._application.authenticate(request)
            except (AuthRequired, AuthInvalid):
                raise blocked from None
            limiter.require_unblocked(self._lane(), now=request.now)

    async def _read_body(self, request: Request) -> BaseModel | None:
        route, bodies, owner = request.route, self._application.executor.bodies, owner_of(request)
        run_in_thread = partial(bodies.run, owner)
        if route.is_unparsed:
            request.unparsed = await body_reader.read_unparsed(self._body, limit_bytes=route.body_limit)
            request.canonical = request.unparsed
            return None
        sent = await self._read_sent(route, run_in_thread)
        if sent is None:
            if route.body_optional:
                return None
            raise ValidationFailed.of("", "missing", "A JSON body is required.")
        request.document, request.payload = sent.document, sent.payload
        if route.body is None:
            if sent.document != {}:
                raise ValidationFailed.of("", "unexpected", "This route takes no body; send none, or {}.")
            return None
        if not body_reader.is_large(sent):
            return validate_body(route.body, sent.text, sent.document)
        return await bodies.run(owner, _validate_large_body, request, route.body, sent)

    async def _read_sent(self, route: Route, run_in_thread: body_reader.RunInThread) -> body_reader.ParsedBody | None:
        """Read a JSON body, or a form that stands for one."""
        member = route.large_member
        if route.web_form:
            return await body_reader.read_web_form(
                self._body, limit_bytes=route.body_limit, run_in_thread=run_in_thread
            )
        if route.form_part is not None and member is not None:
            boundary = find_boundary(self._head.headers.get("content-type", ""))
            if boundary is not None:
                return await body_reader.read_form(
                    self._body, boundary, json_part=route.form_part, member=member, run_in_thread=run_in_thread
                )
        return await body_reader.read_body(
            self._body, limit_bytes=route.body_limit, member=member, run_in_thread=run_in_thread
        )

    async def _run_read(self, request: Request) -> Response:
        route = request.route
        if route.is_async:
            with self._application.executor.requests.leave_out():
                result = await calls.run_async(request)
        else:
            result = await self._application.executor.read(calls.run_read, request)
        answer = calls.render(request, result)
        if answer.pieces is not None:  # its tag would be known at its end only
            return answer
        answer, as_gzip = content_coding.negotiate(route, answer, request.header("Accept-Encoding"))
        suffix = content_coding.TAG_SUFFIX if as_gzip else ""
        answer = apply_if_none_match(answer, request.header("If-None-Match"), suffix=suffix)
        return await self._compress(request, answer) if as_gzip and answer.body else answer

    async def _compress(self, request: Request, answer: Response) -> Response:
        """Compress a body, a large one in a thread, so that the event loop stays free."""
        compress = content_coding.compress_once if request.route.fixed else content_coding.compress
        if len(answer.body) <= content_coding.INLINE_BYTES or content_coding.is_kept(answer.body):
            return compress(answer)
        return await self._application.executor.bodies.run(owner_of(request), compress, answer)

    def _compose(self, *, close: bool) -> bytes:
        rate = (
            self._rate or (self._request and self._request.rate) or self._application.limiter.full_bucket(now=self._now)
        )
        return compose(
            cross_origin.share(self._route, place_below(self._response, self._path_prefix)),
            request_id=self._request_id,
            date=self._application.date_header(self._now),
            rate=rate,
            close=close,
            without_body=self._head.method == "HEAD",
            chunked=self._head.takes_chunks,
        )


def _validate_large_body(request: Request, model: type[BaseModel], sent: body_reader.ParsedBody) -> BaseModel:
    """Validate the body, and compute the canonical form that an Idempotency-Key is bound to.

    The canonical form is computed in this thread so that the event loop stays free.
    """
    body = validate_body(model, sent.text, sent.document)
    if idempotency.is_keyed(request):
        request.canonical = canonical(sent.document)
    return body
