"""Runs a caller's SQL in a child process that is limited to one gigabyte and one minute.

DuckDB's own memory limit covers only its buffers: one `printf` took four gigabytes in addition. So the kernel limits
the process (RLIMIT_DATA), and the process is killed when its time is up.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from attestlab.core.clock import FixedClock
from attestlab.core.db.storage import Storage
from attestlab.core.errors import Unavailable, ValidationFailed
from attestlab.core.execution.worker_processes import WorkerProcesses
from attestlab.core.json_types import SqlParameters
from attestlab.lake import named_views, views
from attestlab.lake.query_errors import CONVERSION_ERRORS, explain_conversion
from attestlab.lake.relations import TenantLake
from attestlab.lake.rules import QUERY_TIMEOUT_S, LakeConnectionInfo
from attestlab.lake.sealed_connections import require_one_query, restore_duckdb_errors, translate_read_errors
from attestlab.lake.trusted_connections import TrustedConnections

MAX_MEMORY_BYTES = 1 << 30  # in addition to the memory of the process at its start
MAX_RESULT_BYTES = 1 << 28  # of the returned rows
TIMEOUT_S = QUERY_TIMEOUT_S


class _QueryError(NamedTuple):
    """An error of DuckDB: the name of its class, and its message."""

    kind: str
    message: str


def run_query(
    workers: WorkerProcesses, info: LakeConnectionInfo, dataset: str | None, query: str, parameters: SqlParameters
) -> duckdb.DuckDBPyRelation:
    """Run one query and return its rows, as a relation of a connection that contains nothing else.

    It reads `this`, the data set with a name, or all data sets by their names.

    Raises:
        ValidationFailed: it is not exactly one query, or not SQL.
        Unavailable: it takes over a minute or over a gigabyte; its rows have over 256 MiB; or a part is damaged.
        duckdb.Error: DuckDB rejects it, or it accesses a file.
    """
    query.encode()  # raises for a lone surrogate, before a child process is started
    result = workers.run_blocking(run_query_in_child, info, dataset, query, parameters, timeout_s=TIMEOUT_S)
    if isinstance(result, _QueryError):
        raise getattr(duckdb, result.kind, duckdb.Error)(result.message)
    connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    connection.execute("SET arrow_lossless_conversion = true")
    connection.execute("SET TimeZone = 'UTC'")
    with pa.ipc.open_stream(result) as reader:
        return connection.from_arrow(reader.read_all())


def run_query_in_child(
    info: LakeConnectionInfo, dataset: str | None, query: str, parameters: SqlParameters
) -> bytes | _QueryError:
    """Run a query in the child process and return its rows as an Arrow stream.

    Raises:
        ValidationFailed, Unavailable: see `run_query`.
    """

    def run(connection: duckdb.DuckDBPyConnection) -> bytes:
        require_one_query(connection, query, example="select count(*) from this")
        limit_memory()
        return _encode_arrow_stream(connection.sql(query, params=parameters))

    lake = open_lake(info)
    try:
        with translate_read_errors(), translate_resource_errors(), restore_duckdb_errors():
            if dataset is None:
                return named_views.run_on_needed_views(lake, query, run)
            return run(lake.open_views([views.BY_NAME[dataset]], alias="this"))
    except duckdb.Error as error:
        return _QueryError(type(error).__name__, str(error))
    except CONVERSION_ERRORS as error:
        raise explain_conversion(error) from None


def open_lake(info: LakeConnectionInfo) -> TenantLake:
    """Open a tenant's view of a lake in a child process."""
    trusted = open_trusted(info.records, info.folder)
    return TenantLake(
        open_records(info.records), info.folder, info.tenant_id, clock=FixedClock(info.now), trusted=trusted
    )


@cache
def open_trusted(records: str, folder: Path) -> TrustedConnections:
    """Open the connections to a lake that the jobs of a child process share, and their memory of unexported facts."""
    return TrustedConnections(open_records(records), folder)


@contextmanager
def translate_resource_errors() -> Iterator[None]:
    """Translate the errors of a query that needs too much memory.

    Raises:
        Unavailable: it does.
    """
    try:
        yield
    except (duckdb.OutOfMemoryException, MemoryError, pa.ArrowMemoryError):
        message = f"The query needs over {MAX_MEMORY_BYTES >> 20:,} MiB; select fewer rows or columns, or group them."
        raise Unavailable(message) from None


def _encode_arrow_stream(relation: duckdb.DuckDBPyRelation | None) -> bytes:
    if relation is None:
        raise ValidationFailed.of(
            "/sql", "query", "Send one query that reads `this`, such as `select count(*) from this`."
        )
    sink, size = pa.BufferOutputStream(), 0
    reader = relation.arrow()
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            size += batch.nbytes
            if size > MAX_RESULT_BYTES:
                raise Unavailable(
                    f"The rows have over {MAX_RESULT_BYTES >> 20} MiB; select fewer rows or columns, or group them."
                )
            writer.write_batch(batch)
    return bytes(memoryview(sink.getvalue()))


@cache
def open_records(records: str) -> Storage:
    return Storage(records)


@cache
def limit_memory() -> None:
    """Limit the memory of this process, once, after all libraries are loaded."""
    status = Path("/proc/self/status").read_text()
    used = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData:"))
    limit = used * 1024 + MAX_MEMORY_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
