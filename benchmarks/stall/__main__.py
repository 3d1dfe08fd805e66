"""`python -m benchmarks.stall [--only TEXT] [--quick]`: prints one line per defect and exits with 1 if there is any.

`rules.py` defines defects.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from benchmarks.stall.attack import Attack
from benchmarks.stall.once_worst import judge, list_once_worst, measure_pace_s
from benchmarks.stall.server_under_attack import ServerUnderAttack, watch_server
from benchmarks.stall.world import AttackedInstallation, serve_attacked_installation


def main() -> int:
    """Attack every route, and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stall", description="Print one line per defect.")
    parser.add_argument("--only", default="", help="attack the routes and cases that contain this text")
    parser.add_argument("--quick", action="store_true", help="send only the largest bodies, each once")
    parser.add_argument("--once-worst", action="store_true", help="send only the requests that once took seconds")
    parser.add_argument("--verbose", action="store_true", help="print one line per case, even without a defect")
    options = parser.parse_args()
    begin = perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="attestlab-stall-") as folder,
        serve_attacked_installation(Path(folder) / "data") as world,
        watch_server(world.server) as server,
    ):
        if options.once_worst:
            defects = _attack_as_once(world, server)
        else:
            defects = Attack(world, server, only=options.only, quick=options.quick, verbose=options.verbose).run()
    print(f"{server.sent} requests in {(perf_counter() - begin) / 60:.1f} minutes, {defects} defects.")
    return 1 if defects else 0


def _attack_as_once(world: AttackedInstallation, server: ServerUnderAttack) -> int:
    """Print one line per request, and return the number of defects."""
    pace, count = measure_pace_s(), 0
    for each in list_once_worst(world):
        verdict = judge(server, each, pace=pace)
        outcome, growth = verdict.outcome, f"x{verdict.growth:.1f}" if verdict.growth else ""
        print(
            f"{each.target.name[:40]:40} {each.at_once:2} x {each.case.name:22} {outcome.status}"
            f" {outcome.answer_bytes:10,} bytes {outcome.probe_ms:7.0f} ms {outcome.own_cpu_s:6.2f} s"
            f" of {outcome.cpu_s:6.2f} s {growth:6} {'; '.join(verdict.defects) or 'ok'}",
            flush=True,
        )
        count += len(verdict.defects)
    return count


if __name__ == "__main__":
    sys.exit(main())
