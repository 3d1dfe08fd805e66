"""Whose address a request comes from: the socket's other end, unless that is a proxy we were told to trust.

`X-Forwarded-For` is a list to which each proxy adds the address that it sees. So its right end is
as true as the proxies are, and everything to the left of the first stranger is only a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from attestlab.web import logging_setup

IPNetwork = IPv4Network | IPv6Network
_CACHE_SIZE = 4096
_NETWORK_BITS = 64  # of an IPv6 address: whoever has one has all that share them
_UNNAMED = "local"  # of a socket that has no address


class ClientAddressResolver:
    """Tells addresses; `trusted` are the networks of proxies whose word is taken."""

    def __init__(self, trusted: Sequence[IPNetwork] = ()) -> None:
        self._trusted = tuple(trusted)
        self._has_warned = False

    def client(self, peer: str, forwarded: str | None) -> str:
        """The address of the client; `forwarded` is the X-Forwarded-For that came from `peer`.

        Where a trusted proxy forwards nothing that can be read, it is taken for the client itself.
        """
        if forwarded is None:
            return peer
        if not self._trusted:
            self._warn(peer)
            return peer
        if not self._trusts(peer):
            return peer
        client = peer
        for claimed in reversed(forwarded.split(",")):
            address = _parse_address(claimed.strip())
            if address is None:
                break
            client = str(address)
            if not self._trusts(client):
                break
        return client

    def _warn(self, peer: str) -> None:
        """Warn once: behind a proxy that is not trusted all clients share the limits of its address."""
        if not self._has_warned:
            self._has_warned = True
            logging_setup.log_warning(
                "X-Forwarded-For is ignored",
                peer=peer,
                remedy="If a proxy at this address forwards requests, name its network in ATTESTLAB_TRUSTED_PROXIES.",
            )

    def _trusts(self, text: str) -> bool:
        return is_within(text, self._trusted)


def is_within(client: str, networks: Sequence[IPNetwork]) -> bool:
    """Whether the address is in one of the networks."""
    address = _parse_address(client)
    return address is not None and any(address in network for network in networks)


@lru_cache(maxsize=_CACHE_SIZE)
def rate_limit_key(client: str) -> str:
    """The address as limits count it: all of an IPv4 one, the network of an IPv6 one.

    >>> [rate_limit_key(client) for client in ("203.0.113.9", "2001:db8:1:2:3:4:5:6", "::ffff:203.0.113.9")]
    ['203.0.113.9', '2001:db8:1:2::/64', '203.0.113.9']
    """
    address = _parse_address(client)
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), _NETWORK_BITS), strict=False))
    return _UNNAMED if address is None else str(address)


@lru_cache(maxsize=_CACHE_SIZE)
def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """IPv4 within IPv6 counts as what it is; an address that cannot be read is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
