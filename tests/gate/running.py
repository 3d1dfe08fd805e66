"""Runs pytest in a process and accounts for it: exit code, seconds, and the processor time of all its processes."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gate.changes import ROOT

PR_SET_CHILD_SUBREAPER = 36
PASSED, FAILED, NOTHING_SELECTED = 0, 1, 5
LEFT_BEHIND_S = 5.0  # what a run leaves behind has that long to end


@dataclass(frozen=True)
class Ended:
    """How a run of pytest ended, what it took, and the processes that it left behind, which were killed."""

    code: int
    wall_s: float
    cpu_s: float
    left_behind: tuple[str, ...] = ()

    def __add__(self, other: Ended) -> Ended:
        """Two runs as one: the code of the first that failed."""
        return Ended(
            self.code or other.code,
            self.wall_s + other.wall_s,
            self.cpu_s + other.cpu_s,
            self.left_behind + other.left_behind,
        )


NOTHING = Ended(PASSED, 0.0, 0.0)


def run_pytest(arguments: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Run pytest until it and all processes that it started have ended.

    Processes whose parents die become children of this process, so that their processor time is counted, too.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", *arguments]
    sys.stdout.flush()
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **_environment(), **environment})
    cpu_s, code = 0.0, None
    while code is None:
        try:
            pid, status, usage = os.wait4(-1, 0)
        except KeyboardInterrupt:  # pytest received it too, and ends
            continue
        cpu_s += usage.ru_utime + usage.ru_stime
        if pid == process.pid:
            code = process.returncode = os.waitstatus_to_exitcode(status)
    left_behind, left_s = _end_what_is_left()
    return Ended(PASSED if code == NOTHING_SELECTED else code, time.monotonic() - began, cpu_s + left_s, left_behind)


def _environment() -> dict[str, str]:
    """Let pytest keep the modules whose asserts it rewrote, and find the gate's plugins."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPATH": str(ROOT / "tests")}


def _end_what_is_left() -> tuple[tuple[str, ...], float]:
    """Wait for the processes that are left, then kill them; returns their commands and processor seconds."""
    deadline, cpu_s = time.monotonic() + LEFT_BEHIND_S, 0.0
    killed: list[str] = []
    while True:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return tuple(killed), cpu_s
        if pid:
            cpu_s += usage.ru_utime + usage.ru_stime
            continue
        if time.monotonic() >= deadline:
            killed += filter(None, map(_kill, _read_children()))  # one that has ended has no command
        time.sleep(0.05)


def _read_children() -> list[int]:
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


def _kill(pid: int) -> str:
    command = ""
    with suppress(OSError):
        command = Path("/proc", str(pid), "cmdline").read_text().replace("\0", " ").strip()
        os.kill(pid, signal.SIGKILL)
    return command
