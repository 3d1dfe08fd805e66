"""httpx with the patience of the tests: its own default gives up after 5 s, and a busy machine takes longer.

tests/house/test_http_clients_of_tests.py holds every test to it; a test about a timeout passes its own.
"""

from __future__ import annotations

from typing import Any

import httpx

from support.timeouts import WAIT_TIMEOUT_S


def get(url: str | httpx.URL, **options: Any) -> httpx.Response:
    """Send one GET request, with the options of `httpx.get`."""
    return httpx.get(url, **{"timeout": WAIT_TIMEOUT_S, **options})


def post(url: str | httpx.URL, **options: Any) -> httpx.Response:
    """Send one POST request, with the options of `httpx.post`."""
    return httpx.post(url, **{"timeout": WAIT_TIMEOUT_S, **options})


def open_client(**options: Any) -> httpx.Client:
    """Open a client, with the options of `httpx.Client`."""
    return httpx.Client(**{"timeout": WAIT_TIMEOUT_S, **options})


def open_async_client(**options: Any) -> httpx.AsyncClient:
    """Open an asynchronous client, with the options of `httpx.AsyncClient`."""
    return httpx.AsyncClient(**{"timeout": WAIT_TIMEOUT_S, **options})
