"""Requests of a view over HTTP: those of panes run on the loop of the views, where Cancel breaks them off.

A lab in this process needs nothing of this: its transport ends the wait of a pane by itself.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import weakref
from typing import Final

import httpx

from attestlab.client.asynchronous.calls import is_in_verb, sleep_on_loop
from attestlab.client.asynchronous.loop_transport import LoopTransport
from attestlab.client.service_client import ServiceClient
from attestlab.client.service_errors import LabClosed
from attestlab_dashboards.cell import views_loop

_NO_AUTHORITIES: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts none: for plain http, which has no TLS


class BreakableTransport(httpx.BaseTransport):
    """Sends requests of panes by a client of the loop of the views, and all others by the client of the lab."""

    def __init__(self, http: httpx.Client, loop_http: httpx.AsyncClient) -> None:
        self._http = http
        self._on_loop = LoopTransport(loop_http, views_loop.get_loop())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, and return its response with a body that is still to be read."""
        if self._http.is_closed:
            raise LabClosed
        if is_in_verb():
            return self._on_loop.handle_request(request)
        response = self._http.send(request, stream=True)
        return httpx.Response(response.status_code, headers=response.headers, stream=response.stream)


def make_breakable(client: ServiceClient) -> ServiceClient:
    """Return a client for the same caller, whose requests for panes can be broken off."""
    return client.with_http(lambda http: _wrap(http, client.tls or _NO_AUTHORITIES), _pause)


def _wrap(http: httpx.Client, tls: ssl.SSLContext) -> httpx.Client:
    loop_http = httpx.AsyncClient(timeout=http.timeout, trust_env=http.trust_env, verify=tls, follow_redirects=False)
    wrapped = httpx.Client(
        transport=BreakableTransport(http, loop_http),
        base_url=http.base_url,
        timeout=http.timeout,
        headers=http.headers,
        follow_redirects=False,
    )
    weakref.finalize(wrapped, _close, loop_http).atexit = False
    return wrapped


def _close(loop_http: httpx.AsyncClient) -> None:
    asyncio.run_coroutine_threadsafe(loop_http.aclose(), views_loop.get_loop())


def _pause(pause_s: float) -> None:
    if is_in_verb():
        sleep_on_loop(pause_s)
    else:
        time.sleep(pause_s)
