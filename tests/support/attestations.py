"""Mints over HTTP, with a body that is valid by default."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx


def make_mint_body(issuer: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A mint body that is accepted."""
    key = issuer["keys"][0]
    claims = {"student_name": "Ada Lovelace", "institution": issuer["name"], "degree_type": "MSc"}
    return {
        "issuer_id": issuer["id"],
        "kid": key["kid"],
        "alg": key["alg"],
        "schema": "degree",
        "claims": claims,
        **changes,
    }


def mint(client: httpx.Client, body: dict[str, Any], *, key: str | None = None) -> httpx.Response:
    """One mint under a fresh Idempotency-Key, or the one given."""
    return client.post("/v1/attestations/mint", json=body, headers={"Idempotency-Key": key or str(uuid4())})
