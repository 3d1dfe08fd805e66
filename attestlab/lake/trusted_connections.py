"""DuckDB connections for the SQL of this project: DuckDB itself reads the parts, so that it prunes row groups.

They are never for the text of a caller: such SQL could read every tenant's parts, and runs on a sealed connection
(`relations.py`). Here each view has the tenant's filter, values are parameters, and names are ours. DuckDB can open
files of the lake's folder and no others. The SHA-256 of every part is compared before its first use in the process,
and again when the file has changed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import duckdb
import pyarrow as pa

from attestlab.core.db.storage import Storage
from attestlab.lake import context_columns, store
from attestlab.lake.datasets import Dataset
from attestlab.lake.exporter import require_not_ahead, sequence_folder
from attestlab.lake.parts import LakePart, Parts, column_names, find_parts, report_unreadable_part
from attestlab.lake.unexported import UnexportedFacts
from attestlab.policy.sql.compiler import literal, quote_identifier

MEMORY_LIMIT = "1GB"  # of all queries of the process together
_READ_ERROR = re.compile("No files found|Failed to read file|Cannot open file|Could not read")
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "memory_limit": MEMORY_LIMIT,
    "temp_directory": "",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,  # variables of the calling code are not tables
}


class DatasetSnapshot(NamedTuple):
    """The facts of a data set as of one moment: the parts, and the facts that only the records have."""

    dataset: Dataset
    parts: Parts
    unexported: pa.Table


class ExportedFacts(NamedTuple):
    """The exported facts of a data set that a tenant may see, and a connection that reads them."""

    connection: duckdb.DuckDBPyConnection
    dataset: Dataset
    parts: Parts
    tenant_id: UUID

    def select_from(self, chain: Sequence[LakePart]) -> str:
        """Return SQL for the tenant's rows of some of the parts.

        DuckDB opens these only; each takes it a millisecond.
        """
        return _select_parts(self.dataset, chain, self.tenant_id)


class TrustedConnections:
    """Opens connections to one lake. They share one DuckDB instance, which remembers the footers of the parts."""

    def __init__(self, storage: Storage, folder: Path) -> None:
        self._storage, self._folder = storage, folder
        self.unexported = UnexportedFacts()
        """The facts that no part has yet, remembered for all connections of this process, sealed ones too."""

        self._instance: duckdb.DuckDBPyConnection | None = None
        self._lock = threading.Lock()

    @contextmanager
    def open(self, tenant_id: UUID, *wanted: Dataset) -> Iterator[duckdb.DuckDBPyConnection]:
        """Open a connection with a view of the tenant's rows of each data set, named like it, as of one transaction.

        Raises:
            Conflict: the lake is ahead of the records.
            Unavailable: a part was removed or damaged during the block.
        """
        snapshots = self._read_snapshots(tenant_id, wanted)
        with self._cursor() as connection, translate_read_errors():
            for snapshot in snapshots:
                _create_view(connection, snapshot, tenant_id)
            yield connection

    @contextmanager
    def open_exported(self, tenant_id: UUID, dataset: Dataset) -> Iterator[ExportedFacts]:
        """Open a connection to the exported facts alone.

        Raises:
            Conflict: the lake is ahead of the records.
            Unavailable: a part was removed or damaged during the block.
        """
        parts = find_parts(sequence_folder(self._folder, dataset, tenant_id), dataset.columns)
        with self._storage.read() as connection:
            require_not_ahead(parts, store.sequence_length(connection, dataset.numbering, tenant_id), dataset)
        with self._cursor() as connection, translate_read_errors():
            yield ExportedFacts(connection, dataset, parts, tenant_id)

    def close(self) -> None:
        """Close the instance; the next call opens another."""
        with self._lock:
            if self._instance is not None:
                self._instance.close()
            self._instance = None

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection to the shared instance; its views are temporary, so no other sees them."""
        with self._lock:
            if self._instance is None:
                self._instance = _open_instance(self._folder)
            return self._instance.cursor()

    def _read_snapshots(self, tenant_id: UUID, wanted: Sequence[Dataset]) -> list[DatasetSnapshot]:
        """Return the parts, then the facts that only the records have."""
        parts = [find_parts(sequence_folder(self._folder, each, tenant_id), each.columns) for each in wanted]
        with self._storage.read() as connection:
            snapshots = []
            for dataset, exported in zip(wanted, parts, strict=True):
                end = store.sequence_length(connection, dataset.numbering, tenant_id)
                require_not_ahead(exported, end, dataset)
                unexported = self.unexported.read(connection, dataset, tenant_id, first=exported.end, end=end)
                snapshots.append(DatasetSnapshot(dataset, exported, unexported))
            return snapshots


def _open_instance(folder: Path) -> duckdb.DuckDBPyConnection:
    instance = duckdb.connect(":memory:", config=_CONFIG)
    instance.execute("SET GLOBAL TimeZone = 'UTC'")  # otherwise times are in the machine's zone
    instance.execute("SET GLOBAL parquet_metadata_cache = true")
    instance.execute(f"SET GLOBAL allowed_directories = [{literal(str(folder))}]")
    instance.execute("SET GLOBAL enable_external_access = false")
    instance.execute("SET GLOBAL lock_configuration = true")
    return instance


def _create_view(connection: duckdb.DuckDBPyConnection, snapshot: DatasetSnapshot, tenant_id: UUID) -> None:
    """Create the view of a data set: its parts with the tenant's filter, and the facts that only the records have."""
    name, members = snapshot.dataset.name, []
    if snapshot.parts.chain:
        members.append(_select_parts(snapshot.dataset, snapshot.parts.chain, tenant_id))
    if snapshot.unexported.num_rows or not members:
        connection.register(f"{name}_unexported", snapshot.unexported)
        members.append(f"SELECT * FROM {name}_unexported")
    rows = snapshot.dataset.select_with_alias(f"({' UNION ALL BY NAME '.join(members)})")
    connection.execute(f"CREATE TEMP VIEW {name} AS {rows}")


def _select_parts(dataset: Dataset, chain: Sequence[LakePart], tenant_id: UUID) -> str:
    """Return SQL for the rows of the parts. DuckDB accepts no parameters in a view, so the values are literals."""
    names = [*dataset.columns, *_context_columns(dataset, chain)]
    columns = ", ".join(map(quote_identifier, names))
    files = ", ".join(literal(str(part.path)) for part in chain)
    by_name = f"union_by_name = {str(dataset.typed).lower()}"
    owned = "" if dataset.is_public else f" WHERE tenant_id = {literal(str(tenant_id))}"
    return f"SELECT {columns} FROM read_parquet([{files}], {by_name}, hive_partitioning = false){owned}"


def _context_columns(dataset: Dataset, chain: Sequence[LakePart]) -> list[str]:
    """Return the context columns that any part has."""
    if not dataset.typed:
        return []
    return list(context_columns.column_types(name for part in chain for name in column_names(part.path)))


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Translate the errors of parts that are missing or damaged.

    Raises:
        Unavailable: a part cannot be read.
    """
    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException) as error:
        if not _READ_ERROR.search(str(error)):
            raise
        raise report_unreadable_part() from error
