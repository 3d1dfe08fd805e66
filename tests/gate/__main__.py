"""Run tests by their cost: `make quick`, `make test`, `make shard` and `make all` run this."""

from __future__ import annotations

import argparse
import os
import random
import sys

from gate.commands import run_all, run_quick, run_shard, run_test
from gate.reporting import say
from gate.stages import Gate

LANDING = "GATE_LANDING"
"""Names the environment variable that `.ci/run` sets."""


def main() -> int:
    """Return 0 for green, 1 for red, 2 for a shard that does not exist."""
    asked, options = _read_arguments()
    gate = Gate(options, is_landing=bool(os.environ.get(LANDING)))
    if asked.command == "quick":
        return run_quick(gate)
    if asked.command == "test":
        return run_test(gate)
    seed = random.SystemRandom().getrandbits(32)
    say(f"Hypothesis tries new examples; `--hypothesis-seed {seed}` tries the same again.")
    return run_all(gate, seed=seed) if asked.command == "all" else run_shard(gate, asked.number, seed=seed)


def _read_arguments() -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="make", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("quick", "test", "all"):
        commands.add_parser(name)
    commands.add_parser("shard").add_argument("--number", type=int)
    return parser.parse_known_args()


if __name__ == "__main__":
    sys.exit(main())
