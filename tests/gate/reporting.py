"""What the gate says: lines that begin with `==`, and the ledger of what failed by chance, `build/flaky.jsonl`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from gate.chance import Verdict
from gate.changes import read_head


def say(text: str) -> None:
    """Print a line that stands out from pytest's."""
    print(f"== {text}", file=sys.stdout, flush=True)


def say_verdict(verdict: Verdict) -> None:
    """Name each failure of chance and each reason for which the run is red; the last line counts them."""
    for failure, number in verdict.flaky:
        say(f"FLAKY {failure.test}: passed alone on try {number}. {failure.signature}")
    for signature, tests in verdict.by_signature.items():
        if tests > 1:
            say(f"FLAKY {tests} times: {signature}")
    for reason in verdict.red:
        say(f"RED {reason}")
    say(f"{'RED' if verdict.red else 'green'}, {len(verdict.flaky)} FLAKY")


def write_ledger(verdict: Verdict, file: Path) -> None:
    """Append what failed by chance, with the commit at which it did."""
    file.parent.mkdir(exist_ok=True)
    with file.open("a") as ledger:
        for failure, number in verdict.flaky:
            line = {"test": failure.test, "signature": failure.signature, "passed_on": number, "at": int(time.time())}
            ledger.write(json.dumps({**line, "commit": read_head()}) + "\n")
