"""What a child process gets with a request for rows of the lake: plain values, without DuckDB and pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from attestlab.core.json_types import SqlParameters
from attestlab.lake.rules import RowFormat


class LakeConnectionInfo(NamedTuple):
    """What another process needs to open the data sets that one tenant sees; `now` is the time in its SQL."""

    records: str
    folder: Path
    tenant_id: UUID
    now: datetime


class ClientQuery(NamedTuple):
    """A query of a client with its parameters."""

    sql: str
    parameters: SqlParameters
    format: RowFormat


class DatasetRequest(NamedTuple):
    """A request for the rows of a data set from `start` to before `end`, with some of its columns or all."""

    name: str
    start: datetime | None
    end: datetime | None
    columns: Sequence[str]
    format: RowFormat
