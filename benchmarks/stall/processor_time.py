"""Processor time of another process (Linux), a figure that a busy machine does not change."""

from __future__ import annotations

import os
import time
from pathlib import Path

_PROCESS_CLOCK = 2  # CPUCLOCK_SCHED of the kernel's posix-timers.h


def own_s(pid: int) -> float:
    """Return the processor seconds of a process, including all its threads, to the nanosecond."""
    return time.clock_gettime(~pid << 3 | _PROCESS_CLOCK)


def total_s(pid: int) -> float:
    """Return the processor seconds of a process and all its children, including ended ones."""
    return own_s(pid) + _ended_children_s(pid) + sum(map(_child_s, _children(pid)))


def waiting_s(pid: int) -> float:
    """Return the seconds that a process's threads were ready to run and waited for a processor."""
    delays = (each.read_text().split()[1] for each in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(map(int, delays)) / 1e9


def _ended_children_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    """Return the children of all threads, because any thread may start one."""
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for each in listed for child in each.read_text().split()]


def _child_s(pid: int) -> float:
    try:
        return total_s(pid)
    except OSError:
        return 0.0
