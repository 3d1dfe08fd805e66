"""One request and its answer.

In this order, so that a refusal costs as little as it can and tells nobody more than they may
know: path and method, declared length and type of the body, who is calling and what they may
do; only then is the body read, and checked; only then does the route run.
"""

from __future__ import annotations

import re
from time import perf_counter
from typing import Any

from pydantic import BaseModel
from tornado.iostream import StreamClosedError

from attestlab.core.errors import (
    AttestLabError,
    AuthInvalid,
    BillingLimit,
    PermissionDenied,
    QuotaExceeded,
    ValidationFailed,
)
from attestlab.core.storage import is_unreachable
from attestlab.web import bodies, problems
from attestlab.web.access import PUBLIC
from attestlab.web.answers import Answer, compose, render
from attestlab.web.call import Call
from attestlab.web.credentials import presented
from attestlab.web.etags import conditional
from attestlab.web.http1 import Head
from attestlab.web.incoming import Body
from attestlab.web.routing import Route
from attestlab.web.site import Site
from attestlab.web.validation import body_as, query_as

# Attempts to do what one may not do, as opposed to what cannot be done.
DENIALS = (AuthInvalid, PermissionDenied, QuotaExceeded, BillingLimit)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Exchange:
    """The life of one request, from its head to the bytes of its answer."""

    __slots__ = ("_answer", "_began", "_body", "_call", "_head", "_now", "_peer", "_request_id", "_route", "_site")

    def __init__(self, site: Site, head: Head, body: Body, peer: str) -> None:
        self._site = site
        self._head = head
        self._body = body
        self._peer = peer
        self._route: Route | None = None
        self._call: Call | None = None
        self._began = perf_counter()
        self._now = site.clock.now()
        sent = head.headers.get("x-request-id", "")
        self._request_id = sent if _REQUEST_ID.fullmatch(sent) else site.new_request_id()

    async def run(self) -> None:
        """Find the answer; an error becomes one too.

        Raises:
            StreamClosedError: the client went away while its body was read.
        """
        try:
            self._answer = await self._answered_or_refused()
        except StreamClosedError:
            raise
        except Exception as fault:
            answered = problems.unreachable if is_unreachable(fault) else problems.crash
            self._answer = answered(fault, self._request_id)

    def refuse(self, fault: AttestLabError) -> None:
        """Answer with an error that came before there was anything to run."""
        self._answer = problems.refusal(fault, self._request_id)

    def response(self, *, close: bool) -> bytes:
        """The answer as it goes over the wire; `close` announces that it is the connection's last."""
        try:
            message = self._composed(close=close)
        except ValueError as fault:  # a route put a line break into a header
            self._answer = problems.crash(fault, self._request_id)
            message = self._composed(close=close)
        self._site.metrics.answered(self._route, self._answer.status, perf_counter() - self._began)
        return message

    async def _answered_or_refused(self) -> Answer:
        """An attempt that is denied is told of first; where that fails, it fails as whatever else would."""
        try:
            return await self._answered()
        except AttestLabError as fault:
            if isinstance(fault, DENIALS) and self._call is not None:
                await self._site.denied(self._call, fault)
            return problems.refusal(fault, self._request_id)

    async def _answered(self) -> Answer:
        head, site = self._head, self._site
        route, values = site.table.find(head.method, head.path)
        self._route = route
        call = self._call = Call(
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
        )
        if route.method != "GET":
            self._require_readable_body(route)
        await self._admit(call)
        call.query = query_as(route.query, head.query)
        if route.method == "GET":
            return await self._read(call)
        return await site.perform(call, await self._checked_body(call))

    def _require_readable_body(self, route: Route) -> None:
        length = self._head.length
        if length == 0:
            return
        bodies.require_length(length or 0, limit_bytes=route.body_limit, with_payload=route.payload)
        bodies.require_json(self._head.headers)

    async def _admit(self, call: Call) -> None:
        """Find out who is calling, and refuse those who may not."""
        needs = call.route.needs
        if needs is PUBLIC:
            return
        call.credential = presented(call.headers)
        call.caller = await self._site.read(self._site.authenticate, call)
        needs.require(call.caller)

    async def _checked_body(self, call: Call) -> BaseModel | None:
        route = call.route
        sent = await bodies.read(
            self._body, limit_bytes=route.body_limit, with_payload=route.payload, aside=self._site.aside
        )
        if sent is None:
            if route.body_optional:
                return None
            raise ValidationFailed("A JSON body is required.")
        call.document, call.payload = sent.document, sent.payload
        if route.body is None:
            if sent.document != {}:
                raise ValidationFailed("This route takes no body; send none, or {}.")
            return None
        return body_as(route.body, sent.text)

    async def _read(self, call: Call) -> Answer:
        route = call.route
        result: Any = await (route.run(call) if route.is_async else self._site.read(route.run, call))
        return conditional(render(route, call, result), call.headers.get("if-none-match"))

    def _composed(self, *, close: bool) -> bytes:
        return compose(
            self._answer,
            request_id=self._request_id,
            date=self._site.date(self._now),
            close=close,
            without_body=self._head.method == "HEAD",
        )
