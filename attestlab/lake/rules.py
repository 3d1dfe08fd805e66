"""Requests of rows as plain values, and their rules: the formats of rows, and what the queries of a plan may take.

A client chooses a format by the media types that it accepts (RFC 9110, 12.5.1). A server sends a request to a child
process, and loads neither DuckDB nor pyarrow for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple
from uuid import UUID

from attestlab.core.execution.waiting_jobs import Share
from attestlab.core.json_types import SqlParameters
from attestlab.orgs.rules import Plan

MAX_JSON_ROWS = 10_000
QUERY_PROCESSES: Final = 3
QUERIES_OF_A_TENANT: Final = 2  # at once: several people of one tenant look at dashboards, and no other tenant waits
QUERY_TIMEOUT_S: Final = 60.0  # of processor time
MAX_QUERY_S: Final = 240.0  # of elapsed time, for every plan: a shorter one would end good queries on a busy machine


class QueryAllowance(NamedTuple):
    """What the queries of a tenant may take: processor time each, and a share of the processes."""

    timeout_s: float
    share: Share | None


_OF_FREE: Final = QueryAllowance(10.0, Share("FREE", of_a_tenant=1, of_all=2))
_OF_OTHERS: Final = QueryAllowance(QUERY_TIMEOUT_S, None)


def allow_queries(plan: str) -> QueryAllowance:
    """Return what the queries of a tenant with this plan may take.

    >>> allow_queries("FREE").timeout_s, allow_queries("STARTER").timeout_s
    (10.0, 60.0)
    """
    return _OF_FREE if plan == Plan.FREE else _OF_OTHERS


class RowFormat(StrEnum):
    """The format of the rows of a response."""

    ARROW = "application/vnd.apache.arrow.stream"
    JSON = "application/json"


def choose_format(accept: str | None) -> RowFormat:
    """Return Arrow if the client names it in `Accept`, and JSON otherwise.

    >>> choose_format("application/json, application/vnd.apache.arrow.stream;q=0.5").name
    'ARROW'
    >>> choose_format("application/vnd.apache.arrow.stream; q=0, */*").name, choose_format(None).name
    ('JSON', 'JSON')
    """
    accepted = dict(_parse_ranges(accept or ""))
    return RowFormat.ARROW if accepted.get(RowFormat.ARROW) else RowFormat.JSON


def _parse_ranges(accept: str) -> Iterator[tuple[str, bool]]:
    """Yield each media range, and whether it is acceptable."""
    for part in accept.split(","):
        name, *parameters = [text.strip().lower() for text in part.split(";")]
        yield name, not any(each.removeprefix("q=").strip("0.") == "" for each in parameters if each.startswith("q="))


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
