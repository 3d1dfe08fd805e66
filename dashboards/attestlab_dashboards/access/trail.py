"""Lines of the audit trail as sentences: who did what to which thing, by names, each linked to what it touched."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from markupsafe import Markup

from attestlab import Lab
from attestlab.core.errors import PermissionDenied
from attestlab_dashboards import icons
from attestlab_dashboards.access.register import AccessRegister, load_register
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.deeds import MECHANICS, compose_entity_link, compose_link, name_service, write_deed
from attestlab_dashboards.formats import time_tag
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.ranges import find_bounds
from attestlab_dashboards.safe import NOTHING, html, join

LINE_ROWS: Final = 10
_OF_HOLDER: Final = "(actor_id = $id OR (resource_id = $id AND resource_type IN ('user', 'api_key')))"
_NO_MECHANICS: Final = f"action NOT IN {MECHANICS}"
_IN_RANGE: Final = '"timestamp" >= $since::TIMESTAMPTZ AND "timestamp" < $until::TIMESTAMPTZ'
_COLUMNS: Final = 'seq, "timestamp" AS at, actor_type, actor_id, action, resource_type, resource_id, outcome, metadata'
_NAMES: Final[Mapping[str, str]] = {  # of the things that lines are about, by data set
    "issuer": "SELECT id, name FROM issuers WHERE list_contains($ids, id::VARCHAR)",
    "policy": "SELECT id, name FROM policies WHERE list_contains($ids, id::VARCHAR)",
    "agent": "SELECT id, display_name AS name FROM agents WHERE list_contains($ids, id::VARCHAR)",
    "attestation": "SELECT id, schema_id AS name FROM attestations WHERE list_contains($ids, id::VARCHAR)",
    "risk_case": "SELECT id, entity_type || ' ' || entity_id AS name FROM cases WHERE list_contains($ids, id::VARCHAR)",
}
_SAME_NAMES: Final = {"issuer_logo": "issuer", "key": "issuer"}


class DeedLine(NamedTuple):
    """A line of the audit trail."""

    seq: int
    at: datetime
    actor_type: str
    actor_id: str
    action: str
    resource_type: str
    resource_id: str
    outcome: str
    metadata: Mapping[str, object]


class DeedCount(NamedTuple):
    """How often something was done, and when last."""

    action: str
    lines: int
    last: datetime


class DeedPage(NamedTuple):
    """A page of lines with the names of what they are about; `counts` sums up all lines by action, the most first."""

    register: AccessRegister
    lines: tuple[DeedLine, ...]
    all_lines: int
    page: int
    names: Mapping[str, str]
    counts: tuple[DeedCount, ...] = ()

    def name_actor(self, line: DeedLine) -> str:
        """Name who did it."""
        if line.actor_type == "SERVICE":
            return name_service(line.actor_id)
        if line.actor_id == self.register.my_id:
            return "You"
        kinds = {"USER": "A person who left", "API_KEY": "An API key", "AGENT": "An agent"}
        known = self.register.names.get(line.actor_id) or self.names.get(f"agent:{line.actor_id}")
        return known or kinds.get(line.actor_type, "A stranger")


def compose_lines(state: AccessState, *, page: int | None, is_drawer: bool) -> LakeQuery:
    """Compose the query of one page, or of all lines; a page behind the last one is the last one."""
    chosen = _compose_choice(state, is_drawer=is_drawer)
    if page is None:
        return LakeQuery.bind(f"SELECT {_COLUMNS} FROM audit WHERE {chosen} ORDER BY seq DESC", _bind(state))
    paged = f"""SELECT {_COLUMNS}, count(*) OVER () AS all_lines, row_number() OVER (ORDER BY seq DESC) AS place
FROM audit WHERE {chosen}
QUALIFY (place - 1) // {LINE_ROWS} = least($page, (all_lines - 1) // {LINE_ROWS}) ORDER BY place"""
    return LakeQuery.bind(paged, {**_bind(state), "page": page - 1})


def compose_counts(state: AccessState) -> LakeQuery:
    """Compose the query of what the holder of the drawer did how often."""
    chosen = _compose_choice(state.change(deed=""), is_drawer=True)
    by_action = (
        f'SELECT action, count(*) AS lines, max("timestamp") AS last FROM audit WHERE {chosen} AND actor_id = $id'
    )
    return LakeQuery.bind(f"{by_action} GROUP BY action ORDER BY lines DESC, action", _bind(state))


def _compose_choice(state: AccessState, *, is_drawer: bool) -> str:
    conditions = [
        *([_OF_HOLDER] if is_drawer else []),
        *([] if state.whole else [_NO_MECHANICS]),
        *(["action = $deed"] if is_drawer and state.deed else []),
        *([_IN_RANGE] if state.range and not is_drawer else []),
    ]
    return " AND ".join(conditions) or "true"


def _bind(state: AccessState) -> dict[str, str | int]:
    return {"id": state.holder.id if state.holder else "", "deed": state.deed, **find_bounds(state.range)}


