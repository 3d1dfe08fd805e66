"""A caller's view of the lake as relations: the exported parts, and the facts that are only in the records so far.

Each view is a snapshot: the existing parts are listed first, the unexported facts are read afterwards in one
transaction, so every fact occurs once whatever is exported meanwhile. A caller's SQL runs on a connection that can
open no file: DuckDB gets its rows from pyarrow with the caller's filter, so it contains no row of another tenant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import duckdb
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import dataset as datasets
from sqlalchemy import Connection

from attestlab.core import parquet_digest
from attestlab.core.db.storage import Storage
from attestlab.core.errors import Conflict, ValidationFailed
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.lake import context_columns, queries, store
from attestlab.lake import datasets as lake_datasets
from attestlab.lake.datasets import Dataset
from attestlab.lake.exporter import require_not_ahead, sequence_folder
from attestlab.lake.parts import LakePart, Parts, column_names, find_parts, report_unreadable_part
from attestlab.lake.trusted_connections import TrustedConnections
from attestlab.policy.attribute_registry import build_registry, load_own_attributes

if TYPE_CHECKING:
    import pandas as pd

MEMORY_LIMIT = "1GB"  # of one view; it cannot spill to disk, because it may not access files
_STREAM_ERROR = re.compile("IOError|OSError|[Ss]tream|get_next")
"""DuckDB's message if pyarrow cannot continue reading a part; there is no specific error class."""

_CHECKSUMMED_PARQUET = datasets.ParquetFileFormat(
    default_fragment_scan_options=datasets.ParquetFragmentScanOptions(page_checksum_verification=True)
)
"""Verifies every page as it is read, because a part may be damaged after it was checked."""

_SEALED_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY_LIMIT,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # variables of the calling code are not tables
}
STATUS_COLUMNS = {
    "status": "coalesce(ended.status, 'VALID')",
    "ended_at": "ended.at",
    "ended_index": "ended.log_index",
    "superseded_by": "ended.superseded_by",
}
"""The columns that the view of attestations adds to those of their mints."""

_ATTESTATIONS = (
    f"SELECT minted.*, {', '.join(f'{source} AS {name}' for name, source in STATUS_COLUMNS.items())} "
    "FROM minted LEFT JOIN (SELECT attestation_id, arg_max(ends_, ends_.log_index) AS ended "
    "FROM ends AS ends_ GROUP BY attestation_id) ON attestation_id = minted.id"
)

