"""Where a delivery may go: https to public addresses (RFC 6890, the IANA special-purpose address registries).

A tenant chooses the URL, and the server connects to it from inside the operator's network. So a URL has a single
reading (a subset of RFC 3986), and every address of its host is vetted before each connection.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import NamedTuple, Never

from attestlab.core.addresses import IPAddress
from attestlab.core.encoding import quote
from attestlab.core.errors import ValidationFailed
from attestlab.core.urls import quote_url

MAX_URL_LENGTH = 2048
MAX_HOST_LENGTH = 253  # RFC 1035, without the final dot
DEFAULT_PORTS = {"https": 443, "http": 80}
MIN_UNRESERVED_PORT = 1024
# Above 1023, those that browsers block too, because other protocols listen there (Fetch, section "Port blocking").
BLOCKED_PORTS = frozenset(
    (1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080)
)
# Names that never lead to a public host: RFC 6761, 6762, 7686, 8375, and ICANN's resolution 2024.07.29.06.
LOCAL_SUFFIXES = ("localhost", "local", "internal", "home.arpa", "onion")

_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<target>[/?][^#]*)?", re.IGNORECASE)
_PORT = re.compile(r"[1-9][0-9]{0,4}")
_CHARACTERS = re.compile(r"[A-Za-z0-9._~:/?\[\]@!$&'()*+,;=%-]+")
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = re.compile(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = re.compile(r"(?:[0-9]+|0x[0-9a-f]*)")  # a last label that a resolver may read as a part of an IPv4 address

_SPECIAL_V4 = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
            "168.63.129.16/32",  # public by its number, but inside Azure it is the machine's own host
        ),
    )
)
_GLOBAL_UNICAST_V6 = IPv6Network("2000::/3")  # all other IPv6 addresses are special or unassigned
_SPECIAL_V6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarking, ORCHID
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which embeds an IPv4 address
            "3fff::/20",  # documentation
        ),
    )
)
# What `allow_private` adds: loopback, RFC 1918 and unique local addresses, but no service of a cloud's metadata.
_PRIVATE_V4 = tuple(map(IPv4Network, ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")))
_PRIVATE_V6 = tuple(map(IPv6Network, ("::1/128", "fc00::/7")))
_METADATA_V6 = tuple(map(IPv6Network, ("fd00:ec2::/32", "fd20:ce::/32")))  # of AWS, and of Google Cloud


class ReceiverUrl(NamedTuple):
    """The parts of an acceptable URL. `host` is a lowercase name, or an address without brackets."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def address(self) -> IPAddress | None:
        """The address, if the host is one; a name needs a look-up."""
        return _parse_address(self.host)

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def is_public(address: IPAddress) -> bool:
    """Whether an address is that of a host on the public internet.

    An IPv4 address inside an IPv6 address (mapped, NAT64, 6to4, Teredo) is never public, because a gateway of the
    operator's network decides where it leads.

    >>> [is_public(IPv4Address(text)) for text in ("93.184.215.14", "10.0.0.1", "169.254.169.254")]
    [True, False, False]
    """
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    return (
        address.scope_id is None
        and address in _GLOBAL_UNICAST_V6
        and not any(address in network for network in _SPECIAL_V6)
    )


def is_acceptable(address: IPAddress, *, allow_private: bool) -> bool:
    """Whether a delivery may connect to an address: a public one, or with `allow_private` one of a private network."""
    return is_public(address) or (allow_private and _is_private(address))


def require_public_url(url: str, *, allow_private: bool = False) -> ReceiverUrl:
    """Parse the URL of a receiver; the addresses of a host name are vetted later, at each connection.

    With `allow_private` it may be http, and its host a local name or an address of a private network.

    Raises:
        ValidationFailed: it is too long, not https, or its host or port is not acceptable.

    >>> require_public_url("https://Receiver.example/hooks?team=1")
    ReceiverUrl(scheme='https', host='receiver.example', port=443, target='/hooks?team=1')
    """
    parts = _split(url)
    scheme = parts["scheme"].lower()
    _require_scheme(scheme, allow_private)
    host_text, port_text = _split_authority(parts["authority"])
    host = _parse_host(host_text, allow_private)
    port = _parse_port(port_text, scheme, allow_private)
    target = parts["target"] or "/"
    return ReceiverUrl(scheme, host, port, target if target.startswith("/") else f"/{target}")


