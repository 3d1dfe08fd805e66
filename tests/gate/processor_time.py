"""Processor time of a test process, of the processes that it started, and of its PostgreSQL servers.

A PostgreSQL server is no descendant of the test process: it is started as a daemon. So it is found by its number.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
MIN_SCAN_INTERVAL_S = 0.02  # a test that is shorter is too short for its children to matter
TIMES = slice(11, 15)  # fields of /proc/PID/stat after the name: user, system, and both of reaped children


class ProcessorClock:
    """Reads the processor seconds that this process, its descendants and its PostgreSQL servers have used."""

    def __init__(self) -> None:
        self._scanned_at = 0.0
        self._scanned_s = 0.0
        self._others_s = 0.0

    def read(self) -> float:
        """Return the seconds so far; those of other processes are at most `MIN_SCAN_INTERVAL_S` old.

        A process whose parent dies before it (Chromium's, at its end) is a descendant no longer. What it used stays
        counted: the clock adds what a scan shows more than the one before, and never goes back.
        """
        now = time.monotonic()
        if now - self._scanned_at > MIN_SCAN_INTERVAL_S:
            self._scanned_at = now
            scanned_s = _read_others()
            self._others_s += max(0.0, scanned_s - self._scanned_s)
            self._scanned_s = scanned_s
        return time.process_time() + self._others_s


def _read_others() -> float:
    databases = sys.modules.get("support.databases")  # loaded where tests may start a PostgreSQL server
    waiting, ticks = [*_find_children(os.getpid()), *(databases.postmasters if databases else ())], 0
    while waiting:
        pid = waiting.pop()
        ticks += _read_ticks(pid)
        waiting += _find_children(pid)
    reaped = os.times()
    return ticks / TICKS_PER_S + reaped.children_user + reaped.children_system


def _find_children(pid: int) -> list[int]:
    """Return the children of a process, each of which the kernel lists at the thread that forked it.

    To look for them among all processes of the machine would cost some 5 ms, a quarter of the time of the tests.
    """
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []
    return [int(child) for thread in threads for child in _read(f"/proc/{pid}/task/{thread}/children").split()]


def _read_ticks(pid: int) -> int:
    """Return what a process and its reaped children have used; 0 if it has ended. Its name may hold spaces."""
    return sum(map(int, _read(f"/proc/{pid}/stat").rpartition(")")[2].split()[TIMES]))


def _read(file: str) -> str:
    """Return a text of the kernel, or none if its process has ended."""
    try:
        return Path(file).read_text(errors="replace")
    except OSError:
        return ""
