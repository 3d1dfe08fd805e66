"""A figure, and how a set of rounds becomes one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One line of output; `against` says what a ratio was divided by, `spread` is (min, max) of the rounds."""

    name: str
    value: float
    unit: str
    against: str | None = None
    spread: tuple[float, float] | None = None

    @classmethod
    def of_rounds(cls, name: str, rounds: Sequence[float], unit: str, *, against: str | None = None) -> Figure:
        """The median of the rounds with its spread."""
        return cls(name, _short(median(rounds)), unit, against, (_short(min(rounds)), _short(max(rounds))))

    def line(self) -> str:
        """The figure as one line of JSON, without the members it does not have."""
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})


def peak_memory_mib() -> float:
    """Return the most memory that this process ever held, in MiB (Linux's VmHWM).

    `getrusage` would count what the process held that started this one: its value survives `exec`.
    """
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def _short(value: float) -> float:
    """Four significant digits: more would be noise."""
    return float(f"{value:.4g}")
