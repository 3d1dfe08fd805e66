"""The exporter: writes one whole part after another, continuing after the existing parts.

A part holds `rows_a_part` numbers of its sequence and is read from the records, sorted and written at once, so memory
is bounded by one part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from attestlab.core.db.storage import Storage
from attestlab.core.errors import Conflict
from attestlab.lake import datasets, decoded_files, store
from attestlab.lake.compaction import delete_superseded, find_run, merge
from attestlab.lake.datasets import Dataset
from attestlab.lake.parts import Parts, delete_unfinished, find_parts, write_part


@dataclass(frozen=True, slots=True)
class SequenceRange:
    """The numbers `first` <= n < `end` of a data set, of one tenant if each tenant has a separate sequence."""

    dataset: Dataset
    tenant_id: UUID | None
    first: int
    end: int


class Exporter:
    """Writes the missing parts of a lake."""

    def __init__(self, storage: Storage, folder: Path, *, rows_a_part: int, merged_lengths: Sequence[int] = ()) -> None:
        self.folder = folder
        self._storage, self._rows_a_part, self._merged_lengths = storage, rows_a_part, merged_lengths

    def export(self, *, at_most: int | None = None, whole_parts_only: bool) -> int:
        """Write the due parts, those of the longest backlog first; return their number. The caller holds the lock.

        Raises:
            Conflict: the lake is ahead of the records.
            OSError: a part could not be written.
        """
        due = self._due(whole_parts_only=whole_parts_only)[:at_most]
        if due:
            delete_unfinished(self.folder)
        for sequence_range in due:
            self._write(sequence_range)
        return len(due)

    def compact(self, *, at_most: int | None = None) -> int:
        """Merge short parts and delete those that were merged an hour ago; return the number of merges.

        The caller holds the lock.

        Raises:
            OSError: a part could not be written.
        """
        merged = 0
        delete_unfinished(self.folder)
        for folder, dataset in self._sequence_folders():
            while at_most is None or merged < at_most:
                run = find_run(folder, dataset, find_parts(folder, dataset.columns), self._merged_lengths)
                if run is None:
                    break
                merge(run)
                merged += 1
            delete_superseded(folder, find_parts(folder, dataset.columns))
        decoded_files.delete_stale(self.folder)
        return merged

    def _sequence_folders(self) -> Iterator[tuple[Path, Dataset]]:
        for dataset in datasets.ALL:
            folder = self.folder / dataset.folder
            if dataset.by_tenant:
                yield from ((each, dataset) for each in sorted(folder.glob("*")))
            elif folder.is_dir():
                yield folder, dataset

    def _due(self, *, whole_parts_only: bool) -> list[SequenceRange]:
        """Return every range without a part, the first of each sequence before the second of any."""
        ranges: list[tuple[int, int, SequenceRange]] = []
        for backlog in self._backlogs(min_length=self._rows_a_part if whole_parts_only else 1):
            size = self._rows_a_part
            for turn, first in enumerate(range(backlog.first, backlog.end, size)):
                end = min(first + size, backlog.end)
                if end - first == size or not whole_parts_only:
                    sequence_range = SequenceRange(backlog.dataset, backlog.tenant_id, first, end)
                    ranges.append((turn, backlog.first - backlog.end, sequence_range))
        return [sequence_range for _, _, sequence_range in sorted(ranges, key=lambda item: item[:2])]

    def _backlogs(self, *, min_length: int) -> Iterator[SequenceRange]:
        with self._storage.read() as connection:
            lengths = store.sequence_lengths(connection, min_length=min_length)
        for dataset in datasets.ALL:
            for tenant_id, length in lengths[dataset.numbering].items():
                folder = sequence_folder(self.folder, dataset, tenant_id)
                parts = require_not_ahead(find_parts(folder, dataset.columns), length, dataset)
                yield SequenceRange(dataset, tenant_id, parts.end, length)

    def _write(self, sequence_range: SequenceRange) -> None:
        dataset = sequence_range.dataset
        with self._storage.read() as connection:
            table = dataset.table(
                dataset.read(connection, sequence_range.first, sequence_range.end, sequence_range.tenant_id)
            )
        folder = sequence_folder(self.folder, dataset, sequence_range.tenant_id)
        write_part(folder, sequence_range.first, sequence_range.end - 1, table)


def sequence_folder(lake: Path, dataset: Dataset, tenant_id: UUID | None) -> Path:
    """Return the folder with the parts of a sequence."""
    folder = lake / dataset.folder
    return folder / str(tenant_id) if dataset.by_tenant else folder


def require_not_ahead(parts: Parts, length: int, dataset: Dataset) -> Parts:
    """Reject parts that are ahead of the records, which were then replaced by an older copy.

    Raises:
        Conflict: they are ahead.
    """
    if parts.end > length:
        raise Conflict(
            f"The lake's {dataset.name} go up to {parts.end}, the records to {length}: they are an older copy. "
            "The operator must run `attestlab lake rebuild`."
        )
    return parts
