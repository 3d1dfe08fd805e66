"""The exporter: whole parts, one after another, from where the parts say that it stopped.

A part holds `rows_a_part` numbers of its sequence and
is read from the records, sorted and written at once, so memory is bounded by one part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from attestlab.core.db.storage import Storage
from attestlab.core.errors import Conflict
from attestlab.lake import datasets, store
from attestlab.lake.datasets import Dataset
from attestlab.lake.parts import Parts, forget_unfinished, parts_of, write_part


@dataclass(frozen=True, slots=True)
class SequenceRange:
    """Numbers `first` <= n < `end` of one data set, of one tenant where each has a sequence of its own."""

    dataset: Dataset
    tenant_id: UUID | None
    first: int
    end: int


class Exporter:
    """Writes what a lake lacks."""

    def __init__(self, storage: Storage, folder: Path, *, rows_a_part: int) -> None:
        self.folder = folder
        self._storage, self._rows_a_part = storage, rows_a_part

    def export(self, *, at_most: int | None = None, whole_parts_only: bool) -> int:
        """Write the parts that are due, those of the longest backlog first; how many. The caller holds the lock.

        Raises:
            Conflict: the lake knows more than the records.
            OSError: a part could not be written.
        """
        due = self._due(whole_parts_only=whole_parts_only)[:at_most]
        if due:
            forget_unfinished(self.folder)
        for stretch in due:
            self._write(stretch)
        return len(due)

    def _due(self, *, whole_parts_only: bool) -> list[SequenceRange]:
        """Every stretch that lacks a part, the first of each sequence before the second of any."""
        found: list[tuple[int, int, SequenceRange]] = []
        for backlog in self._backlogs(least=self._rows_a_part if whole_parts_only else 1):
            size = self._rows_a_part
            for turn, first in enumerate(range(backlog.first, backlog.end, size)):
                end = min(first + size, backlog.end)
                if end - first == size or not whole_parts_only:
                    stretch = SequenceRange(backlog.dataset, backlog.tenant_id, first, end)
                    found.append((turn, backlog.first - backlog.end, stretch))
        return [stretch for _, _, stretch in sorted(found, key=lambda item: item[:2])]

    def _backlogs(self, *, least: int) -> Iterator[SequenceRange]:
        with self._storage.read() as connection:
            lengths = store.lengths(connection, least=least)
        for dataset in datasets.ALL:
            for tenant_id, length in lengths[dataset.numbering].items():
                folder = folder_of(self.folder, dataset, tenant_id)
                done = require_behind(parts_of(folder, dataset.columns), length, dataset)
                yield SequenceRange(dataset, tenant_id, done.end, length)

    def _write(self, stretch: SequenceRange) -> None:
        dataset = stretch.dataset
        with self._storage.read() as connection:
            table = dataset.table(dataset.read(connection, stretch.first, stretch.end, stretch.tenant_id))
        folder = folder_of(self.folder, dataset, stretch.tenant_id)
        write_part(folder, stretch.first, stretch.end - 1, table)


def folder_of(lake: Path, dataset: Dataset, tenant_id: UUID | None) -> Path:
    """Where the parts of a sequence are."""
    folder = lake / dataset.name
    return folder / str(tenant_id) if dataset.by_tenant else folder


def require_behind(done: Parts, length: int, dataset: Dataset) -> Parts:
    """Refuse parts of records that are longer than ours: those were replaced by an older copy.

    Raises:
        Conflict: they are.
    """
    if done.end > length:
        raise Conflict(
            f"The lake's {dataset.name} go up to {done.end}, the records to {length}: they are an older copy. "
            "Whoever runs this installation runs `attestlab lake rebuild`."
        )
    return done
