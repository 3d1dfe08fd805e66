"""Rows with gapless numbers: signals and raw events, which the lake exports in the order of their numbers.

Rows get their numbers under the writer's lock just before the commit, so a job that fails leaves no gap, and no row
appears later below a number that was exported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic

from sqlalchemy import Table, func, select

from attestlab.core.db.tables import Execute, Record, replace_columns
from attestlab.core.db.transaction import Buffer, Transaction

UNNUMBERED = -1


class NumberedRows(Generic[Record]):
    """The rows of a table whose column `seq` numbers them from 0."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._buffer = Buffer[Record](table.name)

    def add(self, tx: Transaction, records: Iterable[Record]) -> None:
        """Add records, whose `seq` is `UNNUMBERED`, to a transaction."""
        tx.buffer(self._buffer).extend(records)

    def write(self, tx: Transaction) -> None:
        """Number and insert the records of a transaction; a commit hook."""
        added = tx.buffer(self._buffer)
        if not added:
            return
        for seq, record in enumerate(added, start=self.count(tx.read_unflushed)):
            tx.add(self.table, replace_columns(record, {"seq": seq}))
        added.clear()

    def count(self, execute: Execute) -> int:
        """Return the number of rows, which is the next number."""
        last: int | None = execute(select(func.max(self.table.c.seq))).scalar()
        return 0 if last is None else last + 1
