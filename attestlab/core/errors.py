"""The tree of errors.

Each class has a stable code (CONTRACT section 1); `web.problems` maps it to an HTTP status.
A message states what is wrong and how to correct it.

    AttestLabError
    +-- ValidationFailed          the input is malformed or not acceptable
    |   +-- MethodNotAllowed
    |   +-- UnsupportedMediaType
    |   +-- NewerFormat           it needs a newer version of this package
    +-- AuthRequired, AuthInvalid the caller is not authenticated
    +-- PermissionDenied          the caller is not authorized for this
    +-- TenantIdentityUnverified  a header names another tenant than the credential does
    +-- QuotaExceeded, BillingLimit, RateLimited
    +-- NotFound
    |   +-- NoInstallation
    +-- Conflict                  the current state does not allow the change
    |   +-- IdempotencyKeyReused
    |   +-- RequestInFlight
    +-- PayloadTooLarge
    +-- Unavailable               nothing was changed; the client may retry
    |   +-- HeadGuardMismatch
    |   +-- Cancelled
    |   +-- WorkAborted           a child process exceeded its limits or died
    +-- MissingExtra              packages are not installed; also an ImportError
    +-- ServiceFailed             another host's service failed, or is no AttestLab service
    +-- IntegrityFailed           stored or presented evidence is not valid
        +-- KeyringMismatch       sealed under another key-encryption key
        +-- NewerEntry            an entry of the log needs a newer version of this package
        +-- SignatureInvalid
        +-- ProofInvalid
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

MAX_REPORTED_ERRORS = 20  # field errors that one response lists


@dataclass(frozen=True)
class FieldError:
    """A problem of one field; `field` is a JSON Pointer into the body, or to a parameter (`/limit`) or header."""

    field: str
    code: str
    message: str

    def append_to(self, sentence: str) -> str:
        """Return `sentence` with the fault after it: where it is, unless the whole document is wrong, and what."""
        return f"{sentence}; {self.field}: {self.message}" if self.field else f"{sentence}: {self.message}"


class AttestLabError(Exception):
    """The root of all errors: a stable `code`, a message for people, `details` for programs."""

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(
        self, message: str, *, details: Mapping[str, object] | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, object] = dict(details or {})
        self.retry_after_s = retry_after_s

    def note_done(self, sentence: str, **counts: int) -> None:
        """Add what was done before the error: a sentence for people, counts in `details` for programs."""
        self.message = f"{self.message} {sentence}"
        self.args = (self.message,)
        self.details |= counts

    @property
    def request_id(self) -> str | None:
        """The id of the request that failed, to quote in a report; None if the error came from no service."""
        request_id = self.details.get("request_id")
        return request_id if isinstance(request_id, str) else None


class ValidationFailed(AttestLabError):
    """The input is malformed or not acceptable.

    `details.fields` lists at most `MAX_REPORTED_ERRORS` field errors, and `details.more_faults` counts the rest.
    The argument `more` counts further errors that are not in `fields`.
    """

    code = "VALIDATION_ERROR"

    def __init__(
        self,
        message: str,
        fields: Sequence[FieldError] = (),
        *,
        details: Mapping[str, object] | None = None,
        more: int = 0,
    ) -> None:
        listed = [{"field": f.field, "code": f.code, "message": f.message} for f in fields[:MAX_REPORTED_ERRORS]]
        more += len(fields) - len(listed)
        counted = {"more_faults": more} if more else {}
        super().__init__(message, details={**(details or {}), "fields": listed, **counted})
        self.fields = tuple(fields)

    @classmethod
    def of(cls, field: str, code: str, message: str) -> Self:
        """Create an error with one problem of one field."""
        return cls(message, [FieldError(field, code, message)])


class MethodNotAllowed(ValidationFailed):
    """The path exists, but not with this HTTP method."""

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not allowed here; use {' or '.join(allowed)}.")
        self.allowed = tuple(allowed)


class UnsupportedMediaType(ValidationFailed):
    """The body, or an image in it, has a media type that this route does not accept."""

    @classmethod
    def of_body(cls, content_type: str, accepted: str) -> Self:
        """Create the error for a body that is declared as `content_type`."""
        return cls(f"Content-Type {content_type!r} is not accepted; send {accepted}.")


class NewerFormat(ValidationFailed):
    """The input has a format that this version does not know, so it can neither confirm nor reject it."""


class AuthRequired(AttestLabError):
    """The route requires a credential and the request has none."""

    code = "AUTH_REQUIRED"

    def __init__(self) -> None:
        super().__init__("Credentials are required: send X-API-Key or Authorization.")


class AuthInvalid(AttestLabError):
    """The credential is malformed, unknown, revoked or expired; one message, so that clients cannot distinguish them.

    `known` is the caller to whom the credential belonged. It is for the audit trail and is never sent to the client.
    """

    code = "AUTH_INVALID"

    def __init__(self, *, known: object = None) -> None:
        super().__init__("The credentials are not valid.")
        self.known = known


class PermissionDenied(AttestLabError):
    """The caller is not authorized for this operation."""

    code = "PERMISSION_DENIED"


class TenantIdentityUnverified(AttestLabError):
    """The header X-Tenant-ID names another tenant than the credential's."""

    code = "TENANT_IDENTITY_UNVERIFIED"

    def __init__(self) -> None:
        super().__init__(
            "X-Tenant-ID does not match the credential's tenant. Omit the header; "
            "the tenant is taken from the credential."
        )


