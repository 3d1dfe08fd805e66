"""Preferences of a client: `Prefer: return=representation` (RFC 7240)."""

from __future__ import annotations

from attestlab.web.request import Request


def prefers_representation(request: Request) -> bool:
    """Whether a client asks for the resource that its write left."""
    sent = request.header("Prefer") or ""
    return any(part.partition(";")[0].replace(" ", "").lower() == "return=representation" for part in sent.split(","))
