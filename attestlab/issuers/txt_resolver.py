"""DNS look-up of TXT records, through the system's resolver or one configured by the operator."""

from __future__ import annotations

from typing import Protocol

from attestlab.core.errors import Unavailable
from attestlab.core.name_lookup import parse_name_server

LOOKUP_TIMEOUT_S = 5.0


class Resolver(Protocol):
    """Interface of a resolver for TXT records."""

    def lookup_txt(self, name: str) -> list[str]:
        """Look up all TXT records of an absolute name, each joined from its parts; returns [] if there are none.

        Raises:
            Unavailable: no name server answered in time, or the response was invalid.
        """
        ...


class DnsResolver:
    """Resolver over DNS (RFC 1035); `server` is `host:port` or an address, None for the system's resolver.

    A look-up ends after `timeout_s` seconds, including all name servers and retries.
    """

    def __init__(self, server: str | None = None, *, timeout_s: float = LOOKUP_TIMEOUT_S) -> None:
        self._server = server
        self._timeout_s = timeout_s

    def lookup_txt(self, name: str) -> list[str]:
        import dns.exception  # slow to import, and most processes never need it
        import dns.resolver

        resolver = dns.resolver.Resolver(configure=self._server is None)
        if self._server is not None:
            host, port = parse_name_server(self._server)
            resolver.nameservers, resolver.port = [host], port
        try:
            # The trailing dot prevents a search list from turning it into another domain's name.
            answer = resolver.resolve(f"{name}.", "TXT", lifetime=self._timeout_s)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return []
        except (dns.exception.DNSException, OSError) as error:
            raise Unavailable(f"The look-up of the TXT records of {name} failed. Retry later.") from error
        return [b"".join(record.strings).decode("utf-8", "replace") for record in answer]
