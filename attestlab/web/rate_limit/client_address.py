"""The client's address: the socket's peer, or the address that a trusted proxy forwards.

`X-Forwarded-For` is a list to which each proxy appends the address that it sees. So its right end is as reliable as
the proxies, and everything to the left of the first untrusted address is only a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network

from attestlab.core.addresses import IPNetwork, parse_address, parse_endpoint
from attestlab.web import logging_setup

_CACHE_SIZE = 4096
_NETWORK_BITS = 64  # of an IPv6 address: a client controls all addresses of its /64
_UNNAMED = "local"  # for a socket without an address
_FORWARDED_FOR = "X-Forwarded-For"


class ClientAddressResolver:
    """Resolves client addresses; `trusted` are the networks of trusted proxies.

    A peer without an address has connected to a private Unix socket: it is a process of this service, and trusted.
    """

    def __init__(self, trusted: Sequence[IPNetwork] = ()) -> None:
        self._trusted = tuple(trusted)
        self._has_warned = False

    def client(self, peer: str, forwarded: str | None) -> str:
        """Return the client's address; `forwarded` is the X-Forwarded-For that `peer` sent.

        If a trusted proxy forwards no readable address, the proxy counts as the client.
        """
        if forwarded is None or not self.trusts(peer, _FORWARDED_FOR):
            return peer
        client = peer
        for claimed in reversed(forwarded.split(",")):
            address = parse_endpoint(claimed.strip())
            if address is None:
                break
            client = str(address)
            if not self._is_proxy(client):
                break
        return client

    def trusts(self, peer: str, header: str) -> bool:
        """Whether what `peer` states in a header of proxies counts."""
        if peer and not self._trusted:
            self._warn(peer, header)
        return self._is_proxy(peer)

    def _warn(self, peer: str, header: str) -> None:
        """Warn once: behind an untrusted proxy, all clients share the limits of its address."""
        if not self._has_warned:
            self._has_warned = True
            logging_setup.log_warning(
                f"{header} is ignored",
                peer=peer,
                remedy="If a proxy at this address forwards requests, name its network in ATTESTLAB_TRUSTED_PROXIES.",
            )

    def _is_proxy(self, peer: str) -> bool:
        return not peer or is_within(peer, self._trusted)


def is_within(client: str, networks: Sequence[IPNetwork]) -> bool:
    """Whether the address is in one of the networks."""
    address = parse_address(client)
    return address is not None and any(address in network for network in networks)


@lru_cache(maxsize=_CACHE_SIZE)
def rate_limit_key(client: str) -> str:
    """Return the part of an address that limits count: all of an IPv4 address, the /64 network of an IPv6 address.

    >>> [rate_limit_key(client) for client in ("203.0.113.9", "2001:db8:1:2:3:4:5:6", "::ffff:203.0.113.9")]
    ['203.0.113.9', '2001:db8:1:2::/64', '203.0.113.9']
    """
    address = parse_address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _NETWORK_BITS), strict=False))
    return _UNNAMED if address is None else str(address)


@lru_cache(maxsize=_CACHE_SIZE)
def address_names(client: str) -> tuple[str, ...]:
    """Return the texts that name a client: its address and, for IPv6, its /64 network; none if it is unreadable.

    >>> address_names("2001:DB8:1:2:0:0:0:6"), address_names("::ffff:203.0.113.9"), address_names("")
    (('2001:db8:1:2::6', '2001:db8:1:2::/64'), ('203.0.113.9',), ())
    """
    address = parse_address(client)
    return () if address is None else tuple(dict.fromkeys((str(address), rate_limit_key(client))))
