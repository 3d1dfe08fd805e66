"""A served lab with one issuer whose key it holds: what is measured over HTTP stands on this."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks import servers
from benchmarks.load import FRESH, request
from benchmarks.servers import Server

CLAIMS = {
    "student_name": "Ada Lovelace",
    "institution": "University of London",
    "degree_type": "BSc",
    "field_of_study": "Mathematics",
    "graduation_date": "2026-06-30",
}
DOCUMENT_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@dataclass(frozen=True)
class World:
    """A server, a client with a key for everything, and the body of a mint."""

    server: Server
    client: httpx.Client
    api_key: str
    log_vkey: str
    mint_body: dict[str, Any]

    def mint(self) -> dict[str, Any]:
        """One more attestation; what the server says about it."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        minted = self.client.post("/v1/attestations/mint", json=self.mint_body, headers=headers)
        answer: dict[str, Any] = minted.raise_for_status().json()
        return answer

    def mint_request(self, path: str = "/v1/attestations/mint") -> str:
        """A mint as the load sends it: each time under a key of its own."""
        fresh = f"bench-{secrets.token_hex(6)}-{FRESH}"
        return request("POST", path, self.mint_body, X_API_Key=self.api_key, Idempotency_Key=fresh)

    def bundle(self, attestation_id: str) -> str:
        """The proof bundle as it was sent."""
        return self.client.get(f"/v1/attestations/{attestation_id}/proof-bundle").raise_for_status().text


@contextmanager
def served(data: Path, *, before: Callable[[Path], None] | None = None) -> Iterator[World]:
    """A fresh data folder behind the real server, with an issuer in it; `before` may fill it first."""
    made = servers.init(data)
    if before is not None:
        before(data)
    with (
        servers.attestlab(data) as server,
        httpx.Client(base_url=server.url, headers={"X-API-Key": made["api_key"]}) as client,
    ):
        yield World(server, client, made["api_key"], made["log_vkey"], _mint_body(client))


def _mint_body(client: httpx.Client) -> dict[str, Any]:
    """A mint of a new issuer, whose first key the service made."""
    asked = {"name": "Registrar", "domain": "registrar.example", "alg": "Ed25519"}
    issuer = client.post("/v1/issuers", json=asked).raise_for_status().json()
    return {
        "issuer_id": issuer["id"],
        "kid": issuer["keys"][0]["kid"],
        "alg": "Ed25519",
        "schema": "degree",
        "claims": CLAIMS,
        "document_hash": DOCUMENT_HASH,
    }
