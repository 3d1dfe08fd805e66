"""`python -m benchmarks.detection [--file rba-dataset.csv]`: prints the tables of docs/risk-detection.md.

With `--file`, the logins are those of Wiefling et al. instead of the generated worlds; see `login_file`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.detection.login_file import LoginFile
from benchmarks.detection.report import render_rivals, render_tables, run_held_out
from benchmarks.detection.runs import run_logins


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.detection", description=__doc__)
    parser.add_argument("--file", type=Path, help="the CSV file of the login data set of Wiefling et al.")
    path = parser.parse_args().file
    if path is None:
        print(render_tables(run_held_out()))
        return
    logins = LoginFile(path)
    print(render_rivals(run_logins(logins.logins(), logins)))


if __name__ == "__main__":
    main()
