"""`python -m benchmarks.policy_replay CONTEXTS OUT [RULES [VERB]]`: runs one timed replay in a separate process.

The peak memory of the replay is that of the process. It writes every row's effect and matching rules
to OUT, or counts them if VERB is `groups`.
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
from benchmarks import policy_data
from benchmarks.figures import peak_memory_mib


def main(contexts: str, out: str, rules: str = "20", verb: str = "write") -> None:
    """Print `{seconds, cpu_s, peak_mib, route}` as JSON; the time includes loading DuckDB."""
    policy = Document.read(policy_data.make_document(int(rules)))
    with TemporaryDirectory() as folder:
        lab, _ = Installation.init(Settings(data=Path(folder)))
        begin, used = perf_counter(), process_time()
        done = lab.policies.replay(policy, contexts=contexts)
        count = done.write(out) if verb == "write" else sum(group.count for group in done.groups())
        if count != policy_data.CONTEXTS:
            raise RuntimeError("The replay lost a row.")
        seconds, cpu_s = perf_counter() - begin, process_time() - used
        lab.close()
    peak = peak_memory_mib()
    result = {"seconds": seconds, "cpu_s": cpu_s, "peak_mib": peak, "route": done.route.value}
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
