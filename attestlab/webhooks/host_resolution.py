"""Resolution of receivers' host names to addresses, without a thread for each name (RFC 1035).

The public DNS is read directly, because the system's resolver blocks a thread for as long as a name server does not
answer: slow names of one tenant would use up the threads of all. With `allow_private` the system's resolver is used,
which knows `localhost`, the hosts file and the names of containers.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import ip_address
from typing import TYPE_CHECKING, Protocol

from attestlab.core.addresses import IPAddress
from attestlab.core.name_lookup import getaddrinfo_in_thread, parse_name_server

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

LOOKUP_TIMEOUT_S = 5.0


class NameNotResolved(Exception):
    """No name server answered in time, or the response was invalid."""


class HostResolver(Protocol):
    """Resolves a host name to all its addresses."""

    async def resolve(self, host: str) -> list[IPAddress]:
        """Resolve `host`; returns [] if it has no address.

        Raises:
            NameNotResolved: it is not known whether it has one.
        """
        ...


class SystemHostResolver:
    """The resolver of the operating system; each look-up runs in a daemon thread."""

    async def resolve(self, host: str) -> list[IPAddress]:
        """Resolve `host`, which may be in the hosts file or in a search list."""
        try:
            found = await getaddrinfo_in_thread(host, None, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            if error.errno == socket.EAI_NONAME:
                return []
            raise NameNotResolved(host) from error
        except (OSError, UnicodeError) as error:
            raise NameNotResolved(host) from error
        return [ip_address(socket_address[0]) for *_, socket_address in found]


class PublicHostResolver:
    """A DNS client for A and AAAA records; `server` is `host:port` or an address, None for the system's servers."""

    def __init__(self, server: str | None = None) -> None:
        self._server = server

    async def resolve(self, host: str) -> list[IPAddress]:
        """Resolve `host` as an absolute name."""
        import dns.exception  # slow to import, and a process without deliveries never needs it

        try:
            resolver = self._configure()
            found = await asyncio.gather(_records(resolver, host, "A"), _records(resolver, host, "AAAA"))
        except (dns.exception.DNSException, OSError) as error:
            raise NameNotResolved(host) from error
        return [ip_address(text) for texts in found for text in texts]

    def _configure(self) -> Resolver:
        import dns.asyncresolver

        resolver = dns.asyncresolver.Resolver(configure=self._server is None)
        if self._server is not None:
            address, port = parse_name_server(self._server)
            resolver.nameservers, resolver.port = [address], port
        return resolver


async def _records(resolver: Resolver, host: str, kind: str) -> list[str]:
    import dns.resolver

    try:
        # The trailing dot prevents a search list from turning it into a name of the operator's network.
        answer = await resolver.resolve(f"{host}.", kind, lifetime=LOOKUP_TIMEOUT_S)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    return [record.address for record in answer]
