"""`python -m benchmarks.policy_simulation CONTEXTS RULES`: runs one simulation in a separate process.

One policy of RULES rules is active; the draft replaces it with as many other rules.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from attestlab.policy.evaluation.policy_set import PolicySetMember
from attestlab.policy.language.ast import Policy, iterate_comparisons
from attestlab.policy.language.attributes import NUMERIC, ORDERING, PLATFORM
from attestlab.simulation.history import ContextsHistory, open_connection
from attestlab.simulation.query_session import QuerySession
from attestlab.simulation.scenarios import Scenario, ScenarioSets, TargetSets
from attestlab.simulation.simulation import Simulation
from benchmarks import policy_data
from benchmarks.figures import peak_memory_mib

SLIDERS = 5  # swept thresholds


def main(contexts: str, rules: str) -> None:
    """Print `{compare_s, sweep_ms, warm_compare_ms, is_kept, peak_mib}` as JSON.

    `compare_s` is the time of the first query, which reads the history. The later queries use the distinct contexts in
    memory, if there are few, and none of them is cached.
    """
    draft = policy_data.make_policy(int(rules))
    begin = perf_counter()
    with Simulation(
        QuerySession(open_connection()), ContextsHistory(contexts), _make_scenario(draft, int(rules)), PLATFORM
    ) as simulation:
        simulation.compare(["trust_tier"]).flips.rows()
        compare_s = perf_counter() - begin
        sweeps = [_time_sweep_ms(simulation, *threshold) for threshold in _find_thresholds(draft)]
        begin = perf_counter()
        simulation.compare(["trust_tier"]).flips.rows()
        times = {"compare_s": compare_s, "sweep_ms": sweeps, "warm_compare_ms": 1000 * (perf_counter() - begin)}
        peak = peak_memory_mib()
        print(json.dumps({**times, "is_kept": simulation.is_cached, "peak_mib": peak}))


def _make_scenario(draft: Policy, rules: int) -> Scenario:
    """Return a scenario that uses all seven keys of the specification, so the simulation keeps all of them."""
    draft_member = PolicySetMember("policy", "1" * 64, draft)
    active_member = PolicySetMember("policy", "0" * 64, policy_data.make_policy(rules, seed=6))
    return Scenario(draft_member, ScenarioSets.of([TargetSets(None, (active_member,), (draft_member,))], draft_member))


def _find_thresholds(policy: Policy) -> list[tuple[str, str]]:
    """Return rules that compare one number with one threshold."""
    found = []
    for rule in policy.enforced_rules:
        asked = [
            leaf for leaf in iterate_comparisons(rule.when) if leaf.op in ORDERING and leaf.attribute.type in NUMERIC
        ]
        if len(asked) == 1:
            found.append((rule.id, asked[0].attribute.path))
    return found[:SLIDERS]


def _time_sweep_ms(simulation: Simulation, rule_id: str, attribute: str) -> float:
    begin = perf_counter()
    simulation.sweep(rule_id, attribute).rows()
    return 1000 * (perf_counter() - begin)


if __name__ == "__main__":
    main(*sys.argv[1:])
