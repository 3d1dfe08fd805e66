"""URLs of settings, options and arguments (RFC 3986): whether one can be used, and how a message names it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from attestlab.core.encoding import quote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_web_address(text: str) -> bool:
    """Whether a text is an http or https URL with a host, and without user, query and fragment.

    >>> [is_web_address(each) for each in ("https://a.example/b", "a.example", "https://a.example?b", "http://a:x")]
    [True, False, False, False]
    """
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    is_plain = parts.username is None and not parts.query and not parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain


def quote_url(url: str) -> str:
    """Quote a URL of a setting for a message, without what may be a password: text before the last @, and the query.

    >>> quote_url("postgresql://ada:secret@db.example/lab?sslmode=require"), quote_url("db.example/lab?pass=a@b")
    ("'postgresql://***@db.example/lab'", "'***'")
    """
    before, at, rest = url.rpartition("@")
    if "?" in before:  # either of the query or of the password
        return "'***'"
    scheme = _SCHEME.match(before)
    return quote(f"{scheme.group() if scheme else ''}{'***@' if at else ''}{rest.partition('?')[0]}")
