"""A caller's view of the lake as relations: the exported parts, and the facts that are only in the records so far.

Each view is a snapshot: the existing parts are listed first, the unexported facts are read afterwards in one
transaction, so every fact occurs once, even if an export runs at the same time. A caller's SQL runs on a connection
that can open no file: DuckDB gets its rows from pyarrow with the caller's filter, so it contains no row of another
tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from uuid import UUID

import duckdb
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import dataset as datasets
from sqlalchemy import Connection

from attestlab.core import atomic_files, parquet_digest
from attestlab.core.clock import Clock
from attestlab.core.counting import plural
from attestlab.core.db.storage import Storage
from attestlab.core.errors import Conflict
from attestlab.core.json_types import SqlParameters
from attestlab.lake import context_columns, decoded_files, store, views
from attestlab.lake import datasets as lake_datasets
from attestlab.lake.datasets import Dataset
from attestlab.lake.decoded_files import RowsOfPart
from attestlab.lake.decoded_parts import DECODED, MAX_ROWS
from attestlab.lake.exporter import require_not_ahead, sequence_folder
from attestlab.lake.mapped_parts import MAPPED
from attestlab.lake.parts import LakePart, Parts, column_names, find_parts, report_unreadable_part
from attestlab.lake.rules import LakeConnectionInfo
from attestlab.lake.sealed_connections import Tables, open_sealed, translate_read_errors
from attestlab.lake.trusted_connections import TrustedConnections
from attestlab.lake.views import LakeView, Source
from attestlab.policy.attribute_registry import build_registry, load_own_attributes

if TYPE_CHECKING:
    import pandas as pd

_CHECKSUMMED_PARQUET = datasets.ParquetFileFormat(
    default_fragment_scan_options=datasets.ParquetFragmentScanOptions(page_checksum_verification=True)
)
"""Verifies every page as it is read, because a part may be damaged after it was checked."""

Relation = duckdb.DuckDBPyRelation
RunQuery = Callable[[str | None, str, SqlParameters], Relation]
"""Runs a query on the data set of this name, or on all of them by their names."""
RunInChild = Callable[[LakeConnectionInfo, str | None, str, SqlParameters], Relation]
"""Runs such a query in a child process, which opens the lake by what it gets."""


class DatasetReader:
    """One data set as one caller sees it; every call reads a new snapshot.

    `len` counts the facts. docs/lake.md lists the columns.
    """

    def __init__(self, name: str, connect: Callable[[], duckdb.DuckDBPyConnection], run_query: RunQuery) -> None:
        self.name = name
        self._run_query = run_query
        self.connect = connect
        """Opens a new sealed connection that has the facts as the view `this`, as of the call."""

    def rel(self) -> Relation:
        """Return the facts as a lazy DuckDB relation, as of the call."""
        return self.connect().table("this")

    def sql(self, query: str, parameters: SqlParameters = None) -> Relation:
        """Run one query that reads `this`, such as `select action, count(*) from this group by all`.

        It runs immediately, in a child process limited to a gigabyte and a minute. Pass values as `parameters`, for
        `?` or `$name`.

        Raises:
            ValidationFailed: it is not exactly one query, or not SQL.
            Unavailable: it takes over a minute or a gigabyte; its rows have over 256 MiB; or a part is damaged.
            duckdb.Error: DuckDB rejects it, or it accesses a file.
        """
        return self._run_query(self.name, query, parameters)

    def df(self) -> pd.DataFrame:
        """Return the facts as a data frame; times are UTC.

        Raises:
            Unavailable: a part is damaged.
        """
        with translate_read_errors():
            return self.rel().df()

    def arrow(self) -> pa.Table:
        """Return the facts as a pyarrow Table.

        Raises:
            Unavailable: a part is damaged.
        """
        with translate_read_errors():
            return self.rel().arrow().read_all()

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write the facts as one Parquet file, in bounded memory; return their number.

        A file that was there before is replaced when all are written, and otherwise stays as it is.

        Raises:
            OSError: the file cannot be written.
            Unavailable: a part is damaged.
        """
        target = Path(path)
        with translate_read_errors(), atomic_files.open_draft(target, mode=0o666) as (draft, file):
            count = _write_batches(self.rel().arrow(), file)
            with draft.open("r+b") as written:
                parquet_digest.write_digest(written)
            draft.replace(target)
        return count

    def __len__(self) -> int:
        with translate_read_errors():
            rows = self.connect().execute("SELECT count(*) FROM this").fetchall()
        return int(rows[0][0])

    def __repr__(self) -> str:
        return f"<{self.name}: {plural(len(self), 'fact')}>"


