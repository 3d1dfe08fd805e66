"""`python -m benchmarks.policy_replay CONTEXTS OUT [RULES [VERB]]`: one timed replay in a process of its own.

Its peak memory is that of the process.

Every row's effect and matching rules are written to OUT; or, where VERB is `groups`, counted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from attestlab.installation import Installation
from attestlab.policy.language.document import Document
from attestlab.settings import Settings
from benchmarks import policy_world
from benchmarks.figures import peak_memory_mib


def main(contexts: str, out: str, rules: str = "20", verb: str = "write") -> None:
    """Print `{seconds, cpu_s, peak_mib, route}` as JSON; timed is the public verb, which loads DuckDB."""
    policy = Document.read(policy_world.document(int(rules)))
    with TemporaryDirectory() as folder:
        lab, _ = Installation.init(Settings(data=Path(folder)))
        begin, used = perf_counter(), process_time()
        done = lab.policies.replay(policy, contexts=contexts)
        count = done.write(out) if verb == "write" else sum(group.count for group in done.groups())
        if count != policy_world.CONTEXTS:
            raise RuntimeError("A row was lost.")
        seconds, cpu_s = perf_counter() - begin, process_time() - used
        lab.close()
    peak = peak_memory_mib()
    found = {"seconds": seconds, "cpu_s": cpu_s, "peak_mib": peak, "route": done.route.value}
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
