"""Service for the lake: export due parts, rebuild it, open a caller's view.

The first call that needs them loads pyarrow and DuckDB; opening an installation does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from attestlab.agents.observability.results import AgentMetrics, MetricsPeriod
from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.execution.job_watch import IdleLimits
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.lake import store
from attestlab.lake.parts import delete_all, exclusive_lock, list_parts
from attestlab.lake.rules import QUERIES_OF_A_TENANT, QUERY_PROCESSES, LakeConnectionInfo
from attestlab.lake.store import Numbering
from attestlab.orgs.rules import Caller
from attestlab.risk.signals.service import ExportedNumbers
from attestlab.risk.signals.shapes import SignalFilters

if TYPE_CHECKING:
    from attestlab.lake.exporter import Exporter
    from attestlab.lake.relations import TenantLake
    from attestlab.lake.trusted_connections import TrustedConnections

SIGNALS_FOLDER = "signals"
NOTHING_EXPORTED = ExportedNumbers([], 0)
ROWS_A_PART = 10_000
MERGED_LENGTHS = (100_000, 1_000_000)
"""Adjacent parts that are shorter than one of these lengths are merged as soon as they have it together."""

PARTS_A_SWEEP = 16  # takes a busy server some seconds; until then the remaining facts are read from the records
MERGES_A_SWEEP = 2  # each takes seconds


class Lake:
    """The Parquet files next to the records; call it with a caller to get that caller's view.

    >>> lab.lake(caller).decisions.sql("select allowed, count(*) from this group by all").df()  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        storage: Storage,
        folder: Path,
        clock: Clock,
        rows_a_part: int = ROWS_A_PART,
        merged_lengths: Sequence[int] = MERGED_LENGTHS,
    ) -> None:
        self.folder = folder
        self.rows_a_part = rows_a_part
        self.merged_lengths = merged_lengths
        self._storage = storage
        self._clock = clock
        self.workers = WorkerProcesses(
            processes=QUERY_PROCESSES, of_a_tenant=QUERIES_OF_A_TENANT, idle_limits=IdleLimits()
        )
        """Runs the queries of callers, which may take a gigabyte each; a second tenant does not wait for the first."""

    def __call__(self, caller: Caller) -> TenantLake:
        """Return the data sets as the caller's tenant sees them."""
        from attestlab.lake.queries import run_query  # loads DuckDB, which a start need not wait for
        from attestlab.lake.relations import TenantLake

        return TenantLake(
            self._storage,
            self.folder,
            caller.tenant_id,
            clock=self._clock,
            run_in_child=partial(run_query, self.workers),
            trusted=self._trusted_connections,
        )

    def locate(self, caller: Caller) -> LakeConnectionInfo:
        """Return what a child process needs to open the lake as the caller's tenant sees it."""
        return LakeConnectionInfo(self._storage.full_url, self.folder, caller.tenant_id, self._clock.now())

    def find_signals(self, tenant_id: UUID, filters: SignalFilters, /, *, before: int, limit: int) -> ExportedNumbers:
        """Find the newest exported signals of a tenant by a filter, with numbers below `before`.

        A lake that is missing or cannot be read finds nothing and has no end, so the records are searched instead.
        """
        if not list_parts(self.folder / SIGNALS_FOLDER):
            return NOTHING_EXPORTED
        from attestlab.lake.exported_signals import find_signals  # loads DuckDB, too

        return find_signals(self._trusted_connections, tenant_id, filters, before=before, limit=limit)

    def measure_agent_events(self, tenant_id: UUID, period: MetricsPeriod, /) -> AgentMetrics:
        """Compute the figures of a tenant's agents in a period, of exported events and of those that are not.

        Raises:
            Conflict: the lake is ahead of the records.
            Unavailable: a part was removed or damaged during the queries.
        """
        from attestlab.lake.agent_metrics import measure_events  # loads DuckDB, too

        return measure_events(self._trusted_connections, tenant_id, period)

    @cached_property
    def _trusted_connections(self) -> TrustedConnections:
        from attestlab.lake.trusted_connections import TrustedConnections  # loads DuckDB, too

        return TrustedConnections(self._storage, self.folder)

    def close(self) -> None:
        """Stop the process that runs queries, and close the connections."""
        self.workers.close()
        if "_trusted_connections" in vars(self):
            self._trusted_connections.close()

    def export(self) -> int:
        """Export all missing facts, with a short last part of each sequence; return the number of parts.

        Raises:
            Conflict: the lake is ahead of the records.
            OSError: a part could not be written.
        """
        with exclusive_lock(self.folder, wait=True):
            return self._export_all()

    def rebuild(self) -> int:
        """Delete every part and export the lake again from the records; return the number of parts.

        A concurrent reader may miss a file and has to retry.

        Raises:
            OSError: a part could not be removed or written.
        """
        with exclusive_lock(self.folder, wait=True):
            delete_all(self.folder)
            return self._export_all()

    @property
    def connection_info(self) -> dict[str, object]:
        """The information that another process needs to open this lake; includes the records' password, if there is
        one.
        """
        return {
            "records": self._storage.full_url,
            "folder": str(self.folder),
            "rows_a_part": self.rows_a_part,
            "merged_lengths": list(self.merged_lengths),
        }

    def full_parts(self) -> dict[tuple[Numbering, UUID | None], int]:
        """Return how many full parts each sequence has; if a number has grown, a part may be due."""
        with self._storage.read() as connection:
            lengths = store.sequence_lengths(connection, min_length=self.rows_a_part)
        return {
            (numbering, tenant_id): length // self.rows_a_part
            for numbering, of_tenants in lengths.items()
            for tenant_id, length in of_tenants.items()
        }

    def sweep(self) -> int:
        """Write a few whole parts, if any are due and no other process is writing; return their number.

        Raises:
            Conflict: the lake is ahead of the records.
            OSError: a part could not be written.
        """
        if not self.full_parts():
            return 0
        with exclusive_lock(self.folder) as is_sole:
            if not is_sole:
                return 0
            exporter = self._exporter()
            written = exporter.export(whole_parts_only=True, at_most=PARTS_A_SWEEP)
            return written + exporter.compact(at_most=MERGES_A_SWEEP)

    def _export_all(self) -> int:
        exporter = self._exporter()
        return exporter.export(whole_parts_only=False) + exporter.compact()

    def _exporter(self) -> Exporter:
        from attestlab.lake.exporter import Exporter  # loads DuckDB, too

        return Exporter(self._storage, self.folder, rows_a_part=self.rows_a_part, merged_lengths=self.merged_lengths)
