"""The memory of processes, and how much of the machine's or the container's is left: proc(5), Linux control groups v2.

A system without these files has no figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

PROCESSES = Path("/proc")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
MIN_AVAILABLE_SHARE = 0.1
"""Memory is short when less than this share of it is available."""


def is_measurable() -> bool:
    """Whether this system tells what its processes take."""
    return "Pss" in _read_sizes(PROCESSES / "self/smaps_rollup")


def measure_memory_bytes(pid: int) -> int:
    """Measure the proportional set size of a process: its own pages, and its share of those that others map, too.

    A process that has ended takes none.
    """
    return _read_sizes(PROCESSES / str(pid) / "smaps_rollup").get("Pss", 0)


def is_memory_short() -> bool:
    """Whether the machine, or a control group of this process that has a limit, has little memory left."""
    return any(share < MIN_AVAILABLE_SHARE for share in _list_available_shares())


def _list_available_shares() -> Iterator[float]:
    machine = _read_sizes(PROCESSES / "meminfo")
    with suppress(KeyError, ZeroDivisionError):
        yield machine["MemAvailable"] / machine["MemTotal"]
    for group in _list_groups():
        with suppress(OSError, ValueError, ZeroDivisionError):  # the outermost has no limit; `max` is none
            yield _measure_available_share(group)


def _list_groups() -> Iterator[Path]:
    """Yield the control group of this process and those around it, each of which may have a limit."""
    with suppress(OSError, StopIteration):
        lines = (PROCESSES / "self/cgroup").read_text().splitlines()
        own = CONTROL_GROUPS / next(line for line in lines if line.startswith("0::/"))[len("0::/") :]
        yield own
        yield from (group for group in own.parents if group.is_relative_to(CONTROL_GROUPS))


def _measure_available_share(group: Path) -> float:
    """Return which share of its limit a group has left; the kernel drops files from memory that lie idle."""
    limit = int((group / "memory.max").read_text())
    used = int((group / "memory.current").read_text())
    counts = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    return (limit - used + int(counts.get("inactive_file", 0))) / limit


def _read_sizes(path: Path) -> Mapping[str, int]:
    """Read the sizes of a file of /proc in bytes, by name; none if the system lacks it or the process has ended."""
    with suppress(OSError):  # also in the middle, when the process ends
        lines = (line.split() for line in path.read_text().splitlines())
        return {words[0].removesuffix(":"): int(words[1]) << 10 for words in lines if words[2:] == ["kB"]}
    return {}
