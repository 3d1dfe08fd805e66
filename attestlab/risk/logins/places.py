"""Where an address is: its network and its country.

A network is the organisation that announces the address (its autonomous system) where the table knows it,
else the address's prefix. Users who change their address usually stay in the network.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from attestlab.core.countries import LOCATIONS

if TYPE_CHECKING:
    from geoip2fast import GeoIP2Fast

IPV4_PREFIX_BITS = 24
IPV6_PREFIX_BITS = 48
_DATA_FILE = "geoip2fast-asn-ipv6.dat.gz"


class IpLocation(NamedTuple):
    """Network and country of an address; the country is None where it is not known."""

    network: str
    country: str | None


class Locator(Protocol):
    """Finds the place of an address."""

    def locate(self, ip: str) -> IpLocation:
        """Return the place of an IPv4 or IPv6 address."""


class PrefixLocator:
    """Knows no table: the network is the prefix of the address, and the country is unknown.

    >>> PrefixLocator().locate("192.0.2.7")
    IpLocation(network='192.0.2.0/24', country=None)
    """

    def locate(self, ip: str) -> IpLocation:
        """Return the prefix of an address."""
        return IpLocation(_prefix(ip), None)


class GeoLocator:
    """Finds places in the table of the package geoip2fast, which needs about 100 MB and loads with the first use."""

    def locate(self, ip: str) -> IpLocation:
        """Return the organisation or prefix, and the country, of an address.

        A private address has no country, nor has one for which the table names a region, such as EU, or no place.
        """
        found = self._table.lookup(ip)
        country = found.country_code if found.country_code in LOCATIONS and not found.is_private else None
        return IpLocation(_prefix(ip) if found.is_private or not found.asn_name else found.asn_name, country)

    @cached_property
    def _table(self) -> GeoIP2Fast:
        import geoip2fast  # loaded late: reading the table takes half a second

        return geoip2fast.GeoIP2Fast(geoip2fast_data_file=str(Path(geoip2fast.__file__).parent / _DATA_FILE))


@lru_cache(maxsize=4096)
def _prefix(ip: str) -> str:
    bits = IPV6_PREFIX_BITS if ":" in ip else IPV4_PREFIX_BITS
    return str(ip_network(f"{ip}/{bits}", strict=False))
