"""The tree of errors.

Each class has the stable code of CONTRACT section 1; the HTTP status that belongs
to it is a table at the edge (`web.problems`). A message carries its remedy.

    AttestLabError
    +-- ValidationFailed          what was sent cannot be understood or accepted
    |   +-- MethodNotAllowed
    |   +-- UnsupportedMediaType
    +-- AuthRequired, AuthInvalid who is calling is not known
    +-- PermissionDenied          who is calling may not do this
    +-- TenantIdentityUnverified  a header names another tenant than the credential does
    +-- QuotaExceeded, BillingLimit, RateLimited
    +-- NotFound
    +-- Conflict                  the state does not allow it
    |   +-- IdempotencyKeyReused
    |   +-- RequestInFlight
    +-- PayloadTooLarge
    +-- Unavailable               nothing was changed; try again
    |   +-- HeadGuardMismatch
    |   +-- Cancelled
    +-- IntegrityFailed           stored or presented evidence does not hold
        +-- KeyringMismatch       sealed under another key-encryption key
        +-- SignatureInvalid
        +-- ProofInvalid
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

MAX_FAULTS = 20  # that one answer lists


@dataclass(frozen=True)
class FieldError:
    """One fault of one field; `field` is a JSON Pointer: into the body, or to a parameter (`/limit`) or header."""

    field: str
    code: str
    message: str


class AttestLabError(Exception):
    """The root: a stable `code`, a message for people, `details` for programs."""

    code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(
        self, message: str, *, details: Mapping[str, object] | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details: dict[str, object] = dict(details or {})
        self.retry_after_s = retry_after_s


class ValidationFailed(AttestLabError):
    """`details.fields` lists at most `MAX_FAULTS` faults, and `details.more_faults` counts the rest.

    `more` counts faults that were found beside `fields` and are not listed there.
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
        listed = [{"field": f.field, "code": f.code, "message": f.message} for f in fields[:MAX_FAULTS]]
        more += len(fields) - len(listed)
        counted = {"more_faults": more} if more else {}
        super().__init__(message, details={**(details or {}), "fields": listed, **counted})
        self.fields = tuple(fields)

    @classmethod
    def of(cls, field: str, code: str, message: str) -> ValidationFailed:
        """One fault of one field."""
        return cls(message, [FieldError(field, code, message)])


class MethodNotAllowed(ValidationFailed):
    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not allowed here; use {' or '.join(allowed)}.")
        self.allowed = tuple(allowed)


class UnsupportedMediaType(ValidationFailed):
    def __init__(self, content_type: str, accepted: str) -> None:
        super().__init__(f"Content-Type {content_type!r} is not accepted; send {accepted}.")


class AuthRequired(AttestLabError):
    code = "AUTH_REQUIRED"

    def __init__(self) -> None:
        super().__init__("Credentials are required: send X-API-Key or Authorization.")


class AuthInvalid(AttestLabError):
    """Malformed, unknown, revoked or expired: one message for all, so that none can be told from another.

    `known` is the caller that the credential once stood for; for the audit trail, never told.
    """

    code = "AUTH_INVALID"

    def __init__(self, *, known: object = None) -> None:
        super().__init__("The credentials are not valid.")
        self.known = known


class PermissionDenied(AttestLabError):
    code = "PERMISSION_DENIED"


class TenantIdentityUnverified(AttestLabError):
    code = "TENANT_IDENTITY_UNVERIFIED"

    def __init__(self) -> None:
        super().__init__("X-Tenant-ID is not the tenant of the credential; leave it out, for the credential says it.")


class QuotaExceeded(AttestLabError):
    code = "QUOTA_EXCEEDED"


class BillingLimit(AttestLabError):
    code = "BILLING_LIMIT"


class RateLimited(AttestLabError):
    code = "RATE_LIMIT_EXCEEDED"

    @classmethod
    def over(cls, message: str, *, limit: int, window_s: int, wait_s: float) -> RateLimited:
        """More than `limit` in `window_s` seconds; the next one may come in `wait_s`."""
        details = {"limit": limit, "window_seconds": window_s, "retry_after_seconds": max(1, math.ceil(wait_s))}
        return cls(message, details=details, retry_after_s=wait_s)


class NotFound(AttestLabError):
    """Unknown, or another tenant's: both answer exactly the same.

    `attempt` is the refused credential behind it; it is counted like any, and never told.
    """

    code = "NOT_FOUND"

    def __init__(self, kind: str, identifier: object, *, attempt: AuthInvalid | None = None) -> None:
        super().__init__(f"No {kind} {identifier} is known.")
        self.attempt = attempt


class Conflict(AttestLabError):
    code = "CONFLICT"


class IdempotencyKeyReused(Conflict):
    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was used with another body; send a new key.",
            details={"reason": "idempotency_key_reused"},
        )


class RequestInFlight(Conflict):
    def __init__(self) -> None:
        super().__init__(
            "A request with this Idempotency-Key is still running; ask again.",
            details={"reason": "in_flight"},
            retry_after_s=1,
        )


class PayloadTooLarge(AttestLabError):
    code = "PAYLOAD_TOO_LARGE"

    def __init__(self, limit_bytes: int, scope: str) -> None:
        super().__init__(
            f"The {scope.replace('_', ' ')} exceeds {limit_bytes:,} bytes.",
            details={"limit_bytes": limit_bytes, "scope": scope},
        )


class Unavailable(AttestLabError):
    """Nothing was changed; the same request may succeed later."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, message: str, *, details: Mapping[str, object] | None = None, retry_after_s: float = 1) -> None:
        super().__init__(message, details=details, retry_after_s=retry_after_s)


class HeadGuardMismatch(Unavailable):
    """The records hold an older or another tree than one that was signed before."""


class HeadGuardMissing(HeadGuardMismatch):
    """There is no head guard to compare the records with; `attestlab log accept-head` makes one."""


class Cancelled(Unavailable):
    """Work that was stopped before its end, because nobody waits for it any more or it took too long."""


class IntegrityFailed(AttestLabError):
    """Evidence does not hold; never shown as a plain boolean."""


class KeyringMismatch(IntegrityFailed):
    """Sealed under another key-encryption key than the one at hand; the process needs the other one."""

    code = "SERVICE_UNAVAILABLE"

    def __init__(self, message: str) -> None:
        super().__init__(message, details={"reason": "keyring_mismatch"}, retry_after_s=1)


class SignatureInvalid(IntegrityFailed):
    pass


class ProofInvalid(IntegrityFailed):
    pass
