"""`python -m benchmarks.policy_replay CONTEXTS OUT`: one replay in a process of its own, timed, with its peak memory.

Every row's effect and matching rules are written to OUT.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from attestlab.lab import Lab
from attestlab.policy.documents import Document
from attestlab.settings import Settings
from benchmarks import policy_world


def main(contexts: str, out: str) -> None:
    """Print `{seconds, peak_mib, route}` as JSON; what is timed is the public verb, DuckDB being loaded by it."""
    policy = Document.read(policy_world.document(20))
    with TemporaryDirectory() as folder:
        lab, _ = Lab.init(Settings(data=Path(folder)))
        begin = perf_counter()
        done = lab.policies.replay(policy, contexts=contexts)
        if done.write(out) != policy_world.CONTEXTS:
            raise RuntimeError("A row was lost.")
        seconds = perf_counter() - begin
        lab.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mib": peak, "route": done.route.value}))


if __name__ == "__main__":
    main(*sys.argv[1:])
