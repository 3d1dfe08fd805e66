"""The dry run and the kill of 10,000 agents under one root, next to another tenant's requests.

Neither reads nor verifications wait for a commit: verifications are counted behind their answer. The durations are
those of whole requests, of which the machine's other work is a part. The server's processor time is not, and it lacks
that of the process which kills a large tree. Each round kills another tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import quantiles
from time import perf_counter, sleep
from typing import NamedTuple
from uuid import UUID

from attestlab.installation import Installation
from attestlab.orgs.rules import Plan
from attestlab.settings import Settings
from benchmarks import world
from benchmarks.agents.fleet import Planter, analyze
from benchmarks.figures import Figure
from benchmarks.waits.bulk_over_http import RegularClient
from benchmarks.world import ServedInstallation

AGENTS = 10_000
ROUNDS = 3
DRY_RUNS = 3  # of each round
KINDS = {"read": RegularClient.that_reads, "verification": RegularClient.that_verifies}
TREES = ROUNDS * (1 + len(KINDS))
ALONE_S = 3.0  # of requests without a kill


class _Planted(NamedTuple):
    """The tenant of the trees: its key, and their roots."""

    api_key: str
    roots: list[UUID]


class _Cost(NamedTuple):
    took_s: float
    cpu_s: float


class _Latencies(NamedTuple):
    """The p95 of another tenant's requests, which come 50 times a second, without a kill and next to one."""

    alone_ms: float
    during_ms: float


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
    analyze(lab)
    lab.close()
    return _Planted(tenant.api_key, roots)


def _measure(served: ServedInstallation, planted: _Planted, name: str) -> Iterator[Figure]:
    """Measure dry runs, and kills by turns alone and next to another tenant's requests of each kind."""
    roots = iter(planted.roots)
    dry_runs, kills, during = list[_Cost](), list[_Cost](), {kind: list[_Latencies]() for kind in KINDS}
    for _ in range(ROUNDS):
        alone = next(roots)
        dry_runs += [_kill(served, planted, alone, dry_run=True) for _ in range(DRY_RUNS)]
        kills.append(_kill(served, planted, alone, dry_run=False))
        for kind, make in KINDS.items():
            during[kind].append(
                _measure_during(make(served), partial(_kill, served, planted, next(roots), dry_run=False))
            )
    for what, costs in {"dry_run": dry_runs, "kill": kills}.items():
        yield Figure.of_rounds(f"{name}.{what}_{AGENTS}_s", [each.took_s for each in costs], "s")
        yield Figure.of_rounds(f"{name}.{what}_{AGENTS}_cpu_s", [each.cpu_s for each in costs], "s")
    for kind, latencies in during.items():
        ratios = [each.during_ms / each.alone_ms for each in latencies]
        yield Figure.of_rounds(f"{name}.{kind}_during_kill_p95_ratio", ratios, "ratio", against="without a kill")
        yield Figure.of_rounds(f"{name}.{kind}_during_kill_p95_ms", [each.during_ms for each in latencies], "ms")


def _measure_during(client: RegularClient, kill: Callable[[], object]) -> _Latencies:
    with client.sending() as alone:
        sleep(ALONE_S)
    with client.sending() as during:
        kill()
    return _Latencies(_find_p95_ms(alone), _find_p95_ms(during))


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
