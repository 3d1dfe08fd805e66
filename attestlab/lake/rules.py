"""Rules for requests of rows: their formats, by the media types that a client accepts (RFC 9110, 12.5.1), and what the
queries of a plan may take.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from attestlab.core.execution.waiting_jobs import Share
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
