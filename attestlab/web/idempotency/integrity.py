"""Integrity check of stored responses: their hash chain is gapless from its current beginning to its end."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, select

from attestlab.core.db.tables import iterate
from attestlab.core.records.hash_chain import link_hash, read_head
from attestlab.web.idempotency.store import BEGINNING, CHAIN, ChainedResponse, StoredResponseRecord, answers


def find_inconsistencies(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield each broken link of the chain as (place, problem)."""
    place, last = read_head(connection, BEGINNING)
    result = connection.execution_options(yield_per=100).execute(select(*answers.c).order_by(answers.c.seq))
    for row in iterate(result, StoredResponseRecord):
        if row.seq != place or row.hash != link_hash(last, ChainedResponse(*row[1:-1]).linked_bytes()):
            yield str(row.seq), "the chain is broken here"
        place, last = row.seq + 1, row.hash
    if (place, last) != read_head(connection, CHAIN):
        yield "end", "answers are missing at the end"