def _split(url: object) -> dict[str, str]:
    if not isinstance(url, str):
        _refuse("type", f"The URL is a text, not {type(url).__name__}.")
    if len(url) > MAX_URL_LENGTH:
        _refuse("too_long", f"The URL has {len(url):,} characters; the limit is {MAX_URL_LENGTH:,}.")
    if "#" in url:
        _refuse("fragment", "The URL has a fragment, which is never sent. Leave out # and what follows it.")
    found = _URL.fullmatch(url)
    if found is not None and "@" in found["authority"]:  # first, because messages quote URLs, and it may be a password
        host = quote(found["authority"].rpartition("@")[2])
        _refuse("userinfo", f"The URL has a user or password before its host {host}. Leave them out.")
    if found is None:
        _refuse("url", f"{quote_url(url)} is not a URL of the form https://host/path.")
    if not _CHARACTERS.fullmatch(url):
        character = next(each for each in url if not _CHARACTERS.fullmatch(each))
        _refuse(
            "characters",
            f"The URL has the character {quote(character)}. Percent-encode it in the path (RFC 3986), and write a host "
            "name in its ASCII form, which begins with xn--.",
        )
    return found.groupdict(default="")


def _require_scheme(scheme: str, allow_private: bool) -> None:
    allowed = ("https", "http") if allow_private else ("https",)
    if scheme not in allowed:
        _refuse("scheme", f"The URL has the scheme {quote(scheme)}. Use {' or '.join(allowed)}.")


def _split_authority(authority: str) -> tuple[str, str | None]:
    """Split host and port; the port is None where there is no colon."""
    host, colon, port = authority.rpartition(":")
    if not colon or authority.endswith("]"):
        return authority, None
    return host, port


def _parse_host(text: str, allow_private: bool) -> str:
    host = text.lower()
    if host.startswith("[") or ":" in host:
        return _require_acceptable(_parse_v6(host), text, allow_private)
    if host.endswith("."):
        _refuse("host", f"The host {quote(text)} ends with a dot. Leave it out; certificates do not have it.")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        return _require_acceptable(_parse_v4(host), text, allow_private)
    if len(host) > MAX_HOST_LENGTH or not _NAME.fullmatch(host):
        _refuse(
            "host",
            f"{quote(text)} is not a host name: up to {MAX_HOST_LENGTH} characters, labels of 1 to 63 letters, digits "
            "and hyphens, with dots between them.",
        )
    if not allow_private and _is_local_name(host):
        _refuse("host", f"{quote(text)} is a name of a local network. Use a name that public DNS resolves.")
    return host


def _is_local_name(host: str) -> bool:
    return "." not in host or host.endswith(tuple(f".{suffix}" for suffix in LOCAL_SUFFIXES))


def _parse_v6(host: str) -> IPAddress:
    text = host.removeprefix("[").removesuffix("]")
    try:
        if host == f"[{text}]" and "%" not in text:
            return IPv6Address(text)
    except ValueError:
        pass
    _refuse("host", f"{quote(host)} is not an IPv6 address in brackets, without a zone, such as [2620:fe::fe].")


def _parse_v4(host: str) -> IPAddress:
    try:
        return IPv4Address(host)  # refuses leading zeros, which some resolvers read as octal
    except ValueError:
        _refuse("host", f"{quote(host)} is not an IPv4 address of four decimal numbers without leading zeros.")


def _require_acceptable(address: IPAddress, text: str, allow_private: bool) -> str:
    if not is_acceptable(address, allow_private=allow_private):
        _refuse("address", f"{quote(text)} is not a public address. Use a host that the public internet reaches.")
    return str(address)


def _parse_port(text: str | None, scheme: str, allow_private: bool) -> int:
    if text is None:
        return DEFAULT_PORTS[scheme]
    port = int(text) if _PORT.fullmatch(text) else 0
    defaults = DEFAULT_PORTS.values() if allow_private else (DEFAULT_PORTS[scheme],)
    if port not in defaults and not (MIN_UNRESERVED_PORT <= port <= 65535 and port not in BLOCKED_PORTS):
        _refuse(
            "port",
            f"The port {quote(text)} is not allowed. Use 443, or one from {MIN_UNRESERVED_PORT} to 65535 that "
            "browsers do not block.",
        )
    return port


def _parse_address(host: str) -> IPAddress | None:
    for kind in (IPv4Address, IPv6Address):
        try:
            return kind(host)
        except ValueError:
            continue
    return None


def _is_private(address: IPAddress) -> bool:
    if isinstance(address, IPv4Address):
        return any(address in network for network in _PRIVATE_V4)
    return (
        address.scope_id is None
        and any(address in network for network in _PRIVATE_V6)
        and not any(address in network for network in _METADATA_V6)
    )


def _refuse(code: str, message: str) -> Never:
    raise ValidationFailed.of("/url", code, message)
