"""Web origins (RFC 6454) that a tenant lists, so that nobody is sent back to where it did not say."""

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
    """The origins in their one spelling, each once, in the order in which they came.

    With `allow_loopback` plain http is accepted of this very machine, for trying out.

    Raises:
        ValidationFailed: there are too many, or one is no origin that may be listed.
    """
    if len(sent) > MAX_ORIGINS:
        raise ValidationFailed.of("/return_origins", "too_many", f"At most {MAX_ORIGINS} origins can be listed.")
    spelled = [_normalize_origin(text, f"/return_origins/{place}", allow_loopback) for place, text in enumerate(sent)]
    return list(dict.fromkeys(spelled))


def _normalize_origin(text: str, field: str, allow_loopback: bool) -> str:
    parts, port = _split(text)
    if parts is not None and (parts.scheme == "https" or (allow_loopback and _is_loopback(parts))):
        host = parts.netloc.rpartition(":")[0] if port is not None else parts.netloc
        shown = "" if port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{port}"
        if _HOST.fullmatch(host.lower()):
            return f"{parts.scheme}://{host.lower()}{shown}"
    message = "An origin is https://host or https://host:port, without a path; in the sandbox also http://localhost."
    raise ValidationFailed.of(field, "origin", message)


def _split(text: str) -> tuple[SplitResult | None, int | None]:
    """The parts of what is scheme, host and port and nothing else; None where it is not."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:  # brackets without an address in them, a port that is no number
        return None, None
    is_bare = len(text) <= MAX_ORIGIN_LENGTH and text[len(parts.scheme) :] == f"://{parts.netloc}"
    return (parts, port) if is_bare and port != 0 and parts.hostname else (None, None)


def _is_loopback(parts: SplitResult) -> bool:
    if parts.scheme != "http":
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False
