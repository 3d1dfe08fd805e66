"""A process that asks for `/healthz` without pause and reports the longest wait since it was last read.

A line on stdin is answered with one JSON line: `{"worst_ms", "median_ms", "count"}`. The probe finishes the
request that is under way first, so a stall that began before the line is in its answer.
"""

from __future__ import annotations

import json
import select
import sys
from time import perf_counter, sleep

from benchmarks.load import Connection, request

PAUSE_S = 0.002
_TIMEOUT_S = 120.0


def main(port: int) -> None:
    """Probe until stdin is closed."""
    asked, waits = request("GET", "/healthz").encode(), [0.0]
    connection = Connection(port)
    connection.socket.settimeout(_TIMEOUT_S)
    while True:
        waits.append(_wait_ms(connection, asked))
        if select.select([sys.stdin], [], [], 0)[0]:
            if not sys.stdin.readline():
                return
            ordered = sorted(waits)
            report = {"worst_ms": ordered[-1], "median_ms": ordered[len(ordered) // 2], "count": len(ordered)}
            print(json.dumps(report), flush=True)
            waits = [0.0]
        sleep(PAUSE_S)


def _wait_ms(connection: Connection, asked: bytes) -> float:
    connection.sent_at = perf_counter()
    connection.send(asked)
    while connection.answer() is None:
        pass
    return 1000 * (perf_counter() - connection.sent_at)


if __name__ == "__main__":
    main(int(sys.argv[1]))
