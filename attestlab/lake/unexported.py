"""The facts that only the records have so far, remembered in memory.

A fact never changes and numbers have no gaps, so what one transaction has read holds in every later one: only the facts
after it are read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa
from pyarrow import compute
from sqlalchemy import Connection

from attestlab.lake.datasets import Dataset

MAX_REMEMBERED_ROWS = 50_000  # of one tenant's data set
MAX_REMEMBERED_TABLES = 32

FactsKey = tuple[str, UUID]


class _Range(NamedTuple):
    """The facts of the numbers `first` <= n < `end`."""

    first: int
    end: int
    facts: pa.Table


class UnexportedFacts:
    """Reads facts from the records, those of one data set and tenant each once.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._remembered: OrderedDict[FactsKey, _Range] = OrderedDict()  # the least recently used first
        self._lock = threading.Lock()

    def read(self, connection: Connection, dataset: Dataset, tenant_id: UUID, *, first: int, end: int) -> pa.Table:
        """Return the facts of the numbers `first` <= n < `end`, in no order."""
        key = (dataset.name, tenant_id)
        with self._lock:
            known = self._remembered.get(key)
        if known is None or not known.first <= first <= known.end:
            known = _Range(first, first, dataset.table([]))
        if end > known.end:
            newer = dataset.table(dataset.read(connection, known.end, end, tenant_id))
            known = _Range(known.first, end, pa.concat_tables([known.facts, newer], promote_options="default"))
        facts = _select_range(known, dataset.number, first, end)
        self._remember(key, _Range(first, end, facts))
        return facts

    def _remember(self, key: FactsKey, known: _Range) -> None:
        with self._lock:
            self._remembered.pop(key, None)
            if known.facts.num_rows <= MAX_REMEMBERED_ROWS:
                self._remembered[key] = known
            if len(self._remembered) > MAX_REMEMBERED_TABLES:
                self._remembered.popitem(last=False)


def _select_range(known: _Range, number: str, first: int, end: int) -> pa.Table:
    """Return the facts of a part of a range."""
    if (known.first, known.end) == (first, end):
        return known.facts
    column = known.facts[number]
    return known.facts.filter(compute.and_(compute.greater_equal(column, first), compute.less(column, end)))
