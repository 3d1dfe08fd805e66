"""`attestlab.connect`: a lab over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from time import sleep as system_sleep
from urllib.parse import urlsplit
from uuid import UUID

import httpx

from attestlab.client.lab import Lab
from attestlab.client.service_client import ServiceClient
from attestlab.core.encoding import quote
from attestlab.core.errors import PermissionDenied, ValidationFailed
from attestlab.core.version import VERSION

CONNECT_TIMEOUT_S = 5.0
DEFAULT_TIMEOUT_S = 60.0


class HttpDoor:
    """The door to a service by its address, with the API key of one tenant or without."""

    def __init__(self, url: str, headers: Mapping[str, str], *, timeout_s: float) -> None:
        self.place = self.public_url = url
        # Environment variables may name a proxy, which sees what is sent: only where TLS hides it.
        is_secure = url.startswith("https:")
        self.http = httpx.Client(
            base_url=url,
            timeout=httpx.Timeout(timeout_s, connect=CONNECT_TIMEOUT_S),
            headers={"User-Agent": f"attestlab/{VERSION}"},
            trust_env=is_secure,
            follow_redirects=False,
        )
        self._headers = dict(headers)
        self._client = ServiceClient(self.http, headers=headers, place=url, public_url=url)

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
        url: such as `https://attest.example.org`; plain http is for this machine only.
        api_key: of the tenant to act for. Without it, only public verbs work: `verify` and those of `log`.
        timeout_s: seconds that the service may take for an answer.
        sleep: waits between two attempts, in seconds.

    Raises:
        ValidationFailed: it is no such address, or the API key is not one.
        Unavailable: no service answers there.
        ServiceFailed: it is not an AttestLab service.
        AuthInvalid: the API key is not valid.
    """
    address = _read_url(url, is_secret_sent=api_key is not None)
    door = HttpDoor(address, _read_key(api_key), timeout_s=timeout_s)
    client = ServiceClient(door.http, headers=door.headers_of(None), place=address, public_url=address, sleep=sleep)
    try:
        client.get("/v1/log/head" if api_key is None else "/v1/me")
    except BaseException:
        door.close()
        raise
    return Lab(door, client)


def _read_url(url: object, *, is_secret_sent: bool) -> str:
    if not isinstance(url, str):
        raise ValidationFailed(
            f"A value of type {type(url).__name__} is no address. Pass one like 'https://attest.example.org'."
        )
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    host = parts.hostname
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        shown = quote(url.split("@")[-1])
        raise ValidationFailed(
            f"{shown} is not the address of a service. Pass one like 'https://attest.example.org'; "
            "a folder or a database URL belongs in attestlab.open."
        )
    if is_secret_sent and parts.scheme == "http" and not _is_loopback(host):
        raise ValidationFailed(f"An API key is not sent over plain http to {host}. Use https://{host}.")
    shown_host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown_host}{f':{port}' if port else ''}{parts.path.rstrip('/')}"


def _read_key(api_key: object) -> dict[str, str]:
    if api_key is None:
        return {}
    if not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable() or not api_key.strip():
        raise ValidationFailed("That is not an API key. Pass the text that `attestlab init` or the key's page showed.")
    return {"X-API-Key": api_key.strip()}


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost" or host.lower().endswith(".localhost")
