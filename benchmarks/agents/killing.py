"""The dry run and the kill of 10,000 agents under one root, next to another tenant's verifications.

The durations are those of whole requests, of which the machine's other work is a part; the server's processor time is
not. Each round kills another tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep
from typing import NamedTuple
from uuid import UUID

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.settings import Settings
from benchmarks import world
from benchmarks.agents.fleet import Planter
from benchmarks.figures import Figure
from benchmarks.waits.bulk_over_http import VERIFICATIONS_PER_S, Verifier
from benchmarks.world import ServedInstallation

AGENTS = 10_000
TREES = 5
DRY_RUNS = 3  # of each tree
ALONE_S = 3.0  # of verifications without a kill


class _Planted(NamedTuple):
    """The tenant of the trees: its key, and their roots."""

    api_key: str
    roots: list[UUID]


class _Cost(NamedTuple):
    took_s: float
    cpu_s: float


def figures(folder: Path, engine: str, url: str | None) -> Iterator[Figure]:
    """Yield the figures of one database; the server writes to `folder`."""
    planted: list[_Planted] = []
    with world.serve_installation(
        folder, before=lambda data: planted.append(_plant(data, url)), database_url=url
    ) as served:
        yield from _measure(served, planted[0], f"agents.{engine}")


def _plant(data: Path, url: str | None) -> _Planted:
    lab = Installation.open(Settings(data=data, **({} if url is None else {"database_url": url})))  # type: ignore[arg-type]
    tenant = lab.orgs.create_tenant("Northfield Robots", plan=Plan.ENTERPRISE)
    planter = Planter(lab, lab.orgs.service_caller(tenant.tenant_id))
    roots = [planter.grow(AGENTS) for _ in range(TREES)]
    lab.close()
    return _Planted(tenant.api_key, roots)


def _measure(served: ServedInstallation, planted: _Planted, name: str) -> Iterator[Figure]:
    verifier = Verifier.of(served)
    dry_runs, kills, quiet_ms, busy_ms = list[_Cost](), list[_Cost](), list[float](), list[float]()
    for root in planted.roots:
        dry_runs += [_kill(served, planted, root, dry_run=True) for _ in range(DRY_RUNS)]
        with verifier.verifying() as quiet:
            sleep(ALONE_S)
        with verifier.verifying() as busy:
            kills.append(_kill(served, planted, root, dry_run=False))
        quiet_ms.append(_find_p95_ms(quiet))
        busy_ms.append(_find_p95_ms(busy))
    for what, costs in {"dry_run": dry_runs, "kill": kills}.items():
        yield Figure.of_rounds(f"{name}.{what}_{AGENTS}_s", [each.took_s for each in costs], "s")
        yield Figure.of_rounds(f"{name}.{what}_{AGENTS}_cpu_s", [each.cpu_s for each in costs], "s")
    ratios = [busy / quiet for busy, quiet in zip(busy_ms, quiet_ms, strict=True)]
    rate = f"{VERIFICATIONS_PER_S} verifications a second alone"
    yield Figure.of_rounds(f"{name}.beside_kill_p95_ratio", ratios, "ratio", against=rate)
    yield Figure.of_rounds(f"{name}.beside_kill_p95_ms", busy_ms, "ms")
    yield Figure.of_rounds(f"{name}.verify_alone_p95_ms", quiet_ms, "ms")


def _kill(served: ServedInstallation, planted: _Planted, root: UUID, *, dry_run: bool) -> _Cost:
    body, headers = {"reason": "a measurement", "dry_run": dry_run}, {"X-API-Key": planted.api_key}
    used, began = served.server.cpu_s(), perf_counter()
    answer = served.client.post(f"/v1/agents/{root}/kill", json=body, headers=headers)
    cost = _Cost(perf_counter() - began, served.server.cpu_s() - used)
    if answer.raise_for_status().json()["revoked_descendants"] != AGENTS:
        raise RuntimeError(f"The kill has another size: {answer.text[:200]}")
    return cost


def _find_p95_ms(latencies: list[float]) -> float:
    return 1e3 * quantiles(latencies, n=20, method="inclusive")[-1]
