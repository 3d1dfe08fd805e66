"""Where an address is: its network and its country; and how far two countries are from each other.

A network is the organisation that announces the address (its autonomous system) where the table knows it,
else the address's prefix. Users who change their address usually stay in the network.

Distances are those on the great circle, less the uncertainty about where in a country someone is. The table has the
centre of each country's airports with an IATA code, in degrees, and the radius in kilometres that holds three quarters
of them (at least 100). It was computed from the package airportsdata; 16 codes without an airport are missing, and
distances to them are not known.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from ipaddress import ip_network
from math import acos, cos, radians, sin
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


EARTH_RADIUS_KM = 6371.0

_AIRPORT_CENTRES = """
AE:25,55,130 AF:35,67,450 AG:17,-62,100 AI:18,-63,100 AL:41,20,100 AM:40,44,100 AO:-11,16,610 AQ:-71,-66,1050
AR:-36,-64,1120 AS:-14,-170,100 AT:48,14,240 AU:-26,138,1570 AW:13,-70,100 AZ:40,48,180 BA:44,18,110 BB:13,-59,100
BD:24,90,280 BE:51,4,100 BF:12,-1,290 BG:43,26,160 BH:26,51,100 BI:-3,30,100 BJ:9,2,230 BL:18,-63,100 BM:32,-65,100
BN:5,115,100 BO:-16,-65,560 BQ:16,-65,550 BR:-16,-49,1540 BS:25,-76,300 BT:27,90,100 BW:-21,25,390 BY:54,28,250
BZ:17,-88,100 CA:56,-94,2030 CC:-12,97,100 CD:-3,23,850 CF:6,21,480 CG:-2,15,350 CH:47,8,110 CI:7,-6,320
CK:-18,-159,850 CL:-37,-72,1530 CM:6,12,380 CN:34,110,1440 CO:6,-74,510 CR:10,-84,150 CU:22,-79,450 CV:16,-24,150
CW:12,-69,100 CX:-10,106,100 CY:35,33,100 CZ:50,16,170 DE:52,10,300 DJ:12,43,100 DK:56,10,150 DM:15,-61,100
DO:19,-70,130 DZ:32,3,560 EC:-1,-80,380 EE:59,24,110 EG:28,32,450 EH:26,-14,330 ER:15,39,400 ES:39,-5,680 ET:9,38,470
FI:63,25,350 FJ:-18,179,200 FK:-52,-58,100 FM:7,153,1640 FO:62,-7,100 FR:46,3,400 GA:-1,12,280 GB:54,-2,390
GD:12,-62,100 GE:42,43,200 GF:4,-53,150 GG:50,-2,100 GH:7,-2,280 GI:36,-5,100 GL:69,-50,870 GM:13,-17,100
GN:10,-11,330 GP:16,-61,100 GQ:3,9,120 GR:38,24,330 GT:16,-90,190 GU:14,145,100 GW:12,-16,100 GY:5,-59,250
HK:22,114,100 HN:15,-86,220 HR:44,16,180 HT:19,-73,120 HU:47,19,130 ID:-3,119,1910 IE:53,-9,150 IL:31,35,180
IM:54,-5,100 IN:23,80,1180 IQ:34,44,280 IR:32,53,690 IS:65,-19,220 IT:42,12,480 JE:49,-2,100 JM:18,-77,100
JO:31,36,210 JP:34,135,1090 KE:0,37,410 KG:42,76,290 KH:12,105,230 KI:0,178,630 KM:-12,44,100 KN:17,-63,100
KP:41,128,240 KR:36,128,170 KW:29,48,100 KY:20,-80,100 KZ:48,69,900 LA:19,103,300 LB:34,36,100 LC:14,-61,100
LK:7,81,140 LR:6,-9,190 LS:-30,28,100 LT:56,23,150 LU:49,6,100 LV:57,22,110 LY:30,17,670 MA:33,-6,390 MD:47,28,100
ME:43,19,100 MF:18,-63,100 MG:-19,47,520 MH:7,170,320 MK:42,21,100 ML:14,-7,510 MM:20,96,430 MN:47,101,730
MO:22,114,100 MP:15,146,100 MQ:15,-61,100 MR:18,-12,490 MS:17,-62,100 MT:36,14,100 MU:-17,59,770 MV:4,73,350
MW:-13,34,280 MX:23,-101,1130 MY:4,110,920 MZ:-18,37,810 NA:-22,18,610 NC:-21,166,220 NE:15,6,410 NF:-29,168,100
NG:9,8,420 NI:13,-84,200 NL:52,5,130 NO:66,13,750 NP:28,84,310 NR:-1,167,100 NU:-19,-170,100 NZ:-41,174,530
OM:22,57,430 PA:9,-80,250 PE:-10,-75,670 PF:-17,-144,800 PG:-6,146,500 PH:11,123,500 PK:30,70,590 PL:52,19,260
PM:47,-56,100 PT:39,-18,920 PW:7,135,100 PY:-24,-58,380 QA:25,51,100 RE:-21,55,100 RO:46,25,250 RS:45,20,100
RU:64,76,2860 RW:-2,30,100 SA:25,43,710 SB:-9,159,320 SC:-4,55,100 SD:15,31,670 SE:61,16,470 SG:1,104,100
SH:-12,-10,650 SI:46,15,100 SK:49,19,140 SL:8,-12,130 SN:14,-15,270 SO:8,47,620 SR:5,-56,160 SS:7,30,300 ST:1,7,100
SV:14,-89,100 SX:18,-63,100 SY:35,38,260 SZ:-26,32,100 TC:22,-72,100 TD:12,17,370 TG:8,1,200 TH:14,101,630
TJ:39,69,180 TL:-9,126,100 TM:39,59,520 TN:35,10,230 TO:-19,-175,320 TR:39,35,590 TT:11,-61,100 TV:-9,179,100
TW:24,120,200 TZ:-6,36,560 UA:49,32,470 UG:1,32,250 UM:24,174,950 US:44,-100,2150 UY:-33,-56,250 UZ:40,67,400
VC:13,-61,100 VE:9,-67,550 VG:19,-64,100 VN:15,107,630 VU:-16,168,290 WF:-14,-177,120 WS:-14,-172,100 XK:43,21,100
YE:15,47,410 YT:-13,45,100 ZA:-28,28,600 ZM:-14,27,520 ZW:-19,30,330
"""


def _parse_centre(line: str) -> tuple[str, tuple[float, float, float]]:
    code, _colon, numbers = line.partition(":")
    latitude, longitude, radius_km = map(float, numbers.split(","))
    return code, (latitude, longitude, radius_km)


_CENTRES = dict(_parse_centre(line) for line in _AIRPORT_CENTRES.split())


def great_circle_km(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Return the distance of two points (latitude, longitude in degrees) on a sphere.

    >>> round(great_circle_km((47.5, 8.6), (40.6, -73.8)))  # Zurich to New York
    6315
    """
    (north_1, east_1), (north_2, east_2) = ((radians(p[0]), radians(p[1])) for p in (first, second))
    cosine = sin(north_1) * sin(north_2) + cos(north_1) * cos(north_2) * cos(east_1 - east_2)
    return EARTH_RADIUS_KM * acos(max(-1.0, min(1.0, cosine)))


@lru_cache(maxsize=4096)
def min_distance_km(first: str, second: str) -> float | None:
    """Return how far apart two countries' travellers are at least, or None where a country is not in the table.

    >>> min_distance_km("BE", "NL")
    0.0
    """
    if first not in _CENTRES or second not in _CENTRES:
        return None
    (north_1, east_1, radius_1), (north_2, east_2, radius_2) = _CENTRES[first], _CENTRES[second]
    return max(0.0, great_circle_km((north_1, east_1), (north_2, east_2)) - radius_1 - radius_2)