def _write_batches(rows: pa.RecordBatchReader, file: BinaryIO) -> int:
    count = 0
    with parquet.ParquetWriter(file, rows.schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in rows:
            writer.write_batch(batch)
            count += batch.num_rows
        writer.add_key_value_metadata(parquet_digest.METADATA)
    file.flush()
    return count


class TenantLake:
    """The data sets that one tenant may see: its own rows, and the public log."""

    def __init__(
        self,
        storage: Storage,
        folder: Path,
        tenant_id: UUID,
        *,
        clock: Clock,
        run_in_child: RunInChild | None = None,
        trusted: TrustedConnections | None = None,
    ) -> None:
        self._storage, self._folder, self._tenant_id = storage, folder, tenant_id
        self._clock = clock
        self._run_in_child = run_in_child
        self._trusted = trusted or TrustedConnections(storage, folder)
        self.decisions = self._reader("decisions")
        self.attestations = self._reader("attestations")
        self.receipts = self._reader("receipts")
        self.verifications = self._reader("verifications")
        self.log_entries = self._reader("log_entries")
        self.audit = self._reader("audit")
        self.signals = self._reader("signals")
        self.raw_events = self.risk_events = self._reader("raw_events")
        self.deliveries = self._reader("deliveries")
        self.issuers = self._reader("issuers")
        self.policies = self._reader("policies")
        self.cases = self._reader("cases")
        self.challenges = self._reader("challenges")
        self.inbox_items = self._reader("inbox_items")
        self.usage = self._reader("usage")
        self.invoices = self._reader("invoices")
        self.agents = self._reader("agents")
        self.agent_sessions = self._reader("agent_sessions")
        self.delegations = self._reader("delegations")
        self.agent_events = self._reader("agent_events")
        self.witness_votes = self._reader("witness_votes")
        self.run_steps = self._reader("run_steps")
        self.compliance_findings = self._reader("compliance_findings")

    def sql(self, query: str, parameters: SqlParameters = None) -> Relation:
        """Run one query that reads the data sets by their names, all as of one moment.

        It has the limits of `DatasetReader.sql`. Pass values as `parameters`, for `?` or `$name`:

            lab.lake(caller).sql("select outcome, count(*) from signals join cases on cases.id = case_id group by all")

        Raises:
            ValidationFailed: it is not exactly one query, or not SQL.
            Unavailable: it takes over a minute or a gigabyte; its rows have over 256 MiB; or a part is damaged.
            duckdb.Error: DuckDB rejects it, or it accesses a file.
        """
        return self._run_query(None, query, parameters)

    def connect(self, *names: str) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open a fast DuckDB connection for SQL of this project, with the named data sets as views of one moment.

        It has no limits, so a caller's text must go to `sql`. Pass values as parameters:

            with lab.lake(caller).connect("signals", "raw_events") as connection:
                rows = connection.execute("SELECT count(*) FROM signals WHERE score >= ?", [80]).fetchall()

        The views have the facts as exported: docs/lake.md lists the columns. `attestations` and `receipts` are as
        minted; `ends`, `receipt_ends` and `receipt_redactions` have what became of them. Opening takes milliseconds;
        call it for each report, outside the event loop.

        Raises:
            Conflict: the lake is ahead of the records.
            Unavailable: a part was removed or damaged during the block; a retry helps.
        """
        return self._trusted.open(self._tenant_id, *(lake_datasets.BY_NAME[name] for name in names))

    def open_views(
        self, wanted: Iterable[LakeView], *, alias: str | None = None, has_plain_types: bool = False
    ) -> duckdb.DuckDBPyConnection:
        """Open a sealed connection that has these views, all as of one moment; one alone may have another name.

        For `has_plain_types` see `open_sealed`.
        """
        wanted = list(wanted)
        sources = {source.name: source for view in wanted for source in view.sources}
        tables = dict(zip(sources, self._read_snapshot(*sources.values()), strict=True))
        placed = {name: f"{name}_rows" for name in sources}
        selects = {alias or view.name: view.select(placed, self._attributes(view, tables)) for view in wanted}
        members = {placed[name]: each for name, each in tables.items()}
        is_child = self._run_in_child is None
        owner = self._tenant_id if is_child else None
        now = self._clock.now()
        return open_sealed(members, selects, has_plain_types=has_plain_types, owner=owner, now=now)

    def history(self) -> duckdb.DuckDBPyConnection:
        """Return decisions and mints as of one moment, as `decided` and `minted`, with columns as in parts."""
        decided, minted = self._read_snapshot(lake_datasets.DECISIONS, lake_datasets.ATTESTATIONS)
        return open_sealed({"decided": decided, "minted": minted})

    def _reader(self, name: str) -> DatasetReader:
        view = views.BY_NAME[name]
        return DatasetReader(name, lambda: self.open_views([view], alias="this"), self._run_query)

    def _run_query(self, dataset: str | None, query: str, parameters: SqlParameters) -> Relation:
        if self._run_in_child is None:
            raise Conflict("A child process cannot start another; use `connect`.")
        place = LakeConnectionInfo(self._storage.full_url, self._folder, self._tenant_id, self._clock.now())
        return self._run_in_child(place, dataset, query, parameters)

    def _attributes(self, view: LakeView, tables: Mapping[str, Tables]) -> list[str]:
        """Return SQL for the columns of contexts, if the view has decisions."""
        if view is not views.DECISIONS:
            return []
        with self._storage.read() as connection:
            registry = build_registry(load_own_attributes(connection.execute, self._tenant_id))
        names = context_columns.column_types(tables[view.name][-1].schema.names)
        return context_columns.select_attributes(names, registry, reserved=lake_datasets.DECISIONS.columns)

    def _read_snapshot(self, *wanted: Source) -> list[Tables]:
        """Return the parts, then the rows that only the records have, all as of one transaction."""
        parts = {
            each.name: find_parts(sequence_folder(self._folder, each, self._tenant_id), each.columns)
            for each in wanted
            if isinstance(each, Dataset)
        }
        with self._storage.read() as connection:
            return [
                self._tables(connection, each, parts[each.name])
                if isinstance(each, Dataset)
                else [each.table(connection, self._tenant_id)]
                for each in wanted
            ]

    def _tables(self, connection: Connection, dataset: Dataset, parts: Parts) -> Tables:
        """Return the exported facts, as a data set filtered to the caller's rows, then the unexported ones as a
        table.
        """
        length = store.sequence_length(connection, dataset.numbering, self._tenant_id)
        require_not_ahead(parts, length, dataset)
        unexported = self._trusted.unexported.read(connection, dataset, self._tenant_id, first=parts.end, end=length)
        schema = _schema(dataset, parts.chain, unexported.schema.names)
        unexported = pa.table(
            {name: _column_or_nulls(unexported, name, schema) for name in schema.names}, schema=schema
        )
        return [*self._open_parts(dataset, parts, schema), unexported]

    def _open_parts(self, dataset: Dataset, parts: Parts, schema: pa.Schema) -> Tables:
        """Return the caller's rows of the parts: as tables if they are decoded already, else as one data set."""
        opened = _OwnedParts(dataset, self._folder, self._tenant_id)
        try:
            if parts.end > MAX_ROWS:
                return opened.map_long(parts.chain, schema)
            variant = (opened.owner, tuple(schema.names))
            decoded = DECODED.read(parts, variant, lambda part: opened.open([part], schema).to_table())
        except pa.ArrowMemoryError:
            raise
        except (OSError, pa.ArrowException):
            raise report_unreadable_part() from None
        if decoded is not None:
            return [pa.concat_tables(decoded)]
        return [opened.open(parts.chain, schema)] if parts.chain else []


class _OwnedParts:
    """Opens the rows of a data set's parts that a tenant may see."""

    def __init__(self, dataset: Dataset, lake: Path, tenant_id: UUID) -> None:
        self._dataset = dataset
        self.owner = None if dataset.is_public else str(tenant_id)
        self._decoded = lake / decoded_files.FOLDER / dataset.folder / (self.owner or "public")

    def open(self, chain: Sequence[LakePart], schema: pa.Schema) -> datasets.Dataset:
        """Open parts as one data set, which decodes what a query reads."""
        opened = datasets.dataset([str(part.path) for part in chain], schema=schema, format=_CHECKSUMMED_PARQUET)
        return opened if self.owner is None else opened.filter(compute.field("tenant_id") == self.owner)

    def map_long(self, chain: Sequence[LakePart], schema: pa.Schema) -> Tables:
        """Map the parts that a process has decoded, and open the others; of context columns, a table has its parts'."""
        wanted = [RowsOfPart.describe(self._decoded, part, _schema(self._dataset, [part], ())) for part in chain]
        mapped = MAPPED.read(wanted, self._decode)
        alike: dict[pa.Schema, list[pa.Table]] = {}
        for table in mapped.tables:
            alike.setdefault(table.schema, []).append(table)
        joined = [pa.concat_tables(tables) for tables in alike.values()]
        return [*joined, self.open(mapped.missing, schema)] if mapped.missing else joined

    def _decode(self, part: LakePart) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part, a row group at a time."""
        rows = self.open([part], _schema(self._dataset, [part], ()))
        yield from rows.scanner(batch_readahead=1, fragment_readahead=1, use_threads=False).to_batches()


def _schema(dataset: Dataset, parts: Sequence[LakePart], names: Iterable[str]) -> pa.Schema:
    """Return every existing column; of context columns, each part has only those with values."""
    used = set(names)
    if dataset.typed:
        used |= {name for part in parts for name in column_names(part.path)}
    return pa.schema(list({**dataset.columns, **context_columns.column_types(used)}.items()))


def _column_or_nulls(table: pa.Table, name: str, schema: pa.Schema) -> pa.ChunkedArray | pa.Array:
    return table[name] if name in table.column_names else pa.nulls(table.num_rows, schema.field(name).type)
