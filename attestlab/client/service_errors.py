"""Errors of a service as errors of this process: the envelope's `code` names the class (CONTRACT section 1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar, cast

from attestlab.core.errors import (
    AttestLabError,
    AuthInvalid,
    AuthRequired,
    BillingLimit,
    Conflict,
    FieldError,
    IdempotencyKeyReused,
    MissingExtra,
    NotFound,
    PayloadTooLarge,
    PermissionDenied,
    QuotaExceeded,
    RateLimited,
    RequestInFlight,
    ServiceFailed,
    TenantIdentityUnverified,
    Unavailable,
    ValidationFailed,
)
from attestlab.core.short_text import shorten

Error = TypeVar("Error", bound=AttestLabError)

_BY_CODE: dict[str, type[AttestLabError]] = {
    error.code: error
    for error in (
        ValidationFailed,
        AuthRequired,
        AuthInvalid,
        PermissionDenied,
        TenantIdentityUnverified,
        QuotaExceeded,
        BillingLimit,
        RateLimited,
        NotFound,
        Conflict,
        PayloadTooLarge,
        Unavailable,
    )
}
_BY_REASON: dict[object, type[AttestLabError]] = {
    "idempotency_key_reused": IdempotencyKeyReused,
    "in_flight": RequestInFlight,
}
_MAX_LINE_CHARACTERS = 120  # of a reason or an address in a message
_MAX_MESSAGE_CHARACTERS = 2_000


class NotSent(Unavailable):
    """No connection was made, so the service has received nothing."""


class LabClosed(Conflict):
    """The lab was closed before."""

    def __init__(self) -> None:
        super().__init__("This lab is closed. Open it again, or use it inside its `with` block.")


class SilentService(Unavailable):
    """The service received the request and did not answer in time; it may still be at work."""


def read_envelope(body: bytes) -> Mapping[str, object] | None:
    """Read an error envelope; None if the body is something else, so that no AttestLab service wrote it."""
    try:
        document = json.loads(body)
    except ValueError:
        return None
    is_envelope = isinstance(document, dict) and isinstance(document.get("code"), str) and "message" in document
    return cast("Mapping[str, object]", document) if is_envelope else None


@contextmanager
def naming_remedy(remedy: str) -> Iterator[None]:
    """Say what to do where the service, which knows no verbs, says only that it does not know an object.

    Raises:
        NotFound: the block did; its message ends with the remedy, unless it has one.
    """
    try:
        yield
    except NotFound as error:
        if not error.message.endswith(" is known."):
            raise
        raise _compose(type(error), f"{error.message} {remedy}", error.details, error.retry_after_s) from None


def build_error(envelope: Mapping[str, object]) -> AttestLabError:
    """Build the error that an envelope describes; a code that this version does not know is a `ServiceFailed`."""
    details = envelope.get("details")
    details = dict(details) if isinstance(details, dict) else {}
    code, message = str(envelope["code"]), str(envelope["message"])[:_MAX_MESSAGE_CHARACTERS]
    kind = _BY_CODE.get(code, ServiceFailed)
    if kind is Unavailable and details.get("reason") == "missing_extra":
        kind = MissingExtra
    if kind is Conflict:
        kind = _BY_REASON.get(details.get("reason"), Conflict)
    if kind is ServiceFailed:
        details["code"] = code
    wait_ms = envelope.get("retry_after_ms")
    return _compose(kind, message, details, wait_ms / 1000 if isinstance(wait_ms, int | float) else None)


def _compose(
    kind: type[Error], message: str, details: Mapping[str, object], retry_after_s: float | None
) -> AttestLabError:
    """Compose an error from the service's own words, past the constructors that write a message themselves."""
    error = kind.__new__(kind)
    AttestLabError.__init__(error, message, details=details, retry_after_s=retry_after_s)
    if isinstance(error, ValidationFailed):
        error.fields = tuple(_read_field_errors(details.get("fields")))
    return error


def _read_field_errors(listed: object) -> Iterator[FieldError]:
    """Read the faults of an envelope that have their three texts."""
    for fault in listed if isinstance(listed, list) else ():
        match fault:
            case {"field": str(field), "code": str(code), "message": str(message)}:
                yield FieldError(field, code, message)


def find_remedy(error: Exception) -> str:
    """Say what to do where a connection failed."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "Check the address; if its authority is yours, set SSL_CERT_FILE to the file of that authority."
    return "Start it (`attestlab serve`), or check the address."


def name_reason(error: Exception) -> str:
    """Name the reason of a failure, in at most a line."""
    return fit_line(str(error) or type(error).__name__).rstrip(".")


def fit_line(text: str) -> str:
    """Cut a reason or an address to what a message has room for."""
    return shorten(text, _MAX_LINE_CHARACTERS)
