"""`policy.verify_ratio`: throughput of verification over HTTP with 20 active rules, as a share of that without.

The two sides run in turn. One side stores and audits each decision; the other side's installation has no policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from attestlab.installation import Installation
from attestlab.lake.store import get_operator_id
from attestlab.policy.active_policies import PolicyQuery
from attestlab.policy.evaluation.binder import bind
from attestlab.policy.evaluation.evaluator import Evaluator
from attestlab.policy.language.attributes import PLATFORM
from attestlab.policy.language.context import Values
from attestlab.policy.language.document import Category, Document, TargetType
from attestlab.settings import Settings
from benchmarks import policy_data, world
from benchmarks.figures import Figure
from benchmarks.load import Plan, format_request, run_loads_in_order

ROUNDS = 120  # many short rounds, so that a slow moment of the machine affects only one of them
SECONDS = 0.25
WARMUP_S = 0.1
SERVICE_ROUNDS = 21
CONNECTIONS = 64
RULES = 20
CONTEXT: Values = {"trust_tier": "SELF_SIGNED", "status": "ACTIVE", "risk_rating": "LOW", "key.age_days": 0,
                 "key.status": "active"}  # fmt: skip  # of the issuer that `world` creates


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the ratio and the values of both sides; the servers write to `folder`."""
    with ExitStack() as stack:
        ruled = stack.enter_context(world.serve_installation(folder / "ruled", before=_activate_allowing_policy))
        plain = stack.enter_context(world.serve_installation(folder / "plain"))
        rounds = _run_rounds([_verify_plan(each) for each in (ruled, plain)])
    shares = [one / other for one, other in rounds]
    yield Figure.of_rounds("policy.verify_ratio", shares, "ratio", against="the same server without a policy")
    for name, side in (("policy.verify_per_s", 0), ("policy.verify_without_per_s", 1)):
        yield Figure.of_rounds(name, [each[side] for each in rounds], "1/s")
    yield _service_decisions(folder / "ruled")


def _service_decisions(data: Path) -> Figure:
    """Return the time to evaluate, store and audit one decision, in groups like the server's, including the commit."""
    lab = Installation.open(Settings(data=data))
    with lab.storage.read() as connection:
        caller = lab.orgs.service_caller(get_operator_id(connection))
    question = PolicyQuery(Category.VERIFY, TargetType.TENANT_DEFAULT)
    rounds = []
    for number in range(SERVICE_ROUNDS * 3):
        contexts = [{**CONTEXT, "key.age_days": number * CONNECTIONS + days} for days in range(CONNECTIONS)]
        began = perf_counter()
        asked = [
            lab.policy_decisions.evaluate_context(question, each, caller=caller) for each in contexts
        ]  # none is cached
        with lab.storage.write() as tx:
            for each in asked:
                lab.policy_decisions.record(each, caller=caller, tx=tx)
        rounds.append((perf_counter() - began) / CONNECTIONS * 1e6)
    lab.close()
    return Figure.of_rounds("policy.service_us", rounds[SERVICE_ROUNDS:], "us", against=f"groups of {CONNECTIONS}")


def _run_rounds(sides: list[Plan]) -> list[tuple[float, float]]:
    """Return verifications per second of each side, alternating so that a slow moment affects both sides."""
    speeds = [load.per_second for load in run_loads_in_order(sides, [0, 1, 1, 0] * ROUNDS)]
    in_rounds = [speeds[at : at + 4] for at in range(0, len(speeds), 4)]
    return [((first + fourth) / 2, (second + third) / 2) for first, second, third, fourth in in_rounds]


def _activate_allowing_policy(data: Path) -> None:
    activate_policy(data, _find_allowing_document())


def activate_policy(data: Path, document: Document) -> None:
    """Activate a policy of the operator's tenant."""
    lab = Installation.open(Settings(data=data))
    with lab.storage.read() as connection:
        caller = lab.orgs.service_caller(get_operator_id(connection))
    made = lab.policies.create(document, caller=caller)
    with lab.simulations.of(made.id, caller=caller) as simulation:
        digest = simulation.report().digest
    examined = lab.policies.examine(made.id, caller=caller)
    second = replace(caller, actor_id="a second person")
    dead = examined.dead_rules
    lab.policies.activate(made.id, examined, simulation_digest=digest, acknowledged=dead, caller=second)
    lab.close()


def _find_allowing_document() -> Document:
    """Return the first random policy that allows the verification."""
    documents = (Document.read(policy_data.make_document(RULES, seed)) for seed in count(1))
    return next(each for each in documents if Evaluator(bind(each, PLATFORM))(dict(CONTEXT)).allowed)


def _verify_plan(served: world.ServedInstallation) -> Plan:
    bodies: list[dict[str, Any]] = [
        {"attestation_id": served.mint()["id"], "document_hash_hex": world.DOCUMENT_HASH} for _ in range(64)
    ]
    answer = served.client.post("/v1/verify", json=bodies[0]).json()
    if answer["verdict"] != "VALID":
        raise RuntimeError(f"It verifies as {answer['verdict']}, but the benchmark measures VALID ones.")
    requests = [format_request("POST", "/v1/verify", body) for body in bodies]
    return Plan(served.server.port, CONNECTIONS, SECONDS, WARMUP_S, 200, requests)
