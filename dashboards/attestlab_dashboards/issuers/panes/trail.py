"""The audit feed about issuers, keys and requests, each line with the check of its place in the hash chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.issuers import IssuerRequestHandle
from attestlab.core.crypto.canonical_json import canonical
from attestlab.core.encoding import format_time
from attestlab.orgs.rules import Scope
from attestlab_dashboards import icons, widgets
from attestlab_dashboards.deeds import compose_link, describe_deed, name_service
from attestlab_dashboards.formats import day, plural, utc
from attestlab_dashboards.issuers.panes.requests import read_all_requests, read_names
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.viewer import Viewer, read_viewer_with_names
from attestlab_dashboards.issuers.words import write_request
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.people import read_key_names
from attestlab_dashboards.safe import NOTHING, html, join

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
    if any(line.actor_type == "API_KEY" for line in lines):
        viewer = viewer._replace(names={**viewer.names, **read_key_names(lab)})
    page = TrailPage(lab.now(), viewer, lines, all_lines, number, requests, {})
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


_VERBS: Final = {
    "issuer.create": "registered {what}",
    "issuer.update": "changed {what}",
    "issuer_logo.put": "set the logo of {what}",
    "issuer_logo.remove": "removed the logo of {what}",
    "key.create": "added {what}",
    "key.rotate": "rotated {what}",
    "key.revoke": "revoked {what}",
    "key.compromise": "reported {what} as lost",
    "key.rewrap": "sealed {what} under a new master key",
}
_DECISIONS: Final = {
    "issuer_request.create": "asked to ",
    "issuer_request.approve": "approved the request to ",
    "issuer_request.reject": "rejected the request to ",
    "issuer_request.execute": "carried out the request to ",
}


def write_reading(page: TrailPage, state: IssuerState) -> str:
    """Write what the lines are about, and what the ticks mean."""
    lines = f"{plural(page.all_lines, 'line')} {'of one actor' if state.actor else 'about all issuers'}"
    return f"{lines}. A tick: the line's hash covers it and the line before"


def draw_trail(page: TrailPage, state: IssuerState) -> Markup:
    """Draw a page of the feed."""
    if not page.lines:
        return _draw_nothing(state)
    lines = join(_draw_line(line, page) for line in page.lines)
    pager = widgets.pager(page.page, -(-page.all_lines // TRAIL_ROWS), ev="trail_page")
    chosen = _draw_chosen(page) if state.actor else NOTHING
    return html('{chosen}<ol class="is-trail">{lines}</ol>{pager}', chosen=chosen, lines=lines, pager=pager)


def _draw_nothing(state: IssuerState) -> Markup:
    if state.actor:
        back = widgets.button("Show all lines about issuers", ev="actor")
        return widgets.empty("No line of this actor", "It changed nothing that is recorded.", back)
    return widgets.empty("No line yet", "The trail begins with the first issuer.")


def _draw_chosen(page: TrailPage) -> Markup:
    """Draw the filter by actor, which a click removes."""
    label = f"All that {_name_actor(page.lines[0], page.viewer)} did"
    return html(
        '<div class="chips">{chip}</div>', chip=widgets.chip(label, ev="actor", v="", pressed=True, removable=True)
    )


def _draw_line(line: TrailLine, page: TrailPage) -> Markup:
    return html(
        '<li class="{css}"><span class="is-tick" role="img" title="{check}" aria-label="{check}">{tick}</span>'
        '<time datetime="{iso}" title="{utc}">{when}</time><span>{who} {did}{detail}</span>'
        '<code title="{hash}">{short}…</code></li>',
        css="" if line.is_chained else "broken",
        check=f"line {line.seq}: the hash chain {'holds' if line.is_chained else 'is BROKEN here'}",
        tick=icons.draw("check" if line.is_chained else "cross"),
        iso=line.at.isoformat(),
        utc=utc(line.at),
        when=_write_when(line.at, page.now),
        who=_draw_actor(line, page),
        did=_draw_deed(line, page),
        detail=_draw_detail(line, page),
        hash=line.integrity_hash,
        short=line.integrity_hash[:4],
    )


def _write_when(at: datetime, now: datetime) -> str:
    return f"{at:%H:%M}" if at.date() == now.date() else day(at, now)


def _draw_actor(line: TrailLine, page: TrailPage) -> Markup:
    """Draw who it was, as a button that shows all that they did."""
    return html(
        '<button type="button" class="al-open" data-ev="actor" data-v="{id}" data-key="actor:{seq}" '
        'title="All that this actor did">{name}</button>',
        id=line.actor_id,
        seq=line.seq,
        name=_name_actor(line, page.viewer),
    )


def _name_actor(line: TrailLine, viewer: Viewer) -> str:
    if line.actor_type == "USER":
        name = viewer.name_person(line.actor_id)
        return name[:1].upper() + name[1:]
    if line.actor_type == "API_KEY":
        return viewer.names.get(line.actor_id, f"Key …{line.actor_id[-6:]}")
    return name_service(line.actor_id) if line.actor_type == "SERVICE" else line.actor_id


def _draw_deed(line: TrailLine, page: TrailPage) -> Markup:
    if not line.is_about_issuer:
        deed, link = describe_deed(line.action), compose_link(line.resource_type, line.resource_id)
        return html('<a href="{link}">{deed}</a>', link=link, deed=deed) if link else html("{deed}", deed=deed)
    name = page.names.get(page.find_issuer_id(line), "an issuer")
    request = page.requests.get(line.resource_id)
    if line.action in _DECISIONS:
        value = (request.new_trust_tier or request.new_risk_rating) if request else None
        wish = write_request(request.type, name, value) if request else html("change <b>{name}</b>", name=name)
        return html("{decided}{wish}", decided=_DECISIONS[line.action], wish=wish)
    kid = line.resource_id.partition("/")[2]
    what = html("the key <b>{kid}</b> of {name}", kid=kid, name=name) if kid else html("<b>{name}</b>", name=name)
    before, _, after = _VERBS.get(line.action, line.action.replace(".", " ") + " {what}").partition("{what}")
    return html("{before}{what}{after}", before=before, what=what, after=after)


def _draw_detail(line: TrailLine, page: TrailPage) -> Markup:
    words = [
        *(["failed"] if line.outcome == "FAILURE" else []),
        *_describe_request(line, page.requests.get(line.resource_id)),
    ]
    return html('<span class="sub">{words}</span>', words="; ".join(words)) if words else html("")


def _describe_request(line: TrailLine, request: IssuerRequestHandle | None) -> list[str]:
    if request is None:
        return []
    match line.action:
        case "issuer_request.create":
            return [f"“{request.reason}”", *(["waits for approval"] if request.status == "PENDING" else [])]
        case "issuer_request.approve":
            given = [approval.user_id for approval in request.approvals]
            place = given.index(line.actor_id) + 1 if line.actor_id in given else len(given)
            return [f"approval {place} of {request.approvals_needed}"]
        case "issuer_request.reject":
            return [f"“{request.rejection_reason}”"] if request.rejection_reason else []
        case _:
            return [f"log entry {request.log_index:,}"] if request.log_index is not None else []


PANE: Final = Pane(
    key="trail",
    question="Audit",
    reading=write_reading,
    span=7,
    load=load_trail,
    draw=draw_trail,
    reads=("trail_page", "actor"),
    scope=Scope.AUDIT_READ.value,
    copy_sql=write_trail_sql,
    export=export_trail,
)
