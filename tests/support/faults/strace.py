"""strace (https://strace.io) as the source of faults: it kills, refuses or records at a chosen system call.

It counts and acts for each thread by itself; the threads of interest here write alone.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from support.faults.required import faults_are_required
from support.timeouts import WAIT_TIMEOUT_S

# Everything by which a process changes what a disk holds, apart from mapped memory: that is only SQLite's index of
# the WAL, which SQLite makes again after a crash.
CHANGING = ("pwrite64", "fdatasync", "fsync", "ftruncate", "unlink", "rename", "link")


@cache
def can_trace() -> bool:
    """Whether strace is installed and may trace a process."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True, check=False).returncode == 0


needs_strace = pytest.mark.skipif(
    not can_trace() and not faults_are_required(), reason="no strace that may trace; install it, and allow ptrace"
)


@contextmanager
def attach(pid: int, *options: str) -> Iterator[None]:
    """
    strace on all threads of a running process, from here on until the end of the block.

    Wait inside the block for a process that it kills: who calls strace back from a dying one may wait without end.
    """
    tracer = subprocess.Popen(
        ["strace", "-f", "-q", "-o", "/dev/null", *options, "-p", str(pid)], stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_traced(pid)
        yield
    finally:
        if tracer.poll() is None:
            tracer.send_signal(signal.SIGINT)
        try:
            tracer.wait(WAIT_TIMEOUT_S)
        finally:
            tracer.kill()  # does nothing to one that has ended
            tracer.wait()


def _wait_until_traced(pid: int) -> None:
    """Until every thread has its tracer."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while any("TracerPid:\t0\n" in status.read_text() for status in Path(f"/proc/{pid}/task").glob("*/status")):
        if time.monotonic() > deadline:
            raise TimeoutError(f"strace did not attach to {pid}")
        time.sleep(0.001)


def injection_options(call: str, number: int | str, what: str) -> list[str]:
    """Options that let `what` (`signal=SIGKILL`, `error=ENOSPC`) happen at the given calls, counted from 1."""
    return ["-e", f"trace={call}", "-e", f"inject={call}:{what}:when={number}"]


def count_calls(log: Path, within: Path) -> Counter[str]:
    """How often each call of a recording touched a file below `within`."""
    line = re.compile(r"^\d+ +(\w+)\((.*)$", re.MULTILINE)
    return Counter(found[1] for found in line.finditer(log.read_text()) if str(within) in found[2])


def recording_options(log: Path, calls: Sequence[str] = CHANGING) -> list[str]:
    """Options that write every call with its files' paths."""
    return ["-y", "-o", str(log), "-e", f"trace={','.join(calls)}"]
