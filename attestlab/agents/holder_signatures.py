"""Signatures that only the holder of an agent's own key can make: the service proposes, the holder signs and returns.

A request without the signature is answered with 400 and the exact text to sign; the next one brings the JWS. So do
statements, delegations and votes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from attestlab.core.errors import ValidationFailed

FIELD: Final = "/signature"
MAX_AGE: Final = timedelta(minutes=5)  # between what the service proposed and the signature


def refuse_superfluous(name: str) -> ValidationFailed:
    """Build the error for a member that only the holder of an own key sends."""
    message = f"{name} is only for agents with a key of their own; the service signs with this key. Omit it."
    return ValidationFailed.of(f"/{name}", "external_only", message)


def ask_for_signature(signing_input: str, what: str, **proposed: object) -> ValidationFailed:
    """Build the error that gives the holder of an own key the exact text to sign; `what` is what it then sends."""
    message = f"The agent's key is its own: sign details.signing_input_b64url within five minutes, then send {what}."
    error = ValidationFailed.of(FIELD, "signature_required", message)
    error.details |= {"signing_input_b64url": signing_input, **proposed}
    return error


def refuse_signature(of: str, reason: str = "") -> ValidationFailed:
    """Build the error for a signature that is not that of the agent's key over this document."""
    message = f"The signature is not that of the agent's key over this {of}. {reason}".rstrip()
    return ValidationFailed.of(FIELD, "signature_invalid", message)


def require_recent(iat: float, *, now: datetime, field: str = FIELD) -> None:
    """Require that a holder signed within five minutes of the service's time; `iat` is in seconds since 1970.

    Raises:
        ValidationFailed: the signed time is further away.
    """
    age_s = abs(now.timestamp() - iat)
    if age_s > MAX_AGE.total_seconds():
        message = (
            f"The signed iat differs from the service's time by {age_s:.0f} s; at most 300 s are allowed. "
            "Ask again what to sign."
        )
        raise ValidationFailed.of(field, "not_recent", message)
