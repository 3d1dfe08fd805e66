"""Refuses what Bokeh and Tornado would let a client name: the session of a page, and files by impossible paths.

A client that chooses the name of a page's session can join it later, so no request names one. A page needs one thing
alone, the token that the server wrote into it, which comes back as the second subprotocol of the page's websocket.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tornado.httputil import HTTPServerRequest

NAMES: Final = ("bokeh-session-id", "bokeh-token")
"""Parameters, or headers, by which Bokeh's handlers take a session from the client, in lower case."""


def find_refusal(request: HTTPServerRequest) -> str:
    """Return why a request is refused; empty if it is not."""
    if not unquote(request.path).isprintable():
        return "The path has a control character. Remove it."
    named = sorted({*_find_names(request.arguments), *_find_names(name for name, _ in request.headers.get_all())})
    return f"A page's session is named by the server alone: remove {' and '.join(named)}." if named else ""


def _find_names(given: Iterable[str]) -> set[str]:
    return {name for each in given if (name := each.strip().lower()) in NAMES}


def without_names(address: str) -> str:
    """Return an address whose query names no session.

    >>> without_names("/dash/log?entry=7&Bokeh-Session-Id=x"), without_names("/dash/log?entry=")
    ('/dash/log?entry=7', '/dash/log?entry=')
    """
    pairs = parse_qsl(urlsplit(address).query, keep_blank_values=True)
    kept = [(name, value) for name, value in pairs if not _find_names([name])]
    return address if kept == pairs else urlsplit(address)._replace(query=urlencode(kept)).geturl()
