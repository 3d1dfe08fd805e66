"""Error responses: the envelope of CONTRACT section 1, and the HTTP status of each error class.

A response never contains a stack trace: an unexpected error is logged with the request id, and the client gets only
that id.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Protocol

from pydantic import Field

from attestlab.core import errors
from attestlab.core.encoding import format_time
from attestlab.core.path_prefix import FORWARDED_PREFIX
from attestlab.core.shapes import Out, one_of
from attestlab.web import logging_setup
from attestlab.web.response import HTML, JSON, Response

STATUS_OF: dict[type[errors.AttestLabError], int] = {
    errors.ValidationFailed: 400,
    errors.AuthRequired: 401,
    errors.AuthInvalid: 401,
    errors.BillingLimit: 402,
    errors.QuotaExceeded: 402,
    errors.PermissionDenied: 403,
    errors.TenantIdentityUnverified: 403,
    errors.NotFound: 404,
    errors.Gone: 410,
    errors.MethodNotAllowed: 405,
    errors.Conflict: 409,
    errors.PayloadTooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.IdempotencyKeyReused: 422,
    errors.RateLimited: 429,
    errors.AttestLabError: 500,
    errors.Unavailable: 503,
    errors.KeyringMismatch: 503,
    errors.MissingExtra: 503,
}
WWW_AUTHENTICATE = 'ApiKey realm="attestlab", Bearer realm="attestlab"'
_VARY = f"Accept, {FORWARDED_PREFIX}"  # of an error as a page; from far below it leads back by the prefix
_INTERNAL_ERROR = "Internal error. Quote the request id when you report it."


def list_codes() -> list[str]:
    """List the codes of all errors."""
    return sorted({kind.code for kind in STATUS_OF})


class ErrorEnvelope(Out, wire_name="error", source="CONTRACT 1"):
    """Every error of every route; `details.request_id` equals the X-Request-Id header."""

    code: Annotated[str, one_of(list_codes())]
    """The stable code of the error, for programs. Format: a code of CONTRACT section 1."""
    message: str
    """What is wrong and what to do, for people. Format: text."""
    http_status: int
    """The HTTP status of the response. Format: 400-599."""
    retry_after_ms: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """How long to wait before the next attempt. Format: milliseconds; left out if a retry is no remedy."""
    details: dict[str, object]
    """Details for programs; request_id equals the X-Request-Id header. Format: request_id, and more by code."""


class PageOfError(Protocol):
    """Renders an error as a page for people: its HTML, and the headers that restrict it."""

    def __call__(self, envelope: ErrorEnvelope, /, *, path: str, path_prefix: str) -> HtmlPage: ...


class HtmlPage(Protocol):
    """A finished page."""

    @property
    def body(self) -> bytes:
        """The HTML, in UTF-8."""
        ...

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the page, without its media type."""
        ...


def http_status(error: errors.AttestLabError) -> int:
    """Return the HTTP status of an error."""
    return http_status_of(type(error))


def http_status_of(kind: type[errors.AttestLabError]) -> int:
    """Return the HTTP status of the nearest class in the hierarchy of an error that has one."""
    return next(STATUS_OF[base] for base in kind.__mro__ if base in STATUS_OF)


def error_response(error: errors.AttestLabError, request_id: str) -> Response:
    """Build the envelope of an expected error; an error with status 500 becomes an internal error."""
    status = http_status(error)
    if status == 500:
        return internal_error_response(error, request_id)
    envelope: dict[str, object] = {"code": error.code, "message": error.message, "http_status": status}
    headers = {"Content-Type": JSON}
    if error.retry_after_s is not None:
        envelope["retry_after_ms"] = math.ceil(error.retry_after_s * 1000)
        headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
    if status == 401:
        headers["WWW-Authenticate"] = WWW_AUTHENTICATE
    if isinstance(error, errors.MethodNotAllowed):
        headers["Allow"] = ", ".join(error.allowed)
    envelope["details"] = {**error.details, "request_id": request_id}
    return Response(status, headers, _encode_json(envelope))


def unavailable_response(error: BaseException, request_id: str) -> Response:
    """Build the 503 for a database that cannot be reached, read or locked now; the request changed nothing."""
    logging_setup.log_repeated_failure("records unreachable", error, request_id=request_id)
    return error_response(errors.Unavailable("The database cannot be reached right now. Retry shortly."), request_id)


def internal_error_response(error: BaseException, request_id: str) -> Response:
    """Build the envelope of an unexpected error; its details go to the log only."""
    logging_setup.log_request_failure(error, request_id=request_id)
    envelope = {
        "code": "INTERNAL_ERROR",
        "message": _INTERNAL_ERROR,
        "http_status": 500,
        "details": {"request_id": request_id},
    }
    return Response(500, {"Content-Type": JSON}, _encode_json(envelope))


def page_response(answer: Response, page_of: PageOfError, *, path: str, path_prefix: str) -> Response:
    """Render an error response as a page; status and `Retry-After` stay. If that fails, the envelope is sent."""
    try:
        page = page_of(ErrorEnvelope.model_validate_json(answer.body), path=path, path_prefix=path_prefix)
    except Exception as error:
        logging_setup.log_part_failure(error, part="error page")
        return answer
    return Response(answer.status, {**answer.headers, **page.headers, "Content-Type": HTML, "Vary": _VARY}, page.body)


def _encode_json(envelope: dict[str, object]) -> bytes:
    return json.dumps(envelope, ensure_ascii=False, separators=(",", ":"), default=_encode_value).encode(
        "utf-8", "replace"
    )


def _encode_value(value: object) -> str:
    return format_time(value) if isinstance(value, datetime) else str(value)