class QuotaExceeded(AttestLabError):
    """A daily or monthly quota of the plan is used up."""

    code = "QUOTA_EXCEEDED"


class BillingLimit(AttestLabError):
    """A limit of the plan, such as the number of issuers, is reached."""

    code = "BILLING_LIMIT"


class RateLimited(AttestLabError):
    """Too many requests in a window of time."""

    code = "RATE_LIMIT_EXCEEDED"

    @classmethod
    def of_limit(cls, message: str, *, limit: int, window_s: int, wait_s: float) -> RateLimited:
        """Create the error for more than `limit` requests in `window_s` seconds; the next is allowed in `wait_s`."""
        details = {"limit": limit, "window_seconds": window_s, "retry_after_seconds": max(1, math.ceil(wait_s))}
        return cls(message, details=details, retry_after_s=wait_s)


class NotFound(AttestLabError):
    """The resource is unknown or belongs to another tenant; the response is the same for both.

    `attempt` is the rejected credential that caused it. It counts as a failed attempt and is never sent to the client.
    """

    code = "NOT_FOUND"

    def __init__(
        self, kind: str, identifier: object, *, attempt: AuthInvalid | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(f"No {kind} {identifier} is known.{f' {remedy}' if remedy else ''}")
        self.attempt = attempt


class Gone(NotFound):
    """The resource was public and is not any more; nothing else will have its address."""

    def __init__(self, kind: str, identifier: object) -> None:
        AttestLabError.__init__(self, f"The {kind} {identifier} was removed.")
        self.attempt = None


class NoInstallation(NotFound):
    """A folder has no installation."""

    def __init__(self, folder: object) -> None:
        AttestLabError.__init__(
            self, f"There is no installation in {folder}. Create one: attestlab init --data {folder}"
        )
        self.attempt = None


class Conflict(AttestLabError):
    """The current state does not allow the change."""

    code = "CONFLICT"


class IdempotencyKeyReused(Conflict):
    """The Idempotency-Key was used with another body."""

    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was used with another body; send a new key.",
            details={"reason": "idempotency_key_reused"},
        )


class RequestInFlight(Conflict):
    """Another request with the same Idempotency-Key is still running."""

    def __init__(self) -> None:
        super().__init__(
            "A request with this Idempotency-Key is still running. Retry in 1 second.",
            details={"reason": "in_flight"},
            retry_after_s=1,
        )


class PayloadTooLarge(AttestLabError):
    """The body, or a part of it, exceeds its limit in bytes."""

    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, limit_bytes: int, scope: str) -> None:
        super().__init__(
            f"The {scope.replace('_', ' ')} exceeds {limit_bytes:,} bytes.",
            details={"limit_bytes": limit_bytes, "scope": scope},
        )


class Unavailable(AttestLabError):
    """The request could not be served and nothing was changed; a retry may succeed."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, message: str, *, details: Mapping[str, object] | None = None, retry_after_s: float = 1) -> None:
        super().__init__(message, details=details, retry_after_s=retry_after_s)


class HeadGuardMismatch(Unavailable):
    """The records hold an older or a different tree than one that was signed before."""


class HeadGuardMissing(HeadGuardMismatch):
    """There is no head guard to compare the records with; `attestlab log accept-head` creates one."""


class Cancelled(Unavailable):
    """Work was stopped because its client disconnected or because it took too long."""


class WorkAborted(Unavailable):
    """Work in a child process exceeded its time, or the process died; the same work may do so again."""


class MissingExtra(AttestLabError, ImportError):
    """Packages are not installed; the message names all of them and has the line that installs them.

    They belong to an extra, or to a plain install (None), which something has damaged.
    """

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, packages: Sequence[str], extra: str | None) -> None:
        *others, last = packages
        named = f"packages {', '.join(others)} and {last} are" if others else f"package {last} is"
        whole = "attestlab" if extra is None else f"'attestlab[{extra}]'"
        remedy = f"Install {'them' if others else 'it'}: pip install {whole}"
        super().__init__(
            f"The {named} not installed. {remedy}",
            details={"reason": "missing_extra", "extra": extra},
        )


class ServiceFailed(AttestLabError):
    """A service failed, answered with a code that this version does not know, or is no AttestLab service.

    `details.code` is the service's own code, if it sent one.
    """


class IntegrityFailed(AttestLabError):
    """Stored or presented evidence is not valid; verification raises this instead of returning a boolean."""


class KeyringMismatch(IntegrityFailed):
    """A secret is sealed under another key-encryption key than the process holds."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, message: str) -> None:
        super().__init__(message, details={"reason": "keyring_mismatch"}, retry_after_s=1)


class NewerEntry(IntegrityFailed):
    """An entry of the log has a version or type that this version does not know."""


class SignatureInvalid(IntegrityFailed):
    """A signature does not match its key and message."""


class ProofInvalid(IntegrityFailed):
    """An inclusion or consistency proof does not match its tree."""
