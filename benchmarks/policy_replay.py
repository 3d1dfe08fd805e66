"""`python -m benchmarks.policy_replay CONTEXTS OUT`: one replay in a process of its own, timed, with its peak memory.

Every row's effect and matching rules are written to OUT.
"""

from __future__ import annotations

import json
import resource
import sys
from time import perf_counter

from attestlab.policy.replay import replay
from benchmarks import policy_world


def main(contexts: str, out: str) -> None:
    """Print `{seconds, peak_mib, route}` as JSON."""
    policy = policy_world.policy(20)
    begin = perf_counter()
    done = replay(policy, contexts)
    if done.write(out) != policy_world.CONTEXTS:
        raise RuntimeError("A row was lost.")
    seconds = perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mib": peak, "route": done.route.value}))


if __name__ == "__main__":
    main(*sys.argv[1:])
