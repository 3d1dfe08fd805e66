"""A process that mints, decides and exports until it is killed; a line on stdout reports that it is running."""

from __future__ import annotations

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
    """Work, export in parts of five, and merge them."""
    lab = Installation.open(Settings(data=Path(folder)))
    lab.lake.rows_a_part = 5
    lab.lake.merged_lengths = [15]
    with lab.storage.read() as connection:
        caller = lab.orgs.service_caller(store.get_operator_id(connection))
    owner = LakeTenant.of(lab, caller, f"Northfield{os.getpid()}")
    os.write(1, b"at work\n")
    while True:
        lab.lake.sweep()
        owner.mint()
        owner.decide()
        lab.lake.sweep()
        owner.verify()
        owner.revoke()
