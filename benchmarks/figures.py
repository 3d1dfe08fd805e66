"""A benchmark figure, made from the values of several rounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Figure:
    """One line of output; `against` names the divisor of a ratio, `spread` is (min, max) of the rounds."""

    name: str
    value: float
    unit: str
    against: str | None = None
    spread: tuple[float, float] | None = None

    @classmethod
    def of_rounds(cls, name: str, rounds: Sequence[float], unit: str, *, against: str | None = None) -> Figure:
        """Return the median of the rounds with their spread."""
        smallest, middle, largest = map(_round_to_four_digits, (min(rounds), median(rounds), max(rounds)))
        return cls(name, middle, unit, against, (smallest, largest))

    def to_json(self) -> str:
        """Return the figure as one line of JSON, without members that are None."""
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})


def peak_memory_mib() -> float:
    """Return the peak memory of this process, in MiB (Linux's VmHWM).

    `getrusage` would include the peak of the parent process, because its value survives `exec`.
    """
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def _round_to_four_digits(value: float) -> float:
    """Round to four significant digits; further digits are noise."""
    return float(f"{value:.4g}")
