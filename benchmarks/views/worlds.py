"""The worlds whose views are measured: the demo, and an installation with generated signals."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.dashboards.world import fill_world
from benchmarks.risk_lake import SIGNALS_VARIABLE

DEFAULT_SIGNALS: Final = 100_000
ATTESTATIONS: Final = 2_000


@dataclass(frozen=True)
class ViewWorld:
    """A world: its name in figures, and the statements that open its `lab` in a notebook."""

    name: str
    opening: str

    @property
    def first_cell(self) -> str:
        """The cell that opens the lab, and writes which process the kernel is."""
        return f"""\
import os
from pathlib import Path

import attestlab

{self.opening}
views = []
_ = Path("kernel.pid").write_text(str(os.getpid()))"""


DEMO: Final = ViewWorld("demo", "lab = attestlab.demo()")


def make_generated_world(data: Path) -> ViewWorld:
    """Fill a fresh data folder with as many signals as BENCH_SIGNALS says, by default 100,000."""
    signals = int(os.environ.get(SIGNALS_VARIABLE, DEFAULT_SIGNALS))
    fill_world(data, signals=signals, attestations=ATTESTATIONS)
    return ViewWorld(f"{signals:,} signals", f"lab = attestlab.open({str(data)!r})")
