"""Issuers with valid defaults, over HTTP and in process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from attestlab.issuers.service import IssuerWithKeys

RegisterIssuer = Callable[..., IssuerWithKeys]


def register_issuer(client: httpx.Client, *, alg: str = "Ed25519", **profile: Any) -> dict[str, Any]:
    """A fresh issuer with one managed key."""
    body = {"name": "Northfield University", "domain": "northfield.example.edu", "alg": alg, **profile}
    answer = client.post("/v1/issuers", json=body)
    assert answer.status_code == 201, answer.text
    issuer: dict[str, Any] = answer.json()
    return issuer
