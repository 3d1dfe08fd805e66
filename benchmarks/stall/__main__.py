"""`python -m benchmarks.stall [--only TEXT] [--quick]`: one line a defect; exits 1 where there is one.

Defects: an answer to `/healthz` waits over 100 ms while one request is answered; an answer over 64 kB that the
client did not ask for; twice the input costs over 2.5 times the processor time.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.stall.attack import Attack
from benchmarks.stall.world import attacked


def main() -> int:
    """Attack every route, and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stall", description="One line a defect.")
    parser.add_argument("--only", default="", help="attack the routes and cases that contain this text")
    parser.add_argument("--quick", action="store_true", help="the largest bodies alone, each once")
    parser.add_argument("--verbose", action="store_true", help="one line a case, also where nothing is wrong")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="attestlab-stall-") as folder, attacked(Path(folder) / "data") as world:
        attack = Attack(world, only=asked.only, quick=asked.quick, verbose=asked.verbose)
        found = attack.run()
    print(f"{attack.sent} requests, {found} defects; the probe alone waited at most {attack.noise_ms:.0f} ms.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
