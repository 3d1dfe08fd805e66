"""`python -m benchmarks.detection`: prints the tables of docs/risk-detection.md.

With `--file`, the logins are those of Wiefling et al. instead of the generated worlds; see `login_file`. To compare
two versions of the detector, save the scores of one and name them in the run of the other.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.detection.login_file import LoginFile
from benchmarks.detection.report import (
    HELD_OUT_SEEDS,
    SIGNAL_SEEDS,
    TUNING_SEEDS,
    render_rivals,
    render_tables,
    run_worlds,
)
from benchmarks.detection.runs import add_before, run_logins, save_scores
from benchmarks.detection.signal_attacks import measure_rules, render_rules


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    parser.add_argument("--file", type=Path, help="the CSV file of the login data set of Wiefling et al.")
    parser.add_argument("--tuning", action="store_true", help="measure on the seeds for tuning, not on the held-out")
    parser.add_argument("--save", type=Path, help="write the detector's scores to this .npy file")
    parser.add_argument("--before", type=Path, help="compare with the scores of this .npy file")
    parser.add_argument("--rules", action="store_true", help="measure plain rules on other signals than logins instead")
    arguments = parser.parse_args()
    if arguments.rules:
        print(render_rules(measure_rules(SIGNAL_SEEDS)))
    elif arguments.file:
        logins = LoginFile(arguments.file)
        print(render_rivals(run_logins(logins.logins(), logins)))
    else:
        _measure_worlds(TUNING_SEEDS if arguments.tuning else HELD_OUT_SEEDS, arguments.save, arguments.before)


def _measure_worlds(seeds: tuple[int, ...], save: Path | None, before: Path | None) -> None:
    column = run_worlds(seeds)
    if save:
        save_scores(column, save)
    print(render_tables(add_before(column, before) if before else column, seeds))


if __name__ == "__main__":
    main()
