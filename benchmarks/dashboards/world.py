"""A served installation whose dashboards have something to show: signals, attestations, issuers and a policy.

BENCH_SIGNALS is the number of signals (100,000 by default), BENCH_ATTESTATIONS that of attestations (20,000).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

import attestlab
from attestlab.installation import Installation
from attestlab.lake.store import get_operator_id
from attestlab.policy.language.document import Document
from attestlab.settings import Settings
from benchmarks import servers
from benchmarks.load import FRESH, format_request
from benchmarks.policy_enforcement import activate_policy
from benchmarks.risk_lake import SIGNALS_VARIABLE, load_signals
from benchmarks.servers import Server
from benchmarks.world import CLAIMS, DOCUMENT_HASH, TIMEOUT_S

SIGNALS = int(os.environ.get(SIGNALS_VARIABLE, "100000"))
ATTESTATIONS = int(os.environ.get("BENCH_ATTESTATIONS", "20000"))
ISSUERS = 8
_POLICY = {
    "name": "Mint: trust",
    "category": "MINT",
    "target_type": "TENANT_DEFAULT",
    "default_effect": "ALLOW",
    "rules": [
        {
            "id": "risk",
            "effect": "DENY",
            "priority": 1,
            "when": {"attr": "risk_rating", "op": "eq", "value": "CRITICAL"},
        },
        {"id": "old-key", "effect": "DENY", "priority": 2, "when": {"attr": "key.age_days", "op": "gt", "value": 365}},
    ],
}


@dataclass(frozen=True)
class DashboardWorld:
    """The server, the owner who signs in, and requests for the API next to the people."""

    server: Server
    email: str
    password: str
    mint: str
    verify: str

    def find_process(self) -> int:
        """Return the process of the dashboards, which the server starts with the first request for one.

        Raises:
            RuntimeError: it does not run.
        """
        tasks = Path(f"/proc/{self.server.pid}/task")
        for pid in {pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()}:
            if b"attestlab_dashboards" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return int(pid)
        raise RuntimeError("The server has not started the dashboards.")


@dataclass(frozen=True)
class FilledWorld:
    """A filled data folder: its owner and first API key, as `init` made them, and its first issuer."""

    data: Path
    made: Mapping[str, str]
    issuer_id: str

    @contextmanager
    def serve(self) -> Iterator[DashboardWorld]:
        """Start a server on the folder; end it after the block."""
        key = self.made["api_key"]
        with (
            servers.run_attestlab(self.data) as server,
            httpx.Client(base_url=server.url, headers={"X-API-Key": key}, timeout=TIMEOUT_S) as client,
        ):
            issuer = client.get(f"/v1/issuers/{self.issuer_id}").raise_for_status().json()
            body = {
                "issuer_id": self.issuer_id,
                "kid": issuer["keys"][0]["kid"],
                "alg": "Ed25519",
                "schema": "degree",
                "claims": CLAIMS,
                "document_hash": DOCUMENT_HASH,
            }
            minted = client.post("/v1/attestations/mint", json=body, headers={"Idempotency-Key": "first"})
            mint = format_request(
                "POST", "/v1/attestations/mint", body, X_API_Key=key, Idempotency_Key=f"bench-{FRESH}"
            )
            verify = format_request("POST", "/v1/verify", {"attestation_id": minted.raise_for_status().json()["id"]})
            yield DashboardWorld(server, self.made["owner_email"], self.made["owner_password"], mint, verify)


def fill_world(data: Path, *, signals: int = SIGNALS, attestations: int = ATTESTATIONS) -> FilledWorld:
    """Fill a fresh data folder."""
    made = servers.init_data_folder(data)
    _load_signals(data, signals)
    activate_policy(data, Document.read(_POLICY))
    return FilledWorld(data, made, _mint(data, attestations))


@contextmanager
def serve_world(data: Path) -> Iterator[DashboardWorld]:
    """Fill a fresh data folder, and serve it."""
    with fill_world(data).serve() as world:
        yield world


def _load_signals(data: Path, count: int) -> None:
    lab = Installation.open(Settings(data=data, database_url=None))
    with lab.storage.read() as connection:
        tenant_id = get_operator_id(connection)
    load_signals(lab, count, [tenant_id])
    lab.close()


def _mint(data: Path, count: int) -> str:
    """Mint the attestations, an equal share by each issuer; return the id of the first issuer."""
    with attestlab.open(data) as lab:
        issuers = [
            lab.issuers.create(f"Issuer {number}", f"issuer-{number}.example", jurisdiction="GB")
            for number in range(ISSUERS)
        ]
        items = (
            {"issuer": f"Issuer {number % ISSUERS}", "schema": "degree", "claims": CLAIMS} for number in range(count)
        )
        done = lab.attestations.mint_many(items)
        if refused := [each for each in done if isinstance(each, attestlab.AttestLabError)]:
            raise RuntimeError(f"{len(refused)} mints were refused: {refused[0]}")
        return str(issuers[0].id)
