"""Web origins (RFC 6454) that a tenant allows, so that no person is redirected to an unlisted site."""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from attestlab.core.errors import ValidationFailed

MAX_ORIGINS = 20
MAX_ORIGIN_LENGTH = 200
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\]")
_DEFAULT_PORTS = {"https": 443, "http": 80}


def normalize_origins(sent: Sequence[str], *, allow_loopback: bool) -> list[str]:
    """Normalize origins to one spelling, without duplicates, in their given order.

    With `allow_loopback`, plain http is accepted for the local machine, for tests.

    Raises:
        ValidationFailed: there are too many, or one is not an acceptable origin.
    """
    if len(sent) > MAX_ORIGINS:
        raise ValidationFailed.of("/return_origins", "too_many", f"Too many origins (limit {MAX_ORIGINS}).")
    spelled = [
        normalize_origin(text, f"/return_origins/{place}", allow_loopback=allow_loopback)
        for place, text in enumerate(sent)
    ]
    return list(dict.fromkeys(spelled))


def normalize_origin(text: str, field: str, *, allow_loopback: bool) -> str:
    """Normalize an origin to one spelling; `field` is what an error names.

    Raises:
        ValidationFailed: it is not an acceptable origin.

    >>> normalize_origin("HTTPS://App.example:443", "/origin", allow_loopback=False)
    'https://app.example'
    """
    parts, port = _split(text)
    if parts is not None and (parts.scheme == "https" or (allow_loopback and _is_loopback(parts))):
        host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
        port_suffix = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
        if _HOST.fullmatch(host.lower()):
            return f"{parts.scheme}://{host.lower()}{port_suffix}"
    message = "Invalid origin. Expected https://host or https://host:port without a path; in the sandbox also http://localhost."
    raise ValidationFailed.of(field, "origin", message)


def _split(text: str) -> tuple[SplitResult | None, int | None]:
    """Split text that consists of scheme, host and port only; return None for other text."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # brackets without an address, or a port that is not a number
        return None, None
    is_bare = len(text) <= MAX_ORIGIN_LENGTH and text[len(parts.scheme) :] == f"://{parts.netloc}"
    return (parts, port) if is_bare and port != 0 and parts.hostname else (None, None)


def is_loopback_origin(origin: str) -> bool:
    """Whether an origin is plain http on the local machine.

    >>> is_loopback_origin("http://127.0.0.1:8080"), is_loopback_origin("https://app.example")
    (True, False)
    """
    return _is_loopback(urlsplit(origin))


def _is_loopback(parts: SplitResult) -> bool:
    if parts.scheme != "http":
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
