"""Ends jobs of child processes that take too long, or that hold a process idle while another tenant waits for one.

A job takes too long when its process has used its processor time, and at the latest after its elapsed time: on a
busy machine, low-priority processes get little processor time. A job is idle when over `IdleLimits.window_s` its
process used next to no processor time, or the reader of its rows took next to none.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple, Protocol

POLLS_A_WINDOW = 10


class TimeLimits(NamedTuple):
    """The processor time and the elapsed time that a job may take."""

    processor_s: float
    elapsed_s: float


class IdleLimits(NamedTuple):
    """What a job must use in each window of time while another tenant waits."""

    window_s: float = 10.0
    min_processor_s: float = 0.1
    min_read_bytes_a_second: int = 32 << 10

    @property
    def min_read_bytes(self) -> float:
        """What a reader takes in a window at least."""
        return self.min_read_bytes_a_second * self.window_s


class Reading(Protocol):
    """What the reader of a job's pieces has taken."""

    taken_bytes: int
    is_behind: bool
    """Whether the process has made pieces that the reader has not taken."""


class NothingToRead:
    """The reading of a job without pieces."""

    taken_bytes = 0
    is_behind = False


class _Sample(NamedTuple):
    at_s: float
    processor_s: float
    taken_bytes: int
    is_behind: bool


class JobWatch:
    """Calls `on_exceeded` with the reason, from a separate thread, when a job exceeds a limit; until it is cancelled.

    `others_wait` says whether a job of another tenant waits.
    """

    def __init__(
        self,
        pid: int,
        limits: TimeLimits,
        idle_limits: IdleLimits,
        *,
        reading: Reading,
        others_wait: Callable[[], bool],
        on_exceeded: Callable[[str], None],
    ) -> None:
        self._pid, self._limits, self._idle_limits = pid, limits, idle_limits
        self._reading, self._others_wait, self._on_exceeded = reading, others_wait, on_exceeded
        self._samples = deque([self._take_sample()])
        self._first = self._samples[0]
        self._cancelled = Event()
        Thread(target=self._watch, name="attestlab-job-watch", daemon=True).start()

    def cancel(self) -> None:
        self._cancelled.set()

    def _watch(self) -> None:
        interval_s = min(self._limits.processor_s, self._idle_limits.window_s) / POLLS_A_WINDOW
        while not self._cancelled.wait(interval_s):
            if reason := self._find_exceeded():
                self._on_exceeded(reason)
                return

    def _find_exceeded(self) -> str | None:
        now = self._take_sample()
        processor_s, elapsed_s = now.processor_s - self._first.processor_s, now.at_s - self._first.at_s
        if processor_s >= self._limits.processor_s or elapsed_s >= self._limits.elapsed_s:
            limits = f"{self._limits.processor_s:g} s of processor time or {self._limits.elapsed_s:g} s in all"
            return f"The request took over {limits}. Send or request less data."
        window = self._add_to_window(now)
        if window is None or not self._others_wait():
            return None
        return self._explain_idleness(window, now)

    def _add_to_window(self, now: _Sample) -> _Sample | None:
        """Add a sample, and return the one at the window's begin; None if the job has not run for that long."""
        self._samples.append(now)
        while now.at_s - self._samples[1].at_s >= self._idle_limits.window_s:
            self._samples.popleft()
        begin = self._samples[0]
        return begin if now.at_s - begin.at_s >= self._idle_limits.window_s else None

    def _explain_idleness(self, begin: _Sample, now: _Sample) -> str | None:
        limits = self._idle_limits
        if now.taken_bytes - begin.taken_bytes >= limits.min_read_bytes:
            return None
        if all(sample.is_behind for sample in self._samples):
            least = f"{limits.min_read_bytes_a_second >> 10:g} KiB/s in {limits.window_s:g} s"
            return f"The client read under {least} while another tenant waited. Read faster, or request fewer rows."
        if now.processor_s - begin.processor_s >= limits.min_processor_s:
            return None
        least = f"{limits.min_processor_s:g} s of processor time in {limits.window_s:g} s"
        return f"The request used under {least} while another tenant waited. Retry, or request less data at once."

    def _take_sample(self) -> _Sample:
        reading = self._reading
        return _Sample(monotonic(), processor_time_s(self._pid), reading.taken_bytes, reading.is_behind)


def processor_time_s(pid: int) -> float:
    """Return the processor time that a process has used, in seconds (proc(5), utime and stime).

    A system without /proc does not provide it; the monotonic clock is used instead, so that time limits still apply.
    """
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
