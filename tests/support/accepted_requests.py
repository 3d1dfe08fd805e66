"""Requests of JSON that a story needs to succeed: what was answered, or a failure with the text of the answer."""

from __future__ import annotations

from typing import Any

import httpx


def read(client: httpx.Client, path: str, **query: Any) -> dict[str, Any]:
    """The answer to a request that succeeds."""
    answer = client.get(path, params=query or None)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    """Send a body that is accepted; returns the answer."""
    answer = client.post(path, json=body)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found
