"""`python -m benchmarks.detection`: prints the tables of docs/risk-detection.md."""

from __future__ import annotations

from benchmarks.detection.report import render_tables, run_held_out

if __name__ == "__main__":
    print(render_tables(run_held_out()))
