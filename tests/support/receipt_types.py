"""Receipt types as tenants create them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx

TYPES = "/v1/receipt-types"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["parcel"],
    "additionalProperties": False,
    "properties": {"parcel": {"type": "string", "minLength": 1}, "n": {"type": "integer"}},
}


def make_type(name: str = "delivery", version: str = "1.0.0", **fields: Any) -> dict[str, Any]:
    """The body that creates a type."""
    return {"name": name, "version": version, "schema": SCHEMA, **fields}


def create_type(client: httpx.Client, name: str = "delivery", version: str = "1.0.0", **fields: Any) -> dict[str, Any]:
    """Create a type, or a version of one."""
    answer = client.post(TYPES, json=make_type(name, version, **fields))
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


def mint_receipt(client: httpx.Client, issuer: dict[str, Any]) -> dict[str, Any]:
    """Mint a receipt of a new type."""
    name = f"of-{uuid4()}"
    create_type(client, name)
    answer = client.post(
        "/v1/receipts", json={"receipt_type": name, "issuer_id": issuer["id"], "payload": {"parcel": "7"}}
    )
    assert answer.status_code == 201, answer.text
    receipt: dict[str, Any] = answer.json()
    return receipt
