"""A process that requests `/healthz` again and again, and reports the longest wait since the last report.

For each line on stdin it prints one JSON line: `{"worst_ms", "median_ms", "count"}`. The probe first finishes its
request in flight, so the report includes a stall that began before the line.
"""

from __future__ import annotations

import json
import select
import sys
from time import perf_counter, sleep

from benchmarks.load import Connection, format_request

PAUSE_S = 0.002
_TIMEOUT_S = 120.0


def main(port: int, pause_s: float = PAUSE_S) -> None:
    """Probe until stdin is closed."""
    probe, waits = format_request("GET", "/healthz").encode(), [0.0]
    connection = Connection(port)
    connection.socket.settimeout(_TIMEOUT_S)
    while True:
        waits.append(_wait_ms(connection, probe))
        if select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                return
            ordered = sorted(waits)
            report = {"worst_ms": ordered[-1], "median_ms": ordered[len(ordered) // 2], "count": len(ordered)}
            print(json.dumps(report), flush=True)
            waits = [0.0]
        sleep(pause_s)


def _wait_ms(connection: Connection, probe: bytes) -> float:
    connection.sent_at = perf_counter()
    connection.send(probe)
    while connection.read_response() is None:
        pass
    return 1000 * (perf_counter() - connection.sent_at)


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(float, sys.argv[2:]))
