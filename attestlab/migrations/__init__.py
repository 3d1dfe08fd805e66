"""Migrations of the records: run at start where needed, safe when killed half way."""

from __future__ import annotations

from attestlab.core.storage import Storage


def upgrade(storage: Storage) -> None:
    """Bring the records to this version's tables."""
    storage.create_tables()
