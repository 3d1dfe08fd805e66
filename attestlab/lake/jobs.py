"""The work of requests for rows of the lake, in a child process (`core.execution.worker_processes`).

The server imports this module and passes its functions to the process, which loads DuckDB and pyarrow.
"""

from __future__ import annotations

from collections.abc import Generator

from attestlab.lake.rules import ClientQuery, DatasetRequest, LakeConnectionInfo


def load_libraries() -> None:
    """Load what queries need, so that the first one of this process does not wait for it."""
    from attestlab.lake import query_streams  # noqa: F401  # loading it is the purpose


def stream_query(info: LakeConnectionInfo, query: ClientQuery, scopes: frozenset[str]) -> Generator[bytes]:
    """Yield the rows of a query by a client with these scopes.

    Raises:
        ValidationFailed: it is not one query, or DuckDB rejects it.
        PermissionDenied: the client lacks the scope of a data set that it reads.
        Unavailable: it takes over a gigabyte, or a part is damaged.
    """
    from attestlab.lake import query_streams

    yield from query_streams.stream_query(info, query, scopes)


def stream_dataset(info: LakeConnectionInfo, request: DatasetRequest, scopes: frozenset[str]) -> Generator[bytes]:
    """Yield the rows of a data set to a client with these scopes: as JSON the newest first, as Arrow in no order.

    Raises:
        NotFound: there is no such data set.
        ValidationFailed: it has no such column.
        PermissionDenied: the client lacks its scope.
        Unavailable: a part is damaged.
    """
    from attestlab.lake import query_streams

    yield from query_streams.stream_dataset(info, request, scopes)


def describe_datasets(info: LakeConnectionInfo, scopes: frozenset[str]) -> bytes:
    """Return the data sets that a client with these scopes may read, as JSON: names, columns and counts of rows.

    Raises:
        Unavailable: a part is damaged.
    """
    from attestlab.lake import descriptions  # loads DuckDB, in a process for queries alone

    return descriptions.describe_datasets(info, scopes)
