"""The lake's verbs: export what is due, write it all anew, show a caller what is theirs.

pyarrow and DuckDB are loaded by the first of them that needs them, never by opening an installation.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from attestlab.core.db.storage import Storage
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.lake import store
from attestlab.lake.parts import delete_all, exclusive_lock
from attestlab.lake.store import Numbering
from attestlab.orgs.rules import Caller

if TYPE_CHECKING:
    from attestlab.lake.exporter import Exporter
    from attestlab.lake.relations import TenantLake

ROWS_A_PART = 10_000
PARTS_A_SWEEP = 16  # of a server at work: some seconds; what waits is read from the records meanwhile


class Lake:
    """The Parquet files beside the records; called with a caller, what that caller may see.

    >>> lab.lake(caller).decisions.sql("select allowed, count(*) from this group by all").df()  # doctest: +SKIP
    """

    def __init__(self, *, storage: Storage, folder: Path, rows_a_part: int = ROWS_A_PART) -> None:
        self.folder = folder
        self.rows_a_part = rows_a_part
        self._storage = storage
        self._workers = WorkerProcesses(processes=1)  # for the queries of callers, who may take a gigabyte each

    def __call__(self, caller: Caller) -> TenantLake:
        """The data sets as the caller's tenant sees them."""
        from attestlab.lake.relations import TenantLake

        return TenantLake(self._storage, self.folder, caller.tenant_id, workers=self._workers)

    def close(self) -> None:
        """End the process that answers queries."""
        self._workers.close()

    def export(self) -> int:
        """Write everything that the lake lacks, the last part of each sequence as short as it is; how many parts.

        Raises:
            Conflict: the lake knows more than the records.
            OSError: a part could not be written.
        """
        with exclusive_lock(self.folder, wait=True):
            return self._exporter().export(whole_parts_only=False)

    def rebuild(self) -> int:
        """Remove every part and write the lake anew from the records; how many parts.

        Whoever reads meanwhile may miss a file and has to look again.

        Raises:
            OSError: a part could not be removed or written.
        """
        with exclusive_lock(self.folder, wait=True):
            delete_all(self.folder)
            return self._exporter().export(whole_parts_only=False)

    @property
    def connection_info(self) -> dict[str, Any]:
        """What another process has to know to open this lake; with the records' password, where they have one."""
        records = self._storage.url.render_as_string(hide_password=False)
        return {"records": records, "folder": str(self.folder), "rows_a_part": self.rows_a_part}

    def full_parts(self) -> dict[tuple[Numbering, UUID | None], int]:
        """How many parts the numbers of each sequence fill; where this has grown, a part may be due."""
        with self._storage.read() as connection:
            lengths = store.sequence_lengths(connection, min_length=self.rows_a_part)
        return {
            (numbering, tenant_id): length // self.rows_a_part
            for numbering, of_tenants in lengths.items()
            for tenant_id, length in of_tenants.items()
        }

    def sweep(self) -> int:
        """Write a few whole parts, if any are due and no other process does; how many.

        Raises:
            Conflict: the lake knows more than the records.
            OSError: a part could not be written.
        """
        if not self.full_parts():
            return 0
        with exclusive_lock(self.folder) as is_sole:
            return self._exporter().export(whole_parts_only=True, at_most=PARTS_A_SWEEP) if is_sole else 0

    def _exporter(self) -> Exporter:
        from attestlab.lake.exporter import Exporter

        return Exporter(self._storage, self.folder, rows_a_part=self.rows_a_part)
