"""What a caller may see of the lake, as a relation: the parts and, from the records, what is not exported yet.

Each look is one moment: first it is looked which parts there are, then the rest in one transaction, so every fact is
there once whatever is exported meanwhile. Text of the caller runs on a connection that can open no file: DuckDB gets
rows from pyarrow, which was given the caller's filter, so there is no row of another tenant to be found in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import duckdb
import pyarrow as pa
from pyarrow import compute, parquet
from pyarrow import dataset as datasets
from sqlalchemy import Connection

from attestlab.core import parquet_digest
from attestlab.core.db.storage import Storage
from attestlab.core.errors import Conflict, Unavailable, ValidationFailed
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.lake import context_columns, queries, store
from attestlab.lake import datasets as lake_datasets
from attestlab.lake.datasets import Dataset
from attestlab.lake.exporter import require_not_ahead, sequence_folder
from attestlab.lake.parts import LakePart, Parts, find_parts
from attestlab.policy import attribute_documents
from attestlab.policy.attribute_registry import load_own_attributes

if TYPE_CHECKING:
    import pandas as pd

MEMORY_LIMIT = "1GB"  # of one look; it cannot spill, for that would be files
_STREAM_ERROR = re.compile("IOError|OSError|[Ss]tream|get_next")
"""What DuckDB says where pyarrow could not go on with a part; it has no class of its own for it."""

_CHECKSUMMED_PARQUET = datasets.ParquetFileFormat(
    default_fragment_scan_options=datasets.ParquetFragmentScanOptions(page_checksum_verification=True)
)
"""Every page is verified as it is read: a part may be damaged after it was found whole."""

_SEALED_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY_LIMIT,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # the variables of whoever called are no tables
}
STATUS_COLUMNS = {
    "status": "coalesce(ended.status, 'VALID')",
    "ended_at": "ended.at",
    "ended_index": "ended.log_index",
    "superseded_by": "ended.superseded_by",
}
"""What the view of attestations has beside the columns of their mints."""

_ATTESTATIONS = (
    f"SELECT minted.*, {', '.join(f'{source} AS {name}' for name, source in STATUS_COLUMNS.items())} "
    "FROM minted LEFT JOIN (SELECT attestation_id, arg_max(ends_, ends_.log_index) AS ended "
    "FROM ends AS ends_ GROUP BY attestation_id) ON attestation_id = minted.id"
)

Relation = duckdb.DuckDBPyRelation
RunQuery = Callable[[str, str, queries.Parameters], Relation]
"""Asks the data set of this name."""
Tables = list[Any]
"""pyarrow tables and data sets; all rows are the caller's, each once."""


class DatasetReader:
    """One data set as one caller sees it; every call looks anew.

    `len` counts the facts. Columns stand in docs/lake.md.
    """

    def __init__(self, name: str, connect: Callable[[], duckdb.DuckDBPyConnection], run_query: RunQuery) -> None:
        self.name = name
        self._run_query = run_query
        self.connect = connect
        """A sealed connection of one's own that has the facts as the view `this`, of the moment of the call."""

    def rel(self) -> Relation:
        """The facts as a lazy DuckDB relation, of the moment of the call."""
        return self.connect().table("this")

    def sql(self, query: str, parameters: queries.Parameters = None) -> Relation:
        """One query that reads `this`, such as `select action, count(*) from this group by all`.

        It runs at once, in a child process that may use a gigabyte and a minute. Values go in as `parameters`, in
        place of `?` or `$name`.

        Raises:
            ValidationFailed: it is not one query, or no SQL.
            Unavailable: it takes over a minute or a gigabyte; its rows have over 256 MiB; or a part is damaged.
            duckdb.Error: DuckDB refuses it, or it wants a file.
        """
        return self._run_query(self.name, query, parameters)

    def df(self) -> pd.DataFrame:
        """The facts as a frame; times are UTC.

        Raises:
            Unavailable: a part is damaged.
        """
        with translate_read_errors():
            return self.rel().df()

    def arrow(self) -> pa.Table:
        """The facts as a pyarrow Table.

        Raises:
            Unavailable: a part is damaged.
        """
        with translate_read_errors():
            return self.rel().arrow().read_all()

    def to_parquet(self, path: str | PathLike[str]) -> int:
        """Write the facts as one Parquet file, in bounded memory; how many there are.

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
    """What one tenant may see: its own facts, and the log, which is everybody's."""

    def __init__(
        self, storage: Storage, folder: Path, tenant_id: UUID, *, workers: WorkerProcesses | None = None
    ) -> None:
        self._storage, self._folder, self._tenant_id = storage, folder, tenant_id
        self._workers = workers
        self.decisions = DatasetReader("decisions", self._decisions, self._run_query)
        self.verifications = self._reader(lake_datasets.VERIFICATIONS)
        self.log_entries = self._reader(lake_datasets.LOG_ENTRIES)
        self.audit = self._reader(lake_datasets.AUDIT)
        self.attestations = DatasetReader("attestations", self._attestations, self._run_query)

    def history(self) -> duckdb.DuckDBPyConnection:
        """Decisions and mints as of one moment, as `decided` and `minted`, with columns as parts have them."""
        decided, minted = self._read_snapshot(lake_datasets.DECISIONS, lake_datasets.ATTESTATIONS)
        return open_sealed({"decided": decided, "minted": minted})

    def _reader(self, dataset: Dataset) -> DatasetReader:
        return DatasetReader(
            dataset.name, lambda: open_sealed({"this": self._read_snapshot(dataset)[0]}), self._run_query
        )

    def _run_query(self, dataset: str, query: str, parameters: queries.Parameters) -> Relation:
        if self._workers is None:
            raise Conflict("A child process asks no other; use `look`.")
        records = self._storage.url.render_as_string(hide_password=False)
        place = queries.LakeConnectionInfo(records, self._folder, self._tenant_id, dataset)
        return queries.run_query(self._workers, place, query, parameters)

    def _attestations(self) -> duckdb.DuckDBPyConnection:
        minted, ended = self._read_snapshot(lake_datasets.ATTESTATIONS, lake_datasets.ENDS)
        return open_sealed({"minted": minted, "ends": ended}, _ATTESTATIONS)

    def _decisions(self) -> duckdb.DuckDBPyConnection:
        (decided,) = self._read_snapshot(lake_datasets.DECISIONS)
        with self._storage.read() as connection:
            registry = attribute_documents.build_registry(load_own_attributes(connection.execute, self._tenant_id))
        own = lake_datasets.DECISIONS.columns
        attributes = context_columns.select_attributes(
            context_columns.column_types(decided[-1].schema.names), registry, reserved=own
        )
        return open_sealed({"decided": decided}, f"SELECT {', '.join([*own, *attributes])} FROM decided")

    def _read_snapshot(self, *wanted: Dataset) -> list[Tables]:
        """The parts, then what the records have beyond them, all of it as of one transaction."""
        parts = {
            each.name: find_parts(sequence_folder(self._folder, each, self._tenant_id), each.columns) for each in wanted
        }
        with self._storage.read() as connection:
            return [self._tables(connection, each, parts[each.name]) for each in wanted]

    def _tables(self, connection: Connection, dataset: Dataset, parts: Parts) -> Tables:
        """What is exported, as a data set that shows the caller's rows only; last the rest, as a table."""
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
    """The data set of a lake that has this name."""
    reader: DatasetReader = getattr(lake, dataset)
    return reader


