"""One request and its answer.

In this order, so that a refusal costs as little as it can and tells nobody more than they may
know: path and method, who is calling, how often, and what they may do, declared length and type
of the body; only then is the body read, and checked; only then does the route run.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable
from functools import partial
from time import perf_counter
from typing import Any

from pydantic import BaseModel
from tornado.iostream import StreamClosedError

from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.db.storage import is_unreachable
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
from attestlab.core.limits.rate_counters import Count
from attestlab.web import problems
from attestlab.web.application import Application, OnBlocked
from attestlab.web.body import reader as body_reader
from attestlab.web.credentials import presented
from attestlab.web.etags import conditional
from attestlab.web.http1.request_body import RequestBody
from attestlab.web.http1.request_head import RequestHead
from attestlab.web.idempotency import keys as idempotency
from attestlab.web.rate_limit.limiter import (
    BLOCK_DURATION_S,
    ClientBlocked,
    OverLimit,
    is_probe,
    lane_of,
    owner_of,
    told_by,
)
from attestlab.web.request import Request, WhenGone
from attestlab.web.response import Response, compose, render
from attestlab.web.routing.authorization import PUBLIC, require_same_tenant
from attestlab.web.routing.routes import Route
from attestlab.web.validation import body_as, query_as

# Attempts to do what one may not do, as opposed to what cannot be done.
DENIALS = (AuthInvalid, PermissionDenied, TenantIdentityUnverified, QuotaExceeded, BillingLimit)
# Those of them that no plan of whoever makes them limits; so their lines are limited by address.
UNPAID = (AuthInvalid, BillingLimit)
# Refusals that are no fault of the request; a body that was read for one costs nothing.
NOT_CHARGED = (RateLimited, BillingLimit, Unavailable)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestHandler:
    """The life of one request, from its head to the bytes of its answer."""

    __slots__ = (
        "_answer",
        "_began",
        "_body",
        "_call",
        "_head",
        "_now",
        "_payer",
        "_peer",
        "_rate",
        "_request_id",
        "_route",
        "_site",
        "_when_gone",
    )

    def __init__(self, site: Application, head: RequestHead, body: RequestBody, peer: str, when_gone: WhenGone) -> None:
        self._site = site
        self._head = head
        self._body = body
        self._when_gone = when_gone
        self._peer = site.limiter.addresses.client(peer, head.headers.get("x-forwarded-for"))
        self._rate: Count | None = None
        self._route: Route | None = None
        self._call: Request | None = None
        self._payer: Any = None  # the caller whose tenant's limits it draws on; None: those of the address
        self._began = perf_counter()
        self._now = site.clock.now()
        sent = head.headers.get("x-request-id", "")
        self._request_id = sent if _REQUEST_ID.fullmatch(sent) else site.new_request_id()

    async def run(self) -> None:
        """Find the answer; an error becomes one too.

        Raises:
            StreamClosedError: the client went away while its body was read.
        """
        await self._settle(self._answered())

    async def refuse(self, fault: AttestLabError) -> None:
        """Answer with an error that came before there was anything to run."""
        await self._settle(self._refused_unseen(fault))

    async def _settle(self, answering: Awaitable[Response]) -> None:
        """Wait for the answer; what goes wrong on the way becomes one, also while a refusal is noted."""
        try:
            self._answer = await self._answered_or_refused(answering)
        except StreamClosedError:
            raise
        except Exception as error:
            answered = problems.unreachable if is_unreachable(error) else problems.crash
            self._answer = answered(error, self._request_id)

    def response(self, *, close: bool) -> bytes:
        """The answer as it goes over the wire; `close` announces that it is the connection's last."""
        try:
            message = self._composed(close=close)
        except ValueError as error:  # a route put a line break into a header
            self._answer = problems.crash(error, self._request_id)
            message = self._composed(close=close)
        self._site.metrics.answered(self._route, self._answer.status, perf_counter() - self._began)
        return message

    async def _answered_or_refused(self, answering: Awaitable[Response]) -> Response:
        try:
            return await answering
        except AttestLabError as error:
            refused = await self._noted(error)
            if isinstance(refused, RateLimited):
                self._rate = told_by(refused, now=self._now)
            return problems.refusal(refused, self._request_id)

    async def _noted(self, fault: AttestLabError) -> AttestLabError:
        """A refusal once it is counted, and told of where it is an attempt that was denied; which may change it."""
        limiter, call = self._site.limiter, self._call
        fault = await self._charged(fault)
        attempt = (fault.attempt if isinstance(fault, NotFound) else None) or fault
        is_told = isinstance(attempt, DENIALS) and call is not None
        if isinstance(attempt, UNPAID):
            failures = await self._site.read(lambda: limiter.failed(self._peer, now=self._now))
            is_told = is_told and failures.allowed
            if isinstance(attempt, AuthInvalid) and not failures.allowed:
                fault = OverLimit(failures, caller=attempt.known)
        if isinstance(fault, OverLimit) and not isinstance(fault, ClientBlocked):
            return await self._violated(fault)
        if is_told and call is not None:
            await self._site.denied(call, attempt)
        return fault

    async def _charged(self, fault: AttestLabError) -> AttestLabError:
        """Charge the address for what was refused of it; where it cannot pay, that is what the answer says."""
        call = self._call
        if call is None or self._payer is not None or is_probe(call.route) or isinstance(fault, NOT_CHARGED):
            return fault
        try:
            rate = await self._site.read(lambda: self._site.limiter.charge_refused(call, body_bytes=self._body.taken))
        except OverLimit as over:
            return over
        self._rate = rate or self._rate
        return fault

    async def _violated(self, fault: OverLimit) -> OverLimit:
        """The violation that is one too many says for how long such requests of the address are blocked by it."""
        limiter = self._site.limiter
        if not await self._site.read(lambda: limiter.violated(self._lane(), now=self._now)):
            return fault
        await self._site.blocked(OnBlocked(self._peer, fault.caller, self._now, self._request_id))
        return OverLimit(fault.count, caller=fault.caller, wait_s=BLOCK_DURATION_S)

    async def _refused_unseen(self, fault: AttestLabError) -> Response:
        """Refuse what no route answers; it costs the address what any request does."""
        await self._site.read(self._charge_stranger)
        raise fault

    def _charge_stranger(self) -> None:
        limiter = self._site.limiter
        limiter.require_unblocked(lane_of(self._peer), now=self._now)
        self._rate = limiter.charge_address(self._peer, now=self._now)

    def _lane(self) -> str:
        return lane_of(self._peer, payer=self._payer, page=self._route is not None and self._route.page)

    async def _answered(self) -> Response:
        head, site = self._head, self._site
        try:
            route, values = site.table.find(head.method, head.path)
        except AttestLabError as error:
            return await self._refused_unseen(error)
        self._route = route
        call = self._call = Request(
            lab=site.lab,
            site=site,
            route=route,
            method=head.method,
            path=head.path,
            path_values=values,
            headers=head.headers,
            peer=self._peer,
            request_id=self._request_id,
            now=self._now,
            when_gone=self._when_gone,
        )
        if not is_probe(route):
            await site.read(self._admit, call)
        if route.method != "GET":
            self._require_readable_body(route)
        call.query = query_as(route.query, head.query)
        if route.method == "GET":
            return await self._read(call)
        return await site.perform(call, await self._checked_body(call))

    def _require_readable_body(self, route: Route) -> None:
        length = self._head.length
        if length == 0:
            return
        body_reader.require_length(length or 0, limit_bytes=route.body_limit, with_payload=route.payload)
        body_reader.require_json(self._head.headers)

    def _admit(self, request: Request) -> None:
        """Find out who is calling, count it, and refuse those who may not; in one go, for it may be in a thread."""
        site, needs = self._site, request.route.needs
        if needs is PUBLIC:
            self._require_unblocked_public(request)
        else:
            self._payer = self._authenticated(request)
            site.limiter.require_unblocked(self._lane(), now=request.now)
        request.rate = site.limiter.charge(request, self._payer)
        if needs is not PUBLIC:
            if site.tenant_header_counts:
                require_same_tenant(request.header("X-Tenant-ID"), request.caller)
            needs.require(request.caller)

    def _authenticated(self, request: Request) -> Any:
        try:
            request.credential = presented(request.headers)
            request.caller = self._site.authenticate(request)
        except (AuthRequired, AuthInvalid):
            self._charge_stranger()
            raise
        return request.caller

    def _require_unblocked_public(self, request: Request) -> None:
        """Let a tenant's request for a public route pass at a blocked address, as one that the tenant pays for."""
        limiter = self._site.limiter
        try:
            limiter.require_unblocked(self._lane(), now=request.now)
        except ClientBlocked as blocked:
            try:
                request.credential = presented(request.headers)
                self._payer = self._site.authenticate(request)
            except (AuthRequired, AuthInvalid):
                raise blocked from None
            limiter.require_unblocked(self._lane(), now=request.now)

    async def _checked_body(self, request: Request) -> BaseModel | None:
        route, aside = request.route, partial(self._site.bodies.run, owner_of(request))
        sent = await body_reader.read(self._body, limit_bytes=route.body_limit, with_payload=route.payload, aside=aside)
        if sent is None:
            if route.body_optional:
                return None
            raise ValidationFailed("A JSON body is required.")
        request.document, request.payload = sent.document, sent.payload
        if route.body is None:
            if sent.document != {}:
                raise ValidationFailed("This route takes no body; send none, or {}.")
            return None
        if not body_reader.is_large(sent):
            return body_as(route.body, sent.text, sent.document)
        body: BaseModel = await aside(_validated, request, route.body, sent)
        return body

    async def _read(self, request: Request) -> Response:
        route = request.route
        result: Any = await (route.run(request) if route.is_async else self._site.read(route.run, request))
        return conditional(render(route, request, result), request.headers.get("if-none-match"))

    def _composed(self, *, close: bool) -> bytes:
        rate = self._rate or (self._call and self._call.rate) or self._site.limiter.untouched(now=self._now)
        return compose(
            self._answer,
            request_id=self._request_id,
            date=self._site.date(self._now),
            rate=rate,
            close=close,
            without_body=self._head.method == "HEAD",
        )


def _validated(request: Request, model: type[BaseModel], sent: body_reader.ParsedBody) -> BaseModel:
    """The body; and, while no other request waits for it, the canonical form that an Idempotency-Key is bound to."""
    body = body_as(model, sent.text, sent.document)
    if idempotency.is_keyed(request):
        request.canonical = canonical(sent.document)
    return body
