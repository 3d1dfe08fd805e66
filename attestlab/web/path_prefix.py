"""The path prefix of a request: the path below which a proxy serves this service to browsers.

A proxy removes the prefix from the path of a request, and names it in `X-Forwarded-Prefix`. Links between our pages
are relative and need none. What does need it gets it here: cookies, redirects, `Location`, and OpenAPI's `servers`.
Each such response names the header in `Vary`.
"""

from __future__ import annotations

from attestlab.core.path_prefix import FORWARDED_PREFIX, parse_path_prefix
from attestlab.web import logging_setup
from attestlab.web.rate_limit.client_address import ClientAddressResolver
from attestlab.web.response import Response, add_vary


class PathPrefixResolver:
    """Resolves path prefixes: what a trusted proxy forwards, and otherwise `default`, which the settings state."""

    def __init__(self, addresses: ClientAddressResolver, default: str = "") -> None:
        self._addresses = addresses
        self._default = default
        self._has_warned = False

    def resolve(self, peer: str, forwarded: str | None) -> str:
        """Return the prefix of a request; `forwarded` is the X-Forwarded-Prefix that `peer` sent."""
        if forwarded is None or not self._addresses.trusts(peer, FORWARDED_PREFIX):
            return self._default
        try:
            return parse_path_prefix(forwarded)
        except ValueError as error:
            self._warn(peer, error)
            return self._default

    def _warn(self, peer: str, error: ValueError) -> None:
        """Warn once of a proxy whose header is no prefix: pages would work, and the sign-in would not."""
        if not self._has_warned:
            self._has_warned = True
            logging_setup.log_warning(f"{FORWARDED_PREFIX} is ignored", peer=peer, remedy=str(error))


def place_below(response: Response, prefix: str) -> Response:
    """Return a response whose `Location`, if it is a path of ours, begins with the prefix, which `Vary` says."""
    location = response.headers.get("Location", "")
    if not location.startswith("/"):
        return response
    placed = response._replace(headers={**response.headers, "Location": prefix + location})
    return add_vary(placed, FORWARDED_PREFIX)
