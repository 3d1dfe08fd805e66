"""Rows with gapless numbers and a hash chain: signals and raw events, which the lake exports in their order.

Rows are numbered and chained under the writer's lock just before the commit, so a job that fails leaves no gap, and no
row appears later below a number that was exported. fsck finds every row that was changed, removed or added since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Generic

import orjson
from sqlalchemy import Connection, Table, select

from attestlab.core.db.tables import Record, iterate
from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.core.records.hash_chain import GENESIS, Chain, link_hash, read_head

UNNUMBERED = -1
_ROWS_PER_FETCH = 500


class NumberedRows(Generic[Record]):
    """The rows of a table: `seq`, the first column, numbers them from 0, and `hash`, the last, chains them."""

    def __init__(self, table: Table, kind: type[Record]) -> None:
        self.table = table
        self.kind = kind
        self.chain = table.name
        self._buffer = Buffer[Record](table.name)

    def add(self, tx: Transaction, records: Iterable[Record]) -> None:
        """Add records, whose `seq` is `UNNUMBERED`, to a transaction."""
        tx.buffer(self._buffer).extend(records)

    def list_unwritten(self, tx: Transaction) -> Sequence[Record]:
        """Return the records that a transaction has added and not inserted yet."""
        return tx.buffer(self._buffer)

    def write(self, tx: Transaction) -> None:
        """Number, chain and insert the records of a transaction; a commit hook."""
        added = tx.buffer(self._buffer)
        if not added:
            return
        chain, rows = Chain(tx, self.chain), []
        for record in added:
            columns = (chain.length, *record[1:-1])
            _, link, _ = chain.extend(encode_columns(columns))
            rows.append((*columns, link))
        tx.add_rows(self.table, rows)
        added.clear()
        chain.save(tx)

    def count(self, connection: Connection) -> int:
        """Return the number of rows, which is the next number."""
        return read_head(connection, self.chain)[0]

    def find_breaks(self, connection: Connection) -> Iterator[str]:
        """Yield the places where the rows are not those that were written."""
        length, last = 0, GENESIS
        ordered = select(*self.table.c).order_by(self.table.c.seq).execution_options(yield_per=_ROWS_PER_FETCH)
        for row in iterate(connection.execute(ordered), self.kind):
            if row[0] != length or row[-1] != link_hash(last, encode_columns(row[:-1])):
                yield f"the chain is broken at {row[0]}"
            length, last = row[0] + 1, row[-1]
        if (length, last) != read_head(connection, self.chain):
            yield "rows are missing at the end"


def encode_columns(columns: tuple[object, ...]) -> bytes:
    """Return what a link of the chain covers: all columns but the hash, as a JSON array."""
    return orjson.dumps(columns, option=orjson.OPT_UTC_Z)