Relation = duckdb.DuckDBPyRelation
RunQuery = Callable[[str, str, queries.Parameters], Relation]
"""Runs a query on the data set of this name."""
Tables = list[pa.Table | datasets.Dataset]
"""pyarrow tables and data sets; all rows are the caller's, each once."""


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

    def sql(self, query: str, parameters: queries.Parameters = None) -> Relation:
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

        Raises:
            OSError: the file cannot be written.
            Unavailable: a part is damaged.
        """
        with translate_read_errors():
            reader = self.rel().arrow()
            count = 0
            with parquet.ParquetWriter(path, reader.schema, compression="zstd", write_page_checksum=True) as writer:
                for batch in reader:
                    writer.write_batch(batch)
                    count += batch.num_rows
                writer.add_key_value_metadata(parquet_digest.METADATA)
            with open(path, "r+b") as file:
                parquet_digest.write_digest(file)
            return count

    def __len__(self) -> int:
        with translate_read_errors():
            rows = self.connect().execute("SELECT count(*) FROM this").fetchall()
        return int(rows[0][0])

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self):,} facts>"


class TenantLake:
    """The data sets that one tenant may see: its own facts, and the public log."""

    def __init__(
        self,
        storage: Storage,
        folder: Path,
        tenant_id: UUID,
        *,
        workers: WorkerProcesses | None = None,
        trusted: TrustedConnections | None = None,
    ) -> None:
        self._storage, self._folder, self._tenant_id = storage, folder, tenant_id
        self._workers = workers
        self._trusted = trusted or TrustedConnections(storage, folder)
        self.decisions = DatasetReader("decisions", self._decisions, self._run_query)
        self.verifications = self._reader(lake_datasets.VERIFICATIONS)
        self.log_entries = self._reader(lake_datasets.LOG_ENTRIES)
        self.audit = self._reader(lake_datasets.AUDIT)
        self.signals = self._reader(lake_datasets.SIGNALS)
        self.risk_events = self._reader(lake_datasets.RISK_EVENTS)
        self.attestations = DatasetReader("attestations", self._attestations, self._run_query)

    def connect(self, *names: str) -> AbstractContextManager[duckdb.DuckDBPyConnection]:
        """Open a fast DuckDB connection for SQL of this project, with the named data sets as views of one moment.

        It has no limits, so a caller's text must go to `DatasetReader.sql`. Pass values as parameters:

            with lab.lake(caller).connect("signals", "risk_events") as connection:
                rows = connection.execute("SELECT count(*) FROM signals WHERE score >= ?", [80]).fetchall()

        The views have the facts as exported: docs/lake.md lists the columns. `attestations` are as minted, and `ends`
        has their ends. Opening takes milliseconds; call it for each report, outside the event loop.

        Raises:
            Conflict: the lake is ahead of the records.
            Unavailable: a part was removed or damaged during the block; a retry helps.
        """
        return self._trusted.open(self._tenant_id, *(lake_datasets.BY_NAME[name] for name in names))

    def history(self) -> duckdb.DuckDBPyConnection:
        """Return decisions and mints as of one moment, as `decided` and `minted`, with columns as in parts."""
        decided, minted = self._read_snapshot(lake_datasets.DECISIONS, lake_datasets.ATTESTATIONS)
        return open_sealed({"decided": decided, "minted": minted})

    def _reader(self, dataset: Dataset) -> DatasetReader:
        return DatasetReader(
            dataset.name, lambda: open_sealed({"this": self._read_snapshot(dataset)[0]}), self._run_query
        )

    def _run_query(self, dataset: str, query: str, parameters: queries.Parameters) -> Relation:
        if self._workers is None:
            raise Conflict("A child process cannot start another; use `connect`.")
        records = self._storage.url.render_as_string(hide_password=False)
        place = queries.LakeConnectionInfo(records, self._folder, self._tenant_id, dataset)
        return queries.run_query(self._workers, place, query, parameters)

    def _attestations(self) -> duckdb.DuckDBPyConnection:
        minted, ended = self._read_snapshot(lake_datasets.ATTESTATIONS, lake_datasets.ENDS)
        return open_sealed({"minted": minted, "ends": ended}, _ATTESTATIONS)

    def _decisions(self) -> duckdb.DuckDBPyConnection:
        (decided,) = self._read_snapshot(lake_datasets.DECISIONS)
        with self._storage.read() as connection:
            registry = build_registry(load_own_attributes(connection.execute, self._tenant_id))
        own = lake_datasets.DECISIONS.columns
        attributes = context_columns.select_attributes(
            context_columns.column_types(decided[-1].schema.names), registry, reserved=own
        )
        return open_sealed({"decided": decided}, f"SELECT {', '.join([*own, *attributes])} FROM decided")

    def _read_snapshot(self, *wanted: Dataset) -> list[Tables]:
        """Return the parts, then the facts that only the records have, all as of one transaction."""
        parts = {
            each.name: find_parts(sequence_folder(self._folder, each, self._tenant_id), each.columns) for each in wanted
        }
        with self._storage.read() as connection:
            return [self._tables(connection, each, parts[each.name]) for each in wanted]

    def _tables(self, connection: Connection, dataset: Dataset, parts: Parts) -> Tables:
        """Return the exported facts, as a data set filtered to the caller's rows, then the unexported ones as a
        table.
        """
        length = store.sequence_length(connection, dataset.numbering, self._tenant_id)
        require_not_ahead(parts, length, dataset)
        unexported = dataset.table(dataset.read(connection, parts.end, length, self._tenant_id))
        schema = _schema(dataset, parts.chain, unexported.schema.names)
        unexported = pa.table(
            {name: _column_or_nulls(unexported, name, schema) for name in schema.names}, schema=schema
        )
        if not parts.chain:
            return [unexported]
        exported = datasets.dataset(
            [str(part.path) for part in parts.chain], schema=schema, format=_CHECKSUMMED_PARQUET
        )
        owned = compute.field("tenant_id") == str(self._tenant_id)
        return [exported if dataset.is_public else exported.filter(owned), unexported]


def get_dataset(lake: TenantLake, dataset: str) -> DatasetReader:
    """Return the data set of a lake by name."""
    reader: DatasetReader = getattr(lake, dataset)
    return reader


def _schema(dataset: Dataset, parts: Sequence[LakePart], names: Iterable[str]) -> pa.Schema:
    """Return every existing column; of context columns, each part has only those with values."""
    used = set(names)
    if dataset.typed:
        used |= {name for part in parts for name in column_names(part.path)}
    return pa.schema(list({**dataset.columns, **context_columns.column_types(used)}.items()))


def _column_or_nulls(table: pa.Table, name: str, schema: pa.Schema) -> pa.ChunkedArray | pa.Array:
    return table[name] if name in table.column_names else pa.nulls(table.num_rows, schema.field(name).type)


def open_sealed(tables: Mapping[str, Tables], this: str | None = None) -> duckdb.DuckDBPyConnection:
    """Open a connection that has these tables, each the union of its parts, and can access nothing else.

    `this` is the query of the view `this`, unless a table has that name. Names are ours, never a caller's.
    """
    connection = duckdb.connect(":memory:", config=_SEALED_CONFIG)
    for name, members in tables.items():
        for number, table in enumerate(members):
            connection.register(f"{name}_{number}", table)
        union = " UNION ALL BY NAME ".join(f"SELECT * FROM {name}_{number}" for number in range(len(members)))
        connection.execute(f"CREATE VIEW {name} AS {union}")
    if this is not None:
        connection.execute(f"CREATE VIEW this AS {this}")
    connection.execute("SET arrow_lossless_conversion = true")  # otherwise a child process returns sums as decimals
    connection.execute("SET TimeZone = 'UTC'")  # otherwise times are in the machine's zone
    measure_progress(connection)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Translate read errors of parts: one with an intact schema may be damaged inside, which shows only during
    reading.

    Raises:
        Unavailable: a part is damaged, or was removed meanwhile.
    """
    try:
        yield
    except (duckdb.InvalidInputException, duckdb.IOException, pa.ArrowException) as error:
        if not _STREAM_ERROR.search(str(error)):
            raise
        raise report_unreadable_part() from error


def measure_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Make DuckDB measure the progress of queries without printing; in Jupyter that requires a package for widgets."""
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")


def require_one_query(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise ValidationFailed(f"This is not SQL: {error}") from error
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise ValidationFailed("Send one query that reads `this`, such as `select count(*) from this`.")
