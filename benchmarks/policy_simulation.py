"""`python -m benchmarks.policy_simulation CONTEXTS RULES`: one simulation in a process of its own.

In force is one policy of so many rules, the draft takes its place with as many others.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import Policy, leaves
from attestlab.policy.language.attributes import NUMERIC, ORDERING, PLATFORM
from attestlab.simulation.history import ContextsHistory, opened
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import Scenario, ScenarioSets, TargetSets
from attestlab.simulation.simulation import Simulation
from benchmarks import policy_world
from benchmarks.figures import peak_memory_mib

SLIDERS = 5  # thresholds that are swept


def main(contexts: str, rules: str) -> None:
    """Print `{compare_s, sweep_ms, warm_compare_ms, is_kept, peak_mib}` as JSON.

    `compare_s` is the first question: the past is read for it. The others find distinct contexts in memory, where
    there are few of them, and ask what was never asked before.
    """
    draft = policy_world.policy(int(rules))
    begin = perf_counter()
    with Simulation(
        QuerySession(opened()), ContextsHistory(contexts), _trial(draft, int(rules)), PLATFORM
    ) as simulation:
        simulation.compare(["trust_tier"]).flips.rows()
        compare_s = perf_counter() - begin
        sweeps = [_ms(simulation, *threshold) for threshold in _thresholds(draft)]
        begin = perf_counter()
        simulation.compare(["trust_tier"]).flips.rows()
        told = {"compare_s": compare_s, "sweep_ms": sweeps, "warm_compare_ms": 1000 * (perf_counter() - begin)}
        peak = peak_memory_mib()
        print(json.dumps({**told, "is_kept": simulation.is_kept, "peak_mib": peak}))


def _trial(draft: Policy, rules: int) -> Scenario:
    """All of the specification's seven keys are asked about, so all are held."""
    tried = PolicySetMember("policy", "1" * 64, draft)
    stands = PolicySetMember("policy", "0" * 64, policy_world.policy(rules, seed=6))
    return Scenario(tried, ScenarioSets.of([TargetSets(None, (stands,), (tried,))], tried))


def _thresholds(policy: Policy) -> list[tuple[str, str]]:
    """Rules that compare one number with one threshold."""
    found = []
    for rule in policy.counting:
        asked = [leaf for leaf in leaves(rule.when) if leaf.op in ORDERING and leaf.attribute.type in NUMERIC]
        if len(asked) == 1:
            found.append((rule.id, asked[0].attribute.path))
    return found[:SLIDERS]


def _ms(simulation: Simulation, rule_id: str, attribute: str) -> float:
    begin = perf_counter()
    simulation.sweep(rule_id, attribute).rows()
    return 1000 * (perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
