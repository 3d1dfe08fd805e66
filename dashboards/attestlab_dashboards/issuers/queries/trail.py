"""The audit trail's lines about issuers, keys and requests, each with the check of its place in the hash chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import format_time
from attestlab_dashboards.issuers.queries.instant import read_now
from attestlab_dashboards.issuers.queries.requests import read_all_requests, read_names
from attestlab_dashboards.issuers.queries.viewer import Viewer, read_viewer_with_names
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.lake_query import LakeQuery

TRAIL_ROWS: Final = 8  # a page of the pane
_KINDS: Final = ("issuer", "issuer_logo", "issuer_request", "key")  # a list in SQL too
_CHOSEN: Final = f"CASE WHEN $actor = '' THEN resource_type IN {_KINDS} ELSE actor_id = $actor END"
_ALL: Final = f"""SELECT seq, timestamp, actor_type, actor_id, action, resource_type, resource_id, outcome,
  integrity_hash FROM audit WHERE {_CHOSEN} ORDER BY seq DESC"""
_PAGE: Final = f"""WITH found AS (
  SELECT *, count(*) OVER () AS all_lines, row_number() OVER (ORDER BY seq DESC) AS place FROM audit
  WHERE {_CHOSEN}
  QUALIFY (place - 1) // {TRAIL_ROWS} = least($page, (all_lines - 1) // {TRAIL_ROWS}))
SELECT found.*, before.integrity_hash AS hash_before FROM found LEFT JOIN audit before ON before.seq = found.seq - 1
ORDER BY found.seq DESC"""
_COVERED: Final = ("id", "tenant_id", "actor_type", "actor_id", "action", "resource_type", "resource_id", "outcome")


class TrailLine(NamedTuple):
    """A line of the trail. `is_chained`: its hash covers its content, and continues the hash of the line before it."""

    seq: int
    at: datetime
    actor_type: str
    actor_id: str
    action: str
    resource_type: str
    resource_id: str
    outcome: str
    integrity_hash: str
    is_chained: bool

    @property
    def is_about_issuer(self) -> bool:
        """Whether it is about an issuer, its logo, a request or a key."""
        return self.resource_type in _KINDS


class TrailPage(NamedTuple):
    """A page of the trail, with the requests and issuers that its lines are about."""

    now: datetime
    viewer: Viewer
    lines: tuple[TrailLine, ...]
    all_lines: int
    page: int
    requests: Mapping[str, IssuerRequestHandle]
    names: Mapping[str, str]

    def find_issuer_id(self, line: TrailLine) -> str:
        """Return the issuer that a line is about; empty if it is about none, or the request is not visible."""
        if not line.is_about_issuer:
            return ""
        if line.action.startswith("issuer_request."):
            request = self.requests.get(line.resource_id)
            return str(request.target_issuer_id) if request else ""
        return line.resource_id.partition("/")[0]


def compose_trail(state: IssuerState) -> LakeQuery:
    """Compose the query of one page; a page behind the last one is the last one."""
    return LakeQuery.bind(_PAGE, {"page": state.trail_page - 1, "actor": state.actor})


def compose_all(state: IssuerState) -> LakeQuery:
    """Compose the query of all pages."""
    return LakeQuery.bind(_ALL, {"actor": state.actor})


def load_trail(lab: Lab, state: IssuerState) -> TrailPage:
    """Load a page of the trail."""
    rows = compose_trail(state).read_rows(lab)
    lines = tuple(map(_read_line, rows))
    has_requests = any(line.action.startswith("issuer_request.") for line in lines)
    requests = read_all_requests(lab) if has_requests else {}
    all_lines, place = (int(str(rows[0][name])) for name in ("all_lines", "place")) if rows else (0, 1)
    viewer, number = read_viewer_with_names(lab), (place - 1) // TRAIL_ROWS + 1
    page = TrailPage(read_now(lab), viewer, lines, all_lines, number, requests, {})
    ids = {page.find_issuer_id(line) for line in lines} - {""}
    return page._replace(names=read_names(lab, ids))


def export_trail(lab: Lab, state: IssuerState) -> Rows:
    """Return all of these lines."""
    return compose_all(state).read(lab)


def write_trail_sql(state: IssuerState) -> str:
    """Write the query."""
    return compose_all(state).to_sql()


def _read_line(row: dict[str, object]) -> TrailLine:
    values = {name: row[name] for name in TrailLine._fields if name not in ("at", "is_chained")}
    return TrailLine(**values, at=row["timestamp"], is_chained=is_chained(row))  # type: ignore[arg-type]  # the query's types


def is_chained(row: Mapping[str, object]) -> bool:
    """Return whether a line's hash covers its content and the hash of the line before it (docs/http.md)."""
    if row["seq"] and row["hash_before"] != row["prev_hash"]:
        return False
    content = {name: row[name] for name in _COVERED}
    at = row["timestamp"]
    content |= {"timestamp": format_time(at) if isinstance(at, datetime) else at, "metadata": _read_metadata(row)}
    link = bytes.fromhex(str(row["prev_hash"])) + canonical(content)
    return hashlib.sha256(link).hexdigest() == row["integrity_hash"]


def _read_metadata(row: Mapping[str, object]) -> object:
    metadata = row["metadata"]
    return json.loads(metadata) if isinstance(metadata, str) else metadata
