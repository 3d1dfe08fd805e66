"""Plant the mutants and print which of them the tests catch; `make mutants` runs this."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from time import monotonic

from mutants.declared import Mutant, mutants
from mutants.running import Outcome, Result, baseline, hunt

ROOT = Path(__file__).parents[2]
_GOOD = (Outcome.CAUGHT, Outcome.CAUGHT_BY_WHOLE)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of mutants; default all")
    parser.add_argument("--list", action="store_true", help="print the mutants and plant none")
    parser.add_argument("--whole", action="store_true", help="run the whole suite against those that survive")
    parser.add_argument("--baseline", action="store_true", help="first run the nearest tests without any mutant")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="how many are tested at once (2)")
    parser.add_argument("--tree", type=Path, default=ROOT, help="another checkout in which to plant them")
    return parser.parse_args()


def _wanted(names: list[str]) -> list[Mutant]:
    return [mutant for mutant in mutants() if not names or any(name in mutant.name for name in names)]


def _print(result: Result) -> None:
    print(f"{result.outcome.value:<9} {result.took_s:5.0f} s  {result.mutant.name:<52} {result.evidence}", flush=True)


def main() -> int:
    """Return 0 when every mutant was caught, 1 when one was not, 2 when none is of that name."""
    asked = _arguments()
    wanted = _wanted(asked.names)
    if not wanted:
        print(f"No mutant has {' or '.join(asked.names)} in its name; --list prints them.", file=sys.stderr)
        return 2
    if asked.list:
        print(*(f"{mutant.name:<52} {mutant.promise}" for mutant in wanted), sep="\n")
        return 0
    if asked.baseline and (failing := baseline(wanted, tree=asked.tree, processes=asked.processes)):
        print("These tests fail without any mutant:", *failing, sep="\n  ", file=sys.stderr)
        return 1
    return _hunt(wanted, asked)


def _hunt(wanted: list[Mutant], asked: argparse.Namespace) -> int:
    began, results = monotonic(), []
    for result in hunt(wanted, tree=asked.tree, processes=asked.processes, whole=asked.whole):
        results.append(result)
        _print(result)
    counts = Counter(result.outcome for result in results)
    summary = ", ".join(f"{count} {outcome.value}" for outcome, count in counts.items())
    print(f"\n{len(results)} mutants in {monotonic() - began:.0f} s: {summary}.")
    return 0 if all(result.outcome in _GOOD for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
