"""Origins of forms (RFC 6454): browsers add `Origin` to every POST (Fetch standard, section 3.2).

A form that a person sends with a session, or with a token, counts only if a page of this installation sent it. A proxy
may replace `Host`, so the origin of the portal's URL is ours, too.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import urlsplit

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


class PageOrigin(NamedTuple):
    """Scheme, host and port, in lower case and with the default port written out."""

    scheme: str
    host: str
    port: int


def is_own_origin(origin: str | None, host: str | None, portal_url: str) -> bool:
    """Whether an `Origin` is that of the `Host` of its request, or of the portal's URL.

    The server does not know the scheme that its client used, so a `Host` has that of the origin.

    >>> is_own_origin("https://LAB.example", "lab.example:443", "")
    True
    >>> is_own_origin("https://lab.example", "10.0.0.7:8000", "https://lab.example/")  # a proxy replaced Host
    True
    """
    sender = parse_origin(origin or "")
    if sender is None:
        return False
    return sender in (parse_origin(f"{sender.scheme}://{host or ''}"), parse_origin(portal_url))


def parse_origin(url: str) -> PageOrigin | None:
    """Parse the origin of a URL of HTTP; None for `null` and for what is no such URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # an IPv6 address without its end, or a port beyond 65535
        return None
    default_port = _DEFAULT_PORTS.get(parts.scheme)
    if default_port is None or not parts.hostname or "@" in parts.netloc:
        return None
    return PageOrigin(parts.scheme, parts.hostname, default_port if port is None else port)
