"""A process that mints, decides and exports until it is killed; stdout reports how far it is."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from attestlab.installation import Installation
from attestlab.lake import (
    relations,  # noqa: F401  frames: pyarrow and DuckDB are loaded once, for every child
    store,
)
from attestlab.settings import Settings
from support.lake import LakeTenant


def export_until_killed(folder: str) -> None:
    """Work, export in parts of three, and merge them; each step is a further byte on stdout."""
    lab = Installation.open(Settings(data=Path(folder)))
    lab.lake.rows_a_part = 3
    lab.lake.merged_lengths = [9]
    with lab.storage.read() as connection:
        caller = lab.orgs.service_caller(store.get_operator_id(connection))
    owner = LakeTenant.of(lab, caller, f"Northfield{os.getpid()}")
    sweep = lab.lake.sweep
    for step in itertools.cycle([sweep, owner.mint, owner.decide, sweep, owner.verify, owner.revoke]):
        step()
        os.write(1, b".")
