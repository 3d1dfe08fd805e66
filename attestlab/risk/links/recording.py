"""Recording of links, in the transaction of the facts that they follow from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from attestlab.core.db.transaction import Buffer, Transaction
from attestlab.risk.links import store
from attestlab.risk.links.mentions import Fact, LinkKey, find_links
from attestlab.risk.links.tables import RiskLinkRecord
from attestlab.risk.tallies import tally

_SIGHTINGS = Buffer[tuple[LinkKey, datetime]]("risk_links")


def note_links(tx: Transaction, facts: Iterable[Fact]) -> None:
    """Remember the entities that facts name together until the commit."""
    tx.buffer(_SIGHTINGS).extend(see_links(facts))


def write_links(tx: Transaction) -> None:
    """Add what a transaction's facts say about links, one row a link; a commit hook."""
    sightings = tx.buffer(_SIGHTINGS)
    if not sightings:
        return
    tallies = tally(sightings)
    sightings.clear()
    tx.flush()
    rows = [dict(zip(RiskLinkRecord._fields, (*link, *tallies[link]), strict=True)) for link in sorted(tallies)]
    store.ADD.run_many(tx.connection, rows)


def see_links(facts: Iterable[Fact]) -> Iterator[tuple[LinkKey, datetime]]:
    """Yield each pair of entities that each fact names, and when it occurred."""
    for fact in facts:
        for link in find_links(fact):
            yield link, fact.occurred_at
