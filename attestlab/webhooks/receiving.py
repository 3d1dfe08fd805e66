"""The receiver's side of webhooks: verifies a delivery, and returns its event.

Either scheme of `signatures` is sufficient. The body that was signed is the one that was received, so it is verified
as bytes, before any parser reads it.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import NamedTuple, Protocol, cast

from attestlab.core.encoding import parse_time
from attestlab.core.errors import SignatureInvalid, ValidationFailed
from attestlab.core.strict_json import parse_json
from attestlab.webhooks.signatures import (
    SIGNATURE_HEADER,
    STANDARD_ID_HEADER,
    STANDARD_SIGNATURE_HEADER,
    STANDARD_TIMESTAMP_HEADER,
    decode_secret,
    sign,
    sign_standard,
)

TIMESTAMP_TOLERANCE_S = 300.0
MAX_SIGNATURES = 16  # that one header is searched for; a rotation needs two
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)
_READ_HEADERS = frozenset(
    name.lower()
    for name in (SIGNATURE_HEADER, STANDARD_ID_HEADER, STANDARD_TIMESTAMP_HEADER, STANDARD_SIGNATURE_HEADER)
)

_WSGI_PREFIX = "http_"  # of a header's name in an environ (PEP 3333)


class HeaderMapping(Protocol):
    """What a framework has for headers: `items()` gives names, and values or lists of values."""

    def items(self) -> Iterable[tuple[str | bytes, object]]:
        """Return the names and values."""
        ...


Headers = HeaderMapping | Iterable[tuple[str | bytes, object]]


@dataclass(frozen=True, slots=True)
class WebhookEvent:
    """A verified event. `id` is the same in every attempt: process an event once, and ignore repetitions."""

    id: str
    type: str
    created_at: datetime
    data: dict[str, object] = field(repr=False)


class _Claim(NamedTuple):
    """What a request claims in one scheme: when it was signed, what was signed, and its signatures."""

    timestamp: str
    event_id: str | None  # None in the scheme of the specification, which does not sign it
    signatures: Sequence[str]

    def sign(self, secret: str, body: bytes) -> str:
        if self.event_id is None:
            return sign(secret, self.timestamp, body)
        return sign_standard(secret, self.event_id, self.timestamp, body)


def verify(
    headers: Headers,
    body: bytes,
    secret: str | Sequence[str],
    *,
    tolerance: float = TIMESTAMP_TOLERANCE_S,
    now: datetime | None = None,
) -> WebhookEvent:
    """Verify the signature and timestamp of a delivery, and return its event.

    Answer 400 when it raises `SignatureInvalid`, and any 2xx status when the event is stored.

    Args:
        headers: of the request, in any case: a mapping or other object with `items()`, a WSGI environ, or pairs of
            name and value. Of a list of values, the last one counts.
        body: of the request, exactly the bytes that were received.
        secret: of the endpoint, `whsec_...`; several while a rotation overlaps.
        tolerance: seconds that the timestamp may be older or newer than now.
        now: an aware time; the system's clock when left out.

    Raises:
        SignatureInvalid: no signature is valid, the timestamp is outside the tolerance, or the body is no event.
        ValidationFailed: an argument has the wrong type or form.

    >>> from datetime import UTC, datetime
    >>> from attestlab.webhooks import verify
    >>> secret = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    >>> body = b'{"id":"evt-1","type":"webhook.test","created_at":"2026-01-02T03:04:05Z","data":{"status":"ok"}}'
    >>> digest = "082223d953febc651664c4cd5121d2dfbbfc9b24493a0d709dc47ceaee4a2722"
    >>> headers = {"X-Service-Signature": f"t=1767323045,v1={digest}"}
    >>> event = verify(headers, body, secret, now=datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC))
    >>> event.type, event.data
    ('webhook.test', {'status': 'ok'})
    """
    secrets = _require_secrets(secret)
    _require_bytes(body)
    current = _require_aware(now)
    _require_tolerance(tolerance)
    claims = list(_claims_of(_select(headers)))
    if not claims:
        raise SignatureInvalid(
            f"The request has no signature: neither {SIGNATURE_HEADER} nor {STANDARD_SIGNATURE_HEADER} "
            "has a timestamp and a v1 signature. Pass all headers of the request as they were received."
        )
    received = bytes(body)
    valid = [claim for claim in claims if _is_signed(claim, received, secrets)]
    if not valid:
        raise SignatureInvalid(
            "No signature matches the body and the secret. Pass the body as bytes before any parser or middleware "
            "changes it, and the secret of this endpoint."
        )
    _require_recent(valid, current, tolerance)
    return _parse_event(received)


def _claims_of(headers: Mapping[str, str]) -> Iterator[_Claim]:
    """Parse the signatures of both schemes; those that are malformed claim nothing."""
    parts = [part.strip().partition("=") for part in headers.get(SIGNATURE_HEADER.lower(), "").split(",")]
    times = [value for name, _, value in parts if name == "t"]
    signatures = [value for name, _, value in parts if name == "v1"]
    if len(times) == 1 and _TIMESTAMP.fullmatch(times[0]) and signatures:
        yield _Claim(times[0], None, signatures[:MAX_SIGNATURES])
    event_id = headers.get(STANDARD_ID_HEADER, "")
    timestamp = headers.get(STANDARD_TIMESTAMP_HEADER, "")
    pairs = [pair.partition(",") for pair in headers.get(STANDARD_SIGNATURE_HEADER, "").split()]
    signatures = [value for version, _, value in pairs if version == "v1"]
    if event_id and event_id.isascii() and _TIMESTAMP.fullmatch(timestamp) and signatures:
        yield _Claim(timestamp, event_id, signatures[:MAX_SIGNATURES])


def _is_signed(claim: _Claim, body: bytes, secrets: Sequence[str]) -> bool:
    """Whether one of the signatures was made with one of the secrets; compares all, each in constant time."""
    expected = [claim.sign(secret, body).encode() for secret in secrets]
    shown = [signature.encode("utf-8", "replace") for signature in claim.signatures]
    matches = [hmac.compare_digest(mine, theirs) for mine in expected for theirs in shown]
    return any(matches)


def _require_recent(claims: Sequence[_Claim], now: datetime, tolerance: float) -> None:
    age_s = min((now.timestamp() - int(claim.timestamp) for claim in claims), key=abs, default=inf)
    if abs(age_s) > tolerance:
        direction = "old" if age_s > 0 else "in the future"
        raise SignatureInvalid(
            f"The timestamp is {abs(age_s):.0f} seconds {direction}; the limit is {tolerance:g}. If this is not a "
            "repeated request, synchronize this machine's clock (NTP)."
        )


def _parse_event(body: bytes) -> WebhookEvent:
    try:
        envelope = parse_json(body)
        members = cast("dict[str, object]", envelope if isinstance(envelope, dict) else {})
        identifier, kind, data = members.get("id"), members.get("type"), members.get("data")
        if not (isinstance(identifier, str) and isinstance(kind, str) and isinstance(data, dict)):
            raise SignatureInvalid("The signed body is no event: it needs the members id, type, created_at and data.")
        return WebhookEvent(identifier, kind, parse_time(str(members.get("created_at"))), data)
    except ValidationFailed as error:
        raise SignatureInvalid(f"The signed body is no event: {error.message}") from error


def _select(headers: Headers) -> dict[str, str]:
    """Select the headers that are read, by lowercase name.

    Raises:
        ValidationFailed: these are no headers.
    """
    try:
        pairs = headers.items() if hasattr(headers, "items") else headers
        named = [(_header_name(name), value) for name, value in pairs]
        return {name: _header_value(value) for name, value in named if name in _READ_HEADERS}
    except (TypeError, ValueError, AttributeError) as error:
        message = f"Headers are a mapping of names to values, or pairs of both; {type(headers).__name__} is neither."
        raise ValidationFailed.of("/headers", "type", message) from error


def _header_name(name: str | bytes) -> str:
    """Return a header's name in lowercase; that of a WSGI environ has a prefix, and underscores.

    >>> _header_name("HTTP_X_SERVICE_SIGNATURE"), _header_name(b"X-Service-Signature")
    ('x-service-signature', 'x-service-signature')
    """
    text = _text(name).lower()
    return text.removeprefix(_WSGI_PREFIX).replace("_", "-") if text.startswith(_WSGI_PREFIX) else text


def _header_value(value: object) -> str:
    """Return a header's value, or the last one of several; none is an empty text."""
    if isinstance(value, list | tuple):
        value = value[-1] if value else ""
    return _text(value)


