"""Service for risk signals: add, get, list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import NamedTuple, Protocol
from uuid import UUID

from attestlab.core.clock import Clock
from attestlab.core.db.storage import Storage
from attestlab.core.db.transaction import Transaction
from attestlab.core.table_files import FileFormat, encode_pages
from attestlab.orgs.rules import Caller
from attestlab.risk.rules import require_open_source, warn_about_scale
from attestlab.risk.signals import store
from attestlab.risk.signals.recording import NewSignal, record_signals
from attestlab.risk.signals.shapes import SignalFilters
from attestlab.risk.signals.store import RiskSignalRecord

MIN_SCANNED = 500
SCANNED_PER_ROW = 10  # a filter that selects a tenth of the signals needs no lake
ROWS_A_PART = 2_000  # of an exported file; some 20 ms of a thread, and 16 MB at most


class ExportedNumbers(NamedTuple):
    """The numbers of signals that were found among the exported ones, newest first.

    Exported are the signals with numbers below `end`; it is 0 if the lake cannot be searched.
    """

    numbers: Sequence[int]
    end: int


class FindExported(Protocol):
    """Finds the newest `limit` exported signals of a tenant by a filter, with numbers below `before`."""

    def __call__(self, tenant_id: UUID, filters: SignalFilters, /, *, before: int, limit: int) -> ExportedNumbers: ...


class Signals:
    """The risk signals of tenants; they are added and never change.

    `tx` is the unit of work to join; without it, a verb commits its own.
    """

    def __init__(self, *, storage: Storage, clock: Clock, find_exported: FindExported) -> None:
        self.storage = storage
        self.clock = clock
        self._find_exported = find_exported

    def add(self, new: NewSignal, *, caller: Caller, tx: Transaction | None = None) -> RiskSignalRecord:
        """Record a signal, publish it, and escalate it at the tenant's threshold.

        Raises:
            PermissionDenied: the caller is an agent, and the source is `agent`.
        """
        (record,) = self.add_many([new], caller=caller, tx=tx)
        return record

    def add_many(
        self, new: Sequence[NewSignal], *, caller: Caller, is_backfill: bool = False, tx: Transaction | None = None
    ) -> list[RiskSignalRecord]:
        """Record signals; a backfill publishes no event and escalates nothing.

        Raises:
            PermissionDenied: the caller is an agent, and a source is `agent`.
        """
        for each in new:
            require_open_source(each.source, caller.actor_type)
        with self.storage.write(tx) as tx:
            return record_signals(tx, caller.tenant_id, new, at=self.clock.now(), is_backfill=is_backfill)

    def warn_about_scale(
        self, highest: Mapping[str, float], *, caller: Caller, tx: Transaction | None = None
    ) -> list[str]:
        """Return warnings about sources of which all recent scores are at most 1; `highest` are new ones."""
        suspects = {source: score for source, score in highest.items() if warn_about_scale(source, score)}
        if not suspects:
            return []
        with self.storage.read() if tx is None else nullcontext(tx.connection) as connection:
            recorded = store.find_highest_scores(connection.execute, caller.tenant_id)
        warnings = (warn_about_scale(source, max(score, recorded.get(source, 0))) for source, score in suspects.items())
        return [warning for warning in warnings if warning]

    def get(self, signal_id: UUID, *, caller: Caller) -> RiskSignalRecord:
        """Return one of the tenant's signals.

        Raises:
            NotFound: the tenant has no such signal.
        """
        with self.storage.read() as connection:
            return store.get(connection.execute, signal_id, tenant_id=caller.tenant_id)

    def export(
        self, filters: SignalFilters, file_format: FileFormat[RiskSignalRecord], *, caller: Caller
    ) -> Iterator[bytes]:
        """Yield a file with the tenant's signals, newest first, in parts of `ROWS_A_PART` signals.

        Only the last part may be empty. Signals that are recorded after the first part are not in the file.
        """

        def read_pages(before: int | None = None) -> Iterator[Sequence[RiskSignalRecord]]:
            while rows := self.page(filters, caller=caller, before=before, limit=ROWS_A_PART):
                before = rows[-1].seq
                yield rows
                if len(rows) < ROWS_A_PART:
                    break

        yield from encode_pages(read_pages(), file_format)

    def page(
        self, filters: SignalFilters, *, caller: Caller, before: int | None = None, limit: int = 50
    ) -> Sequence[RiskSignalRecord]:
        """Return a page of the tenant's signals, newest first, before the number `before`.

        If the newest signals do not fill it, the lake finds the numbers of older ones: it reads columns, so that a
        filter may skip millions.
        """
        at_most = MIN_SCANNED + SCANNED_PER_ROW * limit
        with self.storage.read() as connection:
            scan = store.scan_newest(
                connection.execute, caller.tenant_id, filters, before=before, limit=limit, at_most=at_most
            )
        if scan.reached is None or len(scan.rows) == limit:
            return scan.rows
        older = self._page_before(caller.tenant_id, filters, before=scan.reached, limit=limit - len(scan.rows))
        return [*scan.rows, *older]

    def _page_before(
        self, tenant_id: UUID, filters: SignalFilters, *, before: int, limit: int
    ) -> Sequence[RiskSignalRecord]:
        """Return signals that the records have and the lake does not, then those whose numbers the lake finds."""
        numbers, end = self._find_exported(tenant_id, filters, before=before, limit=limit)
        with self.storage.read() as connection:
            execute = connection.execute
            newer = store.list_page(execute, tenant_id, filters, before=before, first=end, limit=limit)
            wanted = numbers[: limit - len(newer)]
            exported = store.list_numbered(execute, tenant_id, wanted) if wanted else []
            if len(exported) < len(wanted):  # the lake has signals that the records do not have
                return store.list_page(execute, tenant_id, filters, before=before, limit=limit)
            return [*newer, *exported]
