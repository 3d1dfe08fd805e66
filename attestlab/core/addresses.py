"""IP addresses and networks: one spelling of each (RFC 5952), and the networks that contain an address.

IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2) is the IPv4 address that it holds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network
MIN_PREFIX_BITS = {4: 8, 6: 32}  # of a network by its version; an internet provider is assigned a /32
_STORED_PREFIX_BITS = {4: 8, 6: 16}  # entries of lists from before 0.2 may be as wide, and still hold
_CACHE_SIZE = 4096
_WITH_PORT = re.compile(r"([0-9.]+):[0-9]{1,5}|\[([0-9A-Fa-f:.]+)\](?::[0-9]{1,5})?")
_MAPPED_BITS = 96  # before the IPv4 address in an IPv4-mapped one


@lru_cache(maxsize=_CACHE_SIZE)
def parse_address(text: str) -> IPAddress | None:
    """Parse an address; IPv4-mapped IPv6 becomes IPv4, and an unreadable address becomes None."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def parse_endpoint(text: str) -> IPAddress | None:
    """Parse an address that may have a port, or brackets, as some proxies forward it; None for another text.

    >>> [str(parse_endpoint(each)) for each in ("203.0.113.9:4711", "[2001:db8::9]:443", "2001:db8::9", "unknown")]
    ['203.0.113.9', '2001:db8::9', '2001:db8::9', 'None']
    """
    found = _WITH_PORT.fullmatch(text)
    return parse_address(text if found is None else found[1] or found[2])


@lru_cache(maxsize=_CACHE_SIZE)
def parse_network(text: str) -> IPNetwork | None:
    """Parse a network such as `203.0.113.0/24`; bits of a host are cleared. None for an address or another text."""
    if "/" not in text:
        return None
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < _MAPPED_BITS:
        return network
    return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))


def correct_network(text: str) -> str | None:
    """Return the network of a text that has bits of a host too; None for any other text.

    >>> correct_network("10.0.0.5/8"), correct_network("10.0.0.0/8"), correct_network("10.0.0.5")
    ('10.0.0.0/8', None, None)
    """
    try:
        ip_network(text.strip())
    except ValueError:
        network = parse_network(text.strip())
        return None if network is None else str(network)
    return None


def read_network(text: str) -> IPNetwork:
    """Read a network, or an address as the network of this one address.

    Raises:
        ValueError: it is neither, or has bits of a host; the message names the network that was probably meant.
    """
    meant = correct_network(text)
    if meant is not None:
        raise ValueError(f"{text[:60]!r} has bits of a host. Did you mean {meant}?")
    network = parse_network(text.strip()) or parse_address(text.strip())
    if network is None or "%" in text:  # a zone is no part of an address (RFC 4007)
        endpoint = parse_endpoint(text.strip().partition("%")[0])
        meant = "one such as 203.0.113.9, 203.0.113.0/24 or 2001:db8:1:2::/64" if endpoint is None else str(endpoint)
        raise ValueError(f"{text[:60]!r} is no IP address or network. Use {meant}.")
    return ip_network(network)


@lru_cache(maxsize=_CACHE_SIZE)
def spell_address(text: str) -> str | None:
    """Return the one spelling of an address or network; a network of one address is that address.

    >>> spell_address("2001:DB8:0:0::9"), spell_address("::ffff:203.0.113.9"), spell_address("2001:db8::9/64")
    ('2001:db8::9', '203.0.113.9', '2001:db8::/64')
    """
    network = parse_network(text.strip())
    if network is not None and network.prefixlen < network.max_prefixlen:
        return str(network)
    address = parse_address(text.strip()) if network is None else network.network_address
    return None if address is None else str(address)


@lru_cache(maxsize=_CACHE_SIZE)
def list_networks(text: str) -> tuple[str, ...]:
    """List the networks that contain an address or a network, the narrowest first, up to the widest.

    >>> networks = list_networks("203.0.113.9")
    >>> networks[:2], networks[-1], list_networks("no address")
    (('203.0.113.8/31', '203.0.113.8/30'), '203.0.0.0/8', ())
    """
    start: IPAddress | IPNetwork | None = parse_network(text) or parse_address(text)
    if start is None:
        return ()
    network = ip_network(start)
    shortest = _STORED_PREFIX_BITS[network.version]
    return tuple(str(network.supernet(new_prefix=bits)) for bits in range(network.prefixlen - 1, shortest - 1, -1))
