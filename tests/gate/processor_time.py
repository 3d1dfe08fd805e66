"""Processor time of a test process, of the processes that it started, and of its PostgreSQL servers.

A PostgreSQL server is no descendant of the test process: it is started as a daemon. So it is found by its number.
"""

from __future__ import annotations

import os
import sys
import time
from collections import defaultdict
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
MIN_SCAN_INTERVAL_S = 0.02  # a test that is shorter is too short for its children to matter
PARENT, TIMES = 1, slice(11, 15)  # fields of /proc/PID/stat after the name: user, system, and both of reaped children


class ProcessorClock:
    """Reads the processor seconds that this process, its descendants and its PostgreSQL servers have used."""

    def __init__(self) -> None:
        self._scanned_at = 0.0
        self._others_s = 0.0

    def read(self) -> float:
        """Return the seconds so far; those of other processes are at most `MIN_SCAN_INTERVAL_S` old."""
        now = time.monotonic()
        if now - self._scanned_at > MIN_SCAN_INTERVAL_S:
            self._scanned_at = now
            self._others_s = _read_others()
        return time.process_time() + self._others_s


def _read_others() -> float:
    times: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for name in os.listdir("/proc"):
        if name.isdigit() and (fields := _read_stat(name)):
            times[int(name)] = sum(map(int, fields[TIMES]))
            children[int(fields[PARENT])].append(int(name))
    databases = sys.modules.get("support.databases")  # loaded where tests may start a PostgreSQL server
    waiting, ticks = [*children[os.getpid()], *(databases.postmasters if databases else ())], 0
    while waiting:
        pid = waiting.pop()
        ticks += times.get(pid, 0)
        waiting += children[pid]
    reaped = os.times()
    return ticks / TICKS_PER_S + reaped.children_user + reaped.children_system


def _read_stat(pid: str) -> list[str]:
    """Return the fields after the process's name, which may hold spaces; none if the process has ended."""
    try:
        return Path("/proc", pid, "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
