"""`python -m benchmarks.stall.neighbours`: measures one tenant's mints while another tenant sends large policies.

It prints one JSON line per load: `{"load", "p50_ms", "p99_ms", "statuses"}`. The first load is empty, for comparison.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.settings import Settings
from benchmarks import load, servers
from benchmarks.load import FRESH, format_request
from benchmarks.stall import policies
from benchmarks.stall.shapes import dump_json
from benchmarks.world import CLAIMS

SECONDS = 6.0
MEGABYTE = 1_040_000
LEAVES = 12_000
Attack = Callable[[httpx.Client], int]


def main() -> None:
    """Measure each load."""
    with tempfile.TemporaryDirectory(prefix="attestlab-neighbours-") as folder:
        data = Path(folder) / "data"
        lab, made = Installation.init(Settings(data=data))
        other = lab.orgs.create_tenant("Other", plan=Plan.ENTERPRISE)
        lab.close()
        with servers.run_attestlab(data) as server:
            mint = _mint_request(server.url, made.public()["api_key"])
            for name, count, attack in _LOADS:
                print(json.dumps({"load": name, **_measure(server, mint, other.api_key, count, attack)}), flush=True)


def _measure(server: servers.Server, mint: str, key: str, count: int, attack: Attack) -> dict[str, object]:
    """Measure mints over one connection while `count` clients attack without pause."""
    over, statuses = Event(), Counter[int]()

    def client() -> None:
        with httpx.Client(base_url=server.url, headers={"X-API-Key": key}, timeout=120) as attacker:
            while not over.is_set():
                statuses[attack(attacker)] += 1

    with ThreadPoolExecutor(max(1, count)) as pool:
        running = [pool.submit(client) for _ in range(count)]
        result = load.run_load(load.Plan(server.port, 1, SECONDS, 1.0, 201, [mint]))
        over.set()
        for each in running:
            each.result()
    return {"p50_ms": round(result.p50_ms, 1), "p99_ms": round(result.p99_ms, 1), "statuses": dict(statuses)}


def _mint_request(url: str, key: str) -> str:
    with httpx.Client(base_url=url, headers={"X-API-Key": key}) as client:
        profile = {"name": "Registrar", "domain": "registrar.example", "alg": "Ed25519"}
        issuer = client.post("/v1/issuers", json=profile).raise_for_status().json()
    body = {"issuer_id": issuer["id"], "kid": issuer["keys"][0]["kid"], "alg": "Ed25519", "schema": "degree"}
    fresh = f"bench-{secrets.token_hex(6)}-{FRESH}"
    return format_request(
        "POST", "/v1/attestations/mint", {**body, "claims": CLAIMS}, X_API_Key=key, Idempotency_Key=fresh
    )


def _post_attack(path: str, body: bytes) -> Attack:
    return lambda client: client.post(path, content=body, headers={"Content-Type": "application/json"}).status_code


def _simulate_body() -> bytes:
    leaves = [policies.leaf(number) for number in range(LEAVES)]
    rules = [policies.rule(n, {"any": leaves[n : n + 200]}) for n in range(0, LEAVES, 200)]
    return dump_json({"policy": policies.document(rules), "by": []})


def _long_policy() -> bytes:
    rules = [{**policies.rule(n, policies.leaf(n)), "reason": "why " * 125} for n in range(1_000)]
    body = dump_json(policies.document(rules))
    tests = [
        {"name": f"t{n}", "context": {"key.age_days": n}, "allowed": True} for n in range((MEGABYTE - len(body)) // 65)
    ]
    return dump_json(policies.document(rules, tests=tests[:1_000]))


_LOADS: list[tuple[str, int, Attack]] = [
    ("none", 0, lambda client: 0),
    (
        "8 x POST /v1/policies, 12,000 leaves",
        8,
        _post_attack("/v1/policies", dump_json(json.loads(_simulate_body())["policy"])),
    ),
    ("8 x POST /v1/policies, 1,000 rules with tests", 8, _post_attack("/v1/policies", _long_policy())),
    ("20 x POST /v1/policies/simulate, 12,000 leaves", 20, _post_attack("/v1/policies/simulate", _simulate_body())),
]


if __name__ == "__main__":
    main()
