"""A served installation with one issuer and its managed key: the base of all measurements over HTTP."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks import servers
from benchmarks.load import FRESH, format_request
from benchmarks.servers import Server

TIMEOUT_S = 120.0  # a machine that is busy with other work gives a figure, too
CLAIMS = {
    "student_name": "Ada Lovelace",
    "institution": "University of London",
    "degree_type": "BSc",
    "field_of_study": "Mathematics",
    "graduation_date": "2026-06-30",
}
DOCUMENT_HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"


@dataclass(frozen=True)
class ServedInstallation:
    """A server, a client whose API key has all scopes, and the body of a mint."""

    server: Server
    client: httpx.Client
    api_key: str
    log_vkey: str
    mint_body: dict[str, Any]

    def mint(self) -> dict[str, Any]:
        """Mint an attestation and return the response."""
        headers = {"Idempotency-Key": secrets.token_hex(16)}
        minted = self.client.post("/v1/attestations/mint", json=self.mint_body, headers=headers)
        answer: dict[str, Any] = minted.raise_for_status().json()
        return answer

    def build_mint_request(self, path: str = "/v1/attestations/mint") -> str:
        """Return a mint request for the load, with a fresh idempotency key each time it is sent."""
        fresh = f"bench-{secrets.token_hex(6)}-{FRESH}"
        return format_request("POST", path, self.mint_body, X_API_Key=self.api_key, Idempotency_Key=fresh)

    def fetch_bundle(self, attestation_id: str) -> str:
        """Return the proof bundle as the server sent it."""
        return self.client.get(f"/v1/attestations/{attestation_id}/proof-bundle").raise_for_status().text


@contextmanager
def serve_installation(
    data: Path, *, before: Callable[[Path], None] | None = None, database_url: str | None = None
) -> Iterator[ServedInstallation]:
    """Serve a fresh data folder with one issuer; `before` may fill the folder first."""
    made = servers.init_data_folder(data, database_url=database_url)
    if before is not None:
        before(data)
    with (
        servers.run_attestlab(data, database_url=database_url) as server,
        httpx.Client(base_url=server.url, headers={"X-API-Key": made["api_key"]}, timeout=TIMEOUT_S) as client,
    ):
        yield ServedInstallation(server, client, made["api_key"], made["log_vkey"], build_mint_body(client))


def build_mint_body(client: httpx.Client) -> dict[str, Any]:
    """Create an issuer with a managed key, and return the body of a mint by it."""
    profile = {"name": "Registrar", "domain": "registrar.example", "alg": "Ed25519"}
    issuer = client.post("/v1/issuers", json=profile).raise_for_status().json()
    return {
        "issuer_id": issuer["id"],
        "kid": issuer["keys"][0]["kid"],
        "alg": "Ed25519",
        "schema": "degree",
        "claims": CLAIMS,
        "document_hash": DOCUMENT_HASH,
    }
