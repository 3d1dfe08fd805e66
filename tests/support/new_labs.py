"""A lab of the facade on an installation that nothing was done in yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attestlab
from attestlab.client.lab import Lab
from support.installations import install


@contextmanager
def open_new_lab(folder: Path) -> Iterator[Lab]:
    """Create an installation with SQLite in `folder`, and open it in this process."""
    install(folder, f"sqlite:///{folder / 'records.db'}")
    with attestlab.open(folder) as lab:
        yield lab
