"""Cookies of pages (RFC 6265): set for the paths of one page, and read by this server alone."""

from __future__ import annotations

from attestlab.web.request import Request


def read_cookie(request: Request, name: str) -> str:
    """Return the value of a cookie that the browser sent, or "" if it sent none of this name."""
    for pair in (request.header("Cookie") or "").split(";"):
        found, _, value = pair.partition("=")
        if found.strip() == name:
            return value.strip()
    return ""


def format_cookie(request: Request, name: str, value: str, *, path: str, max_age_s: int, is_secure: bool) -> str:
    """Format the `Set-Cookie` of a cookie for `path`, which no script and no form of another site can use.

    `value` consists of characters of base64url and dots. `is_secure` is whether people reach the pages over https.
    """
    secure = "; Secure" if is_secure else ""
    place = f"Path={request.path_prefix}{path}; Max-Age={max_age_s}"
    return f"{name}={value}; {place}; HttpOnly; SameSite=Lax{secure}"
