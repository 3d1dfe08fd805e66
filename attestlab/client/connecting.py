"""`attestlab.connect`: a lab over HTTP."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from ipaddress import ip_address
from time import sleep as system_sleep
from typing import TypedDict
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from attestlab.client.arguments import show
from attestlab.client.lab import Lab
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import quote
from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.core.urls import is_web_address, quote_url
from attestlab.core.version import VERSION

CONNECT_TIMEOUT_S = 5.0
DEFAULT_TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 86_400.0


class ClientOptions(TypedDict):
    """The arguments of an httpx client, sync or async."""

    base_url: str
    timeout: httpx.Timeout
    headers: dict[str, str]
    trust_env: bool
    verify: ssl.SSLContext
    follow_redirects: bool


class Destination:
    """A service as a person names it: its address, and the headers of the API key."""

    def __init__(self, url: object, api_key: object, timeout_s: object) -> None:
        self.url = _read_url(url, is_secret_sent=api_key is not None)
        self.headers = _read_key(api_key)
        self.timeout_s = _read_timeout(timeout_s)

    def __repr__(self) -> str:
        return f"Destination({self.url})"

    @property
    def client_options(self) -> ClientOptions:
        """The arguments of the HTTP client."""
        return {
            "base_url": self.url,
            "timeout": httpx.Timeout(self.timeout_s, connect=min(CONNECT_TIMEOUT_S, self.timeout_s)),
            "headers": {"User-Agent": f"attestlab/{VERSION}"},
            # Environment variables may name a proxy, which sees what is sent: only where TLS hides it.
            "trust_env": self.has_tls,
            "verify": self.tls,
            "follow_redirects": False,
        }

    @property
    def has_tls(self) -> bool:
        """Whether connections to it are TLS."""
        return self.url.startswith("https:")

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """The context of its connections: trusts what `SSL_CERT_FILE` or `SSL_CERT_DIR` names, or public authorities.

        It is made once, so that all connections of a lab trust the same authorities. Plain http needs none.
        """
        return httpx.create_ssl_context() if self.has_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


class HttpDoor:
    """The door to a service by its address, with the API key of one tenant or without."""

    def __init__(self, client: ServiceClient, http: httpx.Client, headers: Mapping[str, str]) -> None:
        self.place, self.public_url = client.place, client.public_url
        self.http = http
        self._headers = dict(headers)
        self._client = client

    def headers_of(self, tenant: UUID | str | None) -> Mapping[str, str]:
        """Return the headers of the API key, whose tenant is the only one that this door acts for."""
        if tenant is not None:
            own = self._client.get("/v1/me") if self._headers else {}
            names = {str(own.get("tenant_id", "")), str(own.get("tenant_name", "")).casefold()}
            if str(tenant).casefold() not in names:
                raise PermissionDenied(
                    f"This lab's API key does not act for {str(tenant)[:60]!r}; connect with a key of that tenant."
                )
        return self._headers

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


def connect(
    url: str,
    api_key: str | None = None,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    sleep: Callable[[float], None] = system_sleep,
) -> Lab:
    """Connect to a service by its address; a context manager.

    Args:
        url: such as `https://attest.example.org`; plain http is for this machine only. Where a private authority
            signed its certificate, the environment variable `SSL_CERT_FILE` names the file of that authority.
        api_key: of the tenant to act for. Without it, only public verbs work: `verify` and those of `log`.
        timeout_s: seconds that the service may take for an answer.
        sleep: waits between two attempts, in seconds.

    Returns:
        The lab; leaving its `with` block, or `close`, ends the connections.

    Raises:
        ValidationFailed: it is no such address, or the API key is not one.
        Unavailable: no service answers there.
        ServiceFailed: it is not an AttestLab service.
        AuthInvalid: the API key is not valid.

    >>> import attestlab
    >>> with attestlab.connect(url, api_key) as lab:
    ...     print(lab.me().tenant_name)
    Operator
    """
    destination = Destination(url, api_key, timeout_s)
    return open_http_lab(destination, httpx.Client(**destination.client_options), sleep)


@contextmanager
def open_service(url: str, api_key: str) -> Iterator[ServiceClient]:
    """Open a client of a service's routes, for commands that need no lab; it is closed at the end of the block.

    Raises:
        ValidationFailed: it is no such address, or the API key is not one.
    """
    destination = Destination(url, api_key, DEFAULT_TIMEOUT_S)
    with httpx.Client(**destination.client_options) as http:
        yield ServiceClient(http, headers=destination.headers, place=destination.url, public_url=destination.url)


def open_http_lab(destination: Destination, http: httpx.Client, sleep: Callable[[float], None]) -> Lab:
    """Open a lab on a service, once that has answered; `http` is closed with the lab, or if there is none."""
    url, headers = destination.url, destination.headers
    tls = destination.tls if destination.has_tls else None
    client = ServiceClient(http, headers=headers, place=url, public_url=url, sleep=sleep, tls=tls)
    try:
        client.get("/v1/me" if headers else "/v1/log/head")
    except BaseException:
        http.close()
        raise
    return Lab(HttpDoor(client, http, headers), client)


def _read_url(url: object, *, is_secret_sent: bool) -> str:
    if not isinstance(url, str):
        raise ValidationFailed(
            f"A value of type {type(url).__name__} is no address. Pass one like 'https://attest.example.org'."
        )
    if not is_web_address(url.strip()):
        raise ValidationFailed(
            f"{quote_url(url)} is not the address of a service. Pass one like 'https://attest.example.org'; "
            "a folder or a database URL belongs in attestlab.open."
        )
    parts = urlsplit(url.strip())
    host, port = parts.hostname or "", parts.port
    if is_secret_sent and parts.scheme == "http" and not _is_loopback(host):
        raise ValidationFailed(f"An API key is not sent over plain http to {host}. Use https://{host}.")
    shown_host = f"[{host}]" if ":" in host else host
    address = f"{parts.scheme}://{shown_host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"
    try:
        httpx.URL(address)
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ValidationFailed(f"{quote(address)} is not an address: {error}. Check its host.") from None
    return address


def _read_key(api_key: object) -> dict[str, str]:
    if api_key is None:
        return {}
    if not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable() or not api_key.strip():
        raise ValidationFailed("That is not an API key. Pass the text that `attestlab init` or the key's page showed.")
    return {"X-API-Key": api_key.strip()}


def _read_timeout(timeout_s: object) -> float:
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not is_number or not 0 < timeout_s <= MAX_TIMEOUT_S:  # type: ignore[operator]  # a number then
        raise ValidationFailed(f"timeout_s={show(timeout_s)} is no wait. Pass seconds, above 0 and up to a day.")
    return float(timeout_s)  # type: ignore[arg-type]


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")
