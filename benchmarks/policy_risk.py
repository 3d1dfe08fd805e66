"""`policy.mint_*`: throughput of mints over HTTP while a policy tests risk, one that does not, and none is active.

The sides run in turn. The issuer at risk has as many recent signals as a decision reads at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from attestlab.policy.language.document import Document
from attestlab.risk.rules import MAX_RECENT_SIGNALS
from benchmarks import world
from benchmarks.figures import Figure
from benchmarks.load import Plan, run_loads_in_order
from benchmarks.policy_enforcement import activate_policy

ROUNDS = 12
SECONDS = 0.5
WARMUP_S = 0.2
CONNECTIONS = 64
SIDES = ("risk", "risk_few", "no_risk", "none")
ORDER = [0, 1, 2, 3, 3, 2, 1, 0]  # each side twice a round, so that a slow moment affects all


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the throughput of each side, and the shares of the sides with a policy; the servers write to `folder`."""
    risky = _make_document({"attr": "risk.issuer.score", "op": "gte", "value": 80})
    plain = _make_document({"attr": "key.age_days", "op": "gte", "value": 80})
    documents = {"risk": risky, "risk_few": risky, "no_risk": plain, "none": None}
    with ExitStack() as stack:
        served = [stack.enter_context(_serve(folder / f"mint_{name}", documents[name])) for name in SIDES]
        _add_signals(served[0], MAX_RECENT_SIGNALS)
        _add_signals(served[1], 10)
        plans = [Plan(each.server.port, CONNECTIONS, SECONDS, WARMUP_S, 201, [each.build_mint_request()])
                 for each in served]  # fmt: skip
        loads = run_loads_in_order(plans, ORDER * ROUNDS)
    speeds = _mean_by_side([load.per_second for load in loads])
    for name, values in speeds.items():
        yield Figure.of_rounds(f"policy.mint_{name}_per_s", values, "1/s")
    for name, other in (("risk", "no_risk"), ("risk_few", "no_risk"), ("no_risk", "none")):
        shares = [one / two for one, two in zip(speeds[name], speeds[other], strict=True)]
        yield Figure.of_rounds(f"policy.mint_{name}_ratio", shares, "ratio", against=f"policy.mint_{other}_per_s")


def _mean_by_side(speeds: list[float]) -> dict[str, list[float]]:
    rounds = [speeds[at : at + len(ORDER)] for at in range(0, len(speeds), len(ORDER))]
    return {
        name: [(each[side] + each[len(ORDER) - 1 - side]) / 2 for each in rounds] for side, name in enumerate(SIDES)
    }


def _serve(data: Path, document: Document | None) -> Any:
    return world.serve_installation(
        data, before=None if document is None else lambda folder: activate_policy(folder, document)
    )


def _make_document(when: dict[str, object]) -> Document:
    rule = {"id": "no", "effect": "DENY", "priority": 1, "when": when}
    return Document.read(
        {
            "name": "Benchmark",
            "category": "MINT",
            "target_type": "TENANT_DEFAULT",
            "default_effect": "ALLOW",
            "rules": [rule],
        }
    )


def _add_signals(served: world.ServedInstallation, count: int) -> None:
    """Record recent signals of the issuer, below the score that the policy denies."""
    issuer = served.mint_body["issuer_id"]
    signal = {"source": "b", "signal_type": "b", "score": 50, "entity_type": "issuer", "entity_id": issuer}
    for _ in range(count):
        served.client.post("/v1/risk/signals", json=signal).raise_for_status()
