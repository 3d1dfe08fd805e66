"""Signatures of deliveries: HMAC-SHA256 (RFC 2104) in two schemes, with the same secret.

The scheme of the specification signs `<timestamp>.<body>`; its key is the whole secret as text, and its header is
`X-Service-Signature: t=<timestamp>,v1=<hex>`. Standard Webhooks signs `<id>.<timestamp>.<body>`; its key is the
decoded part of the secret, and its header is `webhook-signature: v1,<base64>`. During the overlap of a rotation a
delivery has one signature for each secret, and a receiver accepts it if any of them is valid.
"""

from __future__ import annotations

import hmac
import secrets as randomness
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Callable, Sequence
from datetime import datetime
from hashlib import sha256

from attestlab.core.errors import ValidationFailed

SECRET_PREFIX = "whsec_"
SECRET_BYTES = 32
MIN_SECRET_BYTES = 16  # of a secret that another tool made; Standard Webhooks asks for 24 to 64
USER_AGENT = "Service-Webhook-Service/1.0"
EVENT_ID_HEADER = "X-Service-Event-Id"
EVENT_TYPE_HEADER = "X-Service-Event-Type"
TIMESTAMP_HEADER = "X-Service-Timestamp"
SIGNATURE_HEADER = "X-Service-Signature"
STANDARD_ID_HEADER = "webhook-id"
STANDARD_TIMESTAMP_HEADER = "webhook-timestamp"
STANDARD_SIGNATURE_HEADER = "webhook-signature"


def new_secret(random_bytes: Callable[[int], bytes] = randomness.token_bytes) -> str:
    """Create the secret of an endpoint: `whsec_` and the standard base64 of 32 random bytes.

    >>> new_secret(bytes)
    'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='
    """
    return SECRET_PREFIX + b64encode(random_bytes(SECRET_BYTES)).decode("ascii")


def decode_secret(secret: str) -> bytes:
    """Decode the key of Standard Webhooks, the base64 part of a secret.

    Raises:
        ValidationFailed: the secret has another form; the message does not repeat it.
    """
    key = b""
    if secret.startswith(SECRET_PREFIX) and secret.isascii():
        try:
            key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except Base64Error:
            key = b""
    if len(key) < MIN_SECRET_BYTES:
        message = (
            f"The secret of a webhook endpoint is {SECRET_PREFIX!r} and the base64 of at least {MIN_SECRET_BYTES} "
            "bytes. Copy the whole secret, as the endpoint's creation or rotation returned it."
        )
        raise ValidationFailed.of("/secret", "secret", message)
    return key


def sign_headers(
    *, event_id: str, event_type: str, body: bytes, secrets: Sequence[str], at: datetime
) -> dict[str, str]:
    """Return all headers of one delivery attempt, signed at `at` with each of `secrets`.

    Raises:
        ValidationFailed: there is no secret, or one is malformed.
    """
    if not secrets:
        raise ValidationFailed.of("/secret", "missing", "A delivery needs a secret to be signed with; pass one.")
    timestamp = str(int(at.timestamp()))
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        EVENT_ID_HEADER: event_id,
        EVENT_TYPE_HEADER: event_type,
        TIMESTAMP_HEADER: timestamp,
        SIGNATURE_HEADER: ",".join([f"t={timestamp}", *(f"v1={sign(each, timestamp, body)}" for each in secrets)]),
        STANDARD_ID_HEADER: event_id,
        STANDARD_TIMESTAMP_HEADER: timestamp,
        STANDARD_SIGNATURE_HEADER: " ".join(f"v1,{sign_standard(each, event_id, timestamp, body)}" for each in secrets),
    }


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Sign a body by the scheme of the specification; returns the HMAC in lowercase hex."""
    return hmac.digest(secret.encode(), b"%b.%b" % (timestamp.encode(), body), sha256).hex()


def sign_standard(secret: str, event_id: str, timestamp: str, body: bytes) -> str:
    """Sign a body by Standard Webhooks; returns the HMAC in standard base64.

    Raises:
        ValidationFailed: the secret is malformed.
    """
    signed = b"%b.%b.%b" % (event_id.encode(), timestamp.encode(), body)
    return b64encode(hmac.digest(decode_secret(secret), signed, sha256)).decode("ascii")