def _schema(dataset: Dataset, parts: Sequence[LakePart], names: Iterable[str]) -> pa.Schema:
    """Every column that there is; of contexts each part has those that it has values for."""
    used = set(names)
    if dataset.typed:
        used |= {name for part in parts for name in parquet.read_schema(part.path).names}
    return pa.schema(list({**dataset.columns, **context_columns.column_types(used)}.items()))


def _column_or_nulls(table: pa.Table, name: str, schema: pa.Schema) -> Any:
    return table[name] if name in table.column_names else pa.nulls(table.num_rows, schema.field(name).type)


def open_sealed(tables: Mapping[str, Tables], this: str | None = None) -> duckdb.DuckDBPyConnection:
    """A connection that has these tables, each the union of its parts, and can reach nothing else.

    `this` is the query of the view `this`, where none of the tables is it. Names are ours, never a caller's.
    """
    connection = duckdb.connect(":memory:", config=_SEALED_CONFIG)
    for name, members in tables.items():
        for number, table in enumerate(members):
            connection.register(f"{name}_{number}", table)
        union = " UNION ALL BY NAME ".join(f"SELECT * FROM {name}_{number}" for number in range(len(members)))
        connection.execute(f"CREATE VIEW {name} AS {union}")
    if this is not None:
        connection.execute(f"CREATE VIEW this AS {this}")
    connection.execute("SET arrow_lossless_conversion = true")  # else a sum comes back from a child as a decimal
    connection.execute("SET TimeZone = 'UTC'")  # else times are shown in the zone of whoever's machine this is
    measure_progress(connection)
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Whatever reads parts: one whose schema is whole may still be damaged within, which shows only now.

    Raises:
        Unavailable: it is, or it went away meanwhile.
    """
    try:
        yield
    except (duckdb.InvalidInputException, duckdb.IOException, pa.ArrowException) as error:
        if not _STREAM_ERROR.search(str(error)):
            raise
        raise Unavailable(
            "A part of the lake cannot be read; ask again, and if it stays so, "
            "whoever runs this installation runs `attestlab lake rebuild`."
        ) from error


def measure_progress(connection: duckdb.DuckDBPyConnection) -> None:
    """Have DuckDB know how far a query is, and print nothing; in Jupyter it cannot without a package for widgets."""
    with suppress(duckdb.InvalidInputException):
        connection.execute("SET enable_progress_bar = true")
        connection.execute("SET enable_progress_bar_print = false")


def require_one_query(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise ValidationFailed(f"This is not SQL: {error}") from error
    if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
        raise ValidationFailed("Ask one query that reads `this`, such as `select count(*) from this`.")