def load_page(lab: Lab, state: AccessState, *, page: int, is_drawer: bool) -> DeedPage:
    """Load a page of lines, with the names of what they are about."""
    rows = compose_lines(state, page=page, is_drawer=is_drawer).read_rows(lab)
    all_lines, place = (int(str(rows[0][name])) for name in ("all_lines", "place")) if rows else (0, 1)
    lines = tuple(map(_read_line, rows))
    return DeedPage(load_register(lab, state), lines, all_lines, (place - 1) // LINE_ROWS + 1, read_names(lab, lines))


def _read_line(row: Mapping[str, object]) -> DeedLine:
    values = {name: row[name] for name in DeedLine._fields if name != "metadata"}
    metadata = row["metadata"]
    read = json.loads(metadata) if isinstance(metadata, str) else metadata
    return DeedLine(**values, metadata=read if isinstance(read, dict) else {})  # type: ignore[arg-type]  # the query's types


def read_names(lab: Lab, lines: Iterable[DeedLine]) -> dict[str, str]:
    """Read the names of things and agents by `kind:id`; of what the viewer may not read there is none."""
    wanted: dict[str, set[str]] = {}
    for line in lines:
        wanted.setdefault(_kind_of(line), set()).add(_owner_id(line))
        if line.actor_type == "AGENT":
            wanted.setdefault("agent", set()).add(line.actor_id)
    found: dict[str, str] = {}
    for kind, ids in wanted.items():
        if kind in _NAMES:
            found |= {f"{kind}:{thing}": name for thing, name in _read_names_of(lab, kind, sorted(ids)).items()}
    return found


def _read_names_of(lab: Lab, kind: str, ids: Sequence[str]) -> dict[str, str]:
    try:
        rows = lab.sql(_NAMES[kind], {"ids": list(ids)}).arrow().to_pylist()
    except PermissionDenied:
        return {}
    return {str(row["id"]): str(row["name"]) for row in rows}


def _kind_of(line: DeedLine) -> str:
    return _SAME_NAMES.get(line.resource_type, line.resource_type)


def _owner_id(line: DeedLine) -> str:
    return line.resource_id.partition("/")[0]


def draw_lines(page: DeedPage, *, holder_id: str = "") -> Markup:
    """Draw lines as sentences; without the name of the holder of the drawer, which stands above them."""
    return html(
        '<ol class="ac-lines">{lines}</ol>', lines=join(_draw_line(line, page, holder_id) for line in page.lines)
    )


def _draw_line(line: DeedLine, page: DeedPage, holder_id: str) -> Markup:
    return html(
        '<li class="{css}">{at}<div><p class="ac-deed">{who}{did}</p>{detail}</div></li>',
        css="bad" if line.outcome == "FAILURE" else "",
        at=time_tag(line.at, page.register.now),
        who=NOTHING if line.actor_id == holder_id else _draw_actor(line, page),
        did=_draw_deed(line, page, holder_id),
        detail=_draw_detail(line),
    )


def _draw_actor(line: DeedLine, page: DeedPage) -> Markup:
    name = page.name_actor(line)
    kind = {"USER": "person", "API_KEY": "key"}.get(line.actor_type)
    if kind is None:
        return html("<b>{name}</b> ", name=name)
    return html(
        '<button type="button" class="ac-name" data-ev="who" data-v="{kind}:{id}" data-key="who:{seq}">{name}'
        "</button> ",
        kind=kind,
        id=line.actor_id,
        seq=line.seq,
        name=name,
    )


def _draw_deed(line: DeedLine, page: DeedPage, holder_id: str) -> Markup:
    deed = write_deed(line.action, line.resource_type, _name_thing(line, page, holder_id))
    link = _find_link(line, page)
    if deed.name:
        return html(
            "{before}{name}{after}",
            before=deed.before,
            name=_draw_link(deed.name, link),
            after=deed.after,
        )
    return _draw_link(deed.before, link) if link else html("{before}", before=deed.before)


def _find_link(line: DeedLine, page: DeedPage) -> str:
    """Find the page that shows what a line is about; a case is shown with its entity."""
    name = page.names.get(f"risk_case:{line.resource_id}") if line.resource_type == "risk_case" else None
    if name is None:
        return compose_link(line.resource_type, line.resource_id)
    return compose_entity_link(*name.split(" ", 1))


def _draw_link(words: str, link: str) -> Markup:
    return html('<a href="{link}">{words}</a>', link=link, words=words) if link else html("<b>{words}</b>", words=words)


def _name_thing(line: DeedLine, page: DeedPage, holder_id: str) -> str:
    """Name what a line is about; empty if nothing is known of it but its id."""
    match line.resource_type:
        case "user" | "api_key":
            if line.resource_id == holder_id and line.actor_id == holder_id:
                return "their own account" if line.resource_type == "user" else "itself"
            return page.register.names.get(line.resource_id, "")
        case "route":
            return line.resource_id
        case "key":
            return line.resource_id.partition("/")[2]
        case _:
            return page.names.get(f"{_kind_of(line)}:{_owner_id(line)}", "")


_BECAUSE: Final = {
    "logout": "signed out",
    "reuse": "a refresh token was used twice",
    "password": "the password changed",
}
_CODES: Final = {
    "PERMISSION_DENIED": "not permitted",
    "AUTH_INVALID": "the credential was not valid",
    "AUTH_REQUIRED": "no credential",
    "NOT_FOUND": "there is no such thing",
}


def _draw_detail(line: DeedLine) -> Markup:
    words = [*_list_details(line)]
    refused = html(' <span class="ac-refused">{icon} refused</span>', icon=icons.draw("cross"))
    failed = refused if line.outcome == "FAILURE" and line.action != "request.denied" else NOTHING
    return html('{failed} <span class="sub">{words}</span>', failed=failed, words="; ".join(words)) if words else failed


def _list_details(line: DeedLine) -> Iterable[str]:
    scope, code, reason = (line.metadata.get(name) for name in ("required_scope", "code", "reason"))
    if isinstance(scope, str):
        yield f"it lacks the scope {scope}"
    elif isinstance(code, str):
        yield _CODES.get(code, code.replace("_", " ").lower())
    if isinstance(reason, str):
        yield f"“{reason}”"
    because = line.metadata.get("because")
    if isinstance(because, str) and because in _BECAUSE:
        yield _BECAUSE[because]
    index = line.metadata.get("log_index")
    if isinstance(index, int):
        yield f"log entry {index:,}"