def _text(value: object) -> str:
    """Decode a header's name or value, which ASGI servers give as bytes.

    Raises:
        TypeError: it is no text.
    """
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if not isinstance(value, str):
        raise TypeError
    return str.__str__(value)


def _require_secrets(secret: object) -> tuple[str, ...]:
    secrets = (secret,) if isinstance(secret, str) else secret
    if not isinstance(secrets, Sequence) or not secrets or not all(isinstance(each, str) for each in secrets):
        message = f"The secret is a text that begins with whsec_, or a list of them, not {type(secret).__name__}."
        raise ValidationFailed.of("/secret", "type", message)
    for each in secrets:
        decode_secret(each)
    return tuple(secrets)


def _require_bytes(body: object) -> None:
    if not isinstance(body, bytes | bytearray | memoryview):
        message = (
            f"The body is the bytes of the request as they were received, not {type(body).__name__}: a parsed or "
            "decoded body may differ from the signed one. In Tornado it is request.body, in Flask request.get_data()."
        )
        raise ValidationFailed.of("/body", "type", message)


def _require_aware(now: object) -> datetime:
    if now is None:
        return datetime.now(UTC)
    if not isinstance(now, datetime) or now.utcoffset() is None:
        message = f"now is a datetime with a UTC offset, such as datetime.now(UTC), not {str(now)[:40]!r}."
        raise ValidationFailed.of("/now", "time", message)
    return now


def _require_tolerance(tolerance: object) -> None:
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 <= tolerance < inf:
        message = f"The tolerance is a number of seconds from 0, such as 300, not {str(tolerance)[:40]!r}."
        raise ValidationFailed.of("/tolerance", "range", message)
