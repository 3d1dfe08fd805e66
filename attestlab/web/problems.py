"""Errors as they go out: the envelope of CONTRACT section 1, and the status that belongs to each class.

Never a stack trace: what nobody foresaw is logged with the request id, and the caller
is told only that id.
"""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

from pydantic import Field

from attestlab.core import errors
from attestlab.core.shapes import Out
from attestlab.core.strict_json import format_time
from attestlab.web import logging_setup
from attestlab.web.response import JSON, Response

STATUS_OF: dict[type[errors.AttestLabError], int] = {
    errors.ValidationFailed: 400,
    errors.AuthRequired: 401,
    errors.AuthInvalid: 401,
    errors.BillingLimit: 402,
    errors.QuotaExceeded: 402,
    errors.PermissionDenied: 403,
    errors.TenantIdentityUnverified: 403,
    errors.NotFound: 404,
    errors.MethodNotAllowed: 405,
    errors.Conflict: 409,
    errors.PayloadTooLarge: 413,
    errors.UnsupportedMediaType: 415,
    errors.IdempotencyKeyReused: 422,
    errors.RateLimited: 429,
    errors.AttestLabError: 500,
    errors.Unavailable: 503,
    errors.KeyringMismatch: 503,
}
WWW_AUTHENTICATE = 'ApiKey realm="attestlab", Bearer realm="attestlab"'
_UNFORESEEN = "Something went wrong on our side; the request id names it in our log."


class ErrorEnvelope(Out):
    """Every error of every route; `details.request_id` equals the X-Request-Id header."""

    code: str
    message: str
    http_status: int
    retry_after_ms: int | None = Field(default=None, exclude_if=lambda value: value is None)
    details: dict[str, Any]


def status_of(fault: errors.AttestLabError) -> int:
    """The HTTP status of the nearest class that has one."""
    return next(STATUS_OF[kind] for kind in type(fault).__mro__ if kind in STATUS_OF)


def refusal(fault: errors.AttestLabError, request_id: str) -> Response:
    """The envelope for a foreseen error; one that is our own fault is told as a crash."""
    status = status_of(fault)
    if status == 500:
        return crash(fault, request_id)
    envelope: dict[str, Any] = {"code": fault.code, "message": fault.message, "http_status": status}
    headers = {"Content-Type": JSON}
    if fault.retry_after_s is not None:
        envelope["retry_after_ms"] = math.ceil(fault.retry_after_s * 1000)
        headers["Retry-After"] = str(max(1, math.ceil(fault.retry_after_s)))
    if status == 401:
        headers["WWW-Authenticate"] = WWW_AUTHENTICATE
    if isinstance(fault, errors.MethodNotAllowed):
        headers["Allow"] = ", ".join(fault.allowed)
    envelope["details"] = {**fault.details, "request_id": request_id}
    return Response(status, headers, _json(envelope))


def unreachable(fault: BaseException, request_id: str) -> Response:
    """The records cannot be reached, read or locked now; nothing was changed."""
    logging_setup.repeatedly_failed("records unreachable", fault, request_id=request_id)
    return refusal(errors.Unavailable("The records cannot be reached right now; try again shortly."), request_id)


def crash(fault: BaseException, request_id: str) -> Response:
    """The envelope for what nobody foresaw; the story goes to the log alone."""
    logging_setup.failed(fault, request_id=request_id)
    envelope = {
        "code": "INTERNAL_ERROR",
        "message": _UNFORESEEN,
        "http_status": 500,
        "details": {"request_id": request_id},
    }
    return Response(500, {"Content-Type": JSON}, _json(envelope))


def _json(envelope: dict[str, Any]) -> bytes:
    return json.dumps(envelope, ensure_ascii=False, separators=(",", ":"), default=_plain).encode("utf-8", "replace")


def _plain(value: object) -> str:
    return format_time(value) if isinstance(value, datetime) else str(value)
