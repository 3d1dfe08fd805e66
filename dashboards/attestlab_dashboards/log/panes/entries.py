"""The entries of the log as a table, newest first, with filters; paged and counted by the lake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.client.analysis.rows import Rows
from attestlab.client.handles.log import EntryHandle
from attestlab.core.errors import AuthRequired, PermissionDenied
from attestlab_dashboards.formats import count, plural, short_id, utc
from attestlab_dashboards.lake_query import LakeQuery
from attestlab_dashboards.log.public_reads import NO_RIGHTS, read_logged_at, read_members, read_newest
from attestlab_dashboards.log.state import FILTERS, LogState
from attestlab_dashboards.log.words import describe_type, shorten_hash, type_pill
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.ranges import DayRange, draw_days, find_bounds
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import (
    SHORT_PAGE_ROWS,
    TableColumn,
    button,
    chip,
    count_pages,
    empty,
    option_list,
    pager,
    set_filters,
    table,
)

_FILTERED: Final = """
FROM log_entries e LEFT JOIN issuers i ON i.id = e.issuer_id
WHERE ($type = '' OR e.type = $type) AND ($issuer = '' OR e.issuer_id = $issuer)
  AND e.logged_at >= $since::TIMESTAMPTZ AND e.logged_at < $until::TIMESTAMPTZ
"""
# One query for a page, its total and the counts of both filters: the lake runs one query at a time for each tenant.
ENTRIES: Final = f"""
WITH page AS (
  SELECT e.log_index, e.logged_at, CAST(e.type AS VARCHAR) AS type, e.issuer_id, e.attestation_id, e.kid, e.leaf_hash,
    i.name AS issuer
  {_FILTERED} ORDER BY e.log_index DESC LIMIT {SHORT_PAGE_ROWS} OFFSET $skipped),
types AS (SELECT CAST(type AS VARCHAR) AS type, count(*) AS n FROM log_entries GROUP BY ALL),
named AS (
  SELECT i.id, i.name, count(*) AS n FROM log_entries e JOIN issuers i ON i.id = e.issuer_id
  GROUP BY ALL ORDER BY n DESC, i.name LIMIT 50)
SELECT 'row' AS kind, log_index, logged_at, type, issuer_id, attestation_id, kid, leaf_hash, issuer, 0 AS n FROM page
UNION ALL SELECT 'total', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, count(*) {_FILTERED}
UNION ALL SELECT 'type', NULL, NULL, type, NULL, NULL, NULL, NULL, NULL, n FROM types
UNION ALL SELECT 'issuer', NULL, NULL, NULL, id, NULL, NULL, NULL, name, n FROM named
"""
EXPORTED: Final = f"""
SELECT e.log_index, e.logged_at, e.type, e.issuer_id, i.name AS issuer, e.attestation_id, e.kid, e.alg, e.status,
  e.leaf_hash, e.entry
{_FILTERED} ORDER BY e.log_index DESC
"""


@dataclass(frozen=True)
class EntryRow:
    """A row of the table; `issuer` is a name, None for another tenant's or for an entry without an issuer."""

    index: int
    at: datetime
    type: str
    issuer_id: str | None
    issuer: str | None
    attestation_id: str | None
    kid: str | None
    leaf_hash: str


@dataclass(frozen=True)
class EntryPage:
    """A page of entries, the total of the filtered ones and of all, and the counts of the filters' choices over all.

    A caller who may read only what is public `has_filters` not.
    """

    rows: tuple[EntryRow, ...]
    total: int
    whole: int
    types: tuple[tuple[str, int], ...]
    issuers: tuple[tuple[str, str, int], ...]  # id, name, entries
    now: datetime
    has_filters: bool = True

    @property
    def pages(self) -> int:
        """How many pages the filtered entries have, at least one."""
        return count_pages(self.total)


def load_entries(lab: Lab, state: LogState) -> EntryPage:
    """Load a page of entries; without the rights to filter them, the newest of the public log.

    Raises:
        PermissionDenied: there are filters, and the caller may not filter.
    """
    try:
        return _ask_lake(lab, state)
    except NO_RIGHTS:
        return _read_public_page(lab, state)


def _ask_lake(lab: Lab, state: LogState) -> EntryPage:
    parameters = {**filter_parameters(state), "skipped": (state.page - 1) * SHORT_PAGE_ROWS}
    by_kind: dict[str, list[dict[str, object]]] = {"row": [], "total": [], "type": [], "issuer": []}
    for row in lab.sql(ENTRIES, parameters):
        by_kind[str(row["kind"])].append(row)
    rows = sorted((_read_row(row) for row in by_kind["row"]), key=lambda row: -row.index)
    types = sorted((str(row["type"]), int(str(row["n"]))) for row in by_kind["type"])
    issuers = [(str(row["issuer_id"]), str(row["issuer"]), int(str(row["n"]))) for row in by_kind["issuer"]]
    total = sum(int(str(row["n"])) for row in by_kind["total"])
    whole = sum(n for _, n in types)
    return EntryPage(tuple(rows), total, whole, tuple(types), tuple(sorted(issuers, key=_order)), lab.now())


def _read_public_page(lab: Lab, state: LogState) -> EntryPage:
    if state.type or state.issuer or state.range:
        raise PermissionDenied(
            "Entries are filtered for callers with an API key: attestlab.connect(url, api_key). Without one, look at "
            "all of them: view.set(type=None, issuer=None, range=None)."
        )
    size = len(lab.log)
    found = read_newest(lab, size, skipped=(state.page - 1) * SHORT_PAGE_ROWS, rows=SHORT_PAGE_ROWS)
    return EntryPage(tuple(map(_read_public_row, found)), size, size, (), (), lab.now(), has_filters=False)


def _read_public_row(entry: EntryHandle) -> EntryRow:
    members = {name: str(value) for name, value in read_members(entry).items() if value is not None}
    issuer = members.get("issuer_id")
    return EntryRow(
        index=entry.log_index,
        at=read_logged_at(entry),
        type=entry.type,
        issuer_id=issuer,
        issuer=issuer and issuer[:8],
        attestation_id=members.get("id") if entry.type.startswith("attestation.") else None,
        kid=members.get("kid"),
        leaf_hash=entry.leaf_hash,
    )


def select_entries(lab: Lab, state: LogState) -> Rows | Records[EntryHandle]:
    """Select all filtered entries, for an export; without an API key all of the public log."""
    try:
        lab.me()
    except AuthRequired:
        return lab.log[:]
    return lab.sql(EXPORTED, filter_parameters(state))


def filter_parameters(state: LogState) -> dict[str, object]:
    """Return the parameters of the filters."""
    return {"type": state.type, "issuer": state.issuer, **find_bounds(state.range)}


def _order(issuer: tuple[str, str, int]) -> tuple[int, str]:
    return -issuer[2], issuer[1]


def _read_row(row: dict[str, object]) -> EntryRow:
    texts = {
        name: None if row[name] is None else str(row[name]) for name in ("issuer_id", "issuer", "attestation_id", "kid")
    }
    return EntryRow(
        index=int(str(row["log_index"])),
        at=read_utc(row["logged_at"]),
        type=str(row["type"]),
        leaf_hash=str(row["leaf_hash"]),
        **texts,
    )


def read_utc(value: object) -> datetime:
    """Read a time of the lake, which is UTC with or without a time zone."""
    assert isinstance(value, datetime), "the lake gives times as timestamps"
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def copy_entries_sql(state: LogState) -> str:
    """Compose the query of the filtered entries, with the values in it."""
    return LakeQuery.bind(EXPORTED.strip(), filter_parameters(state)).to_sql()


_COLUMNS = (
    TableColumn("Index", align="right"),
    TableColumn("Type"),
    TableColumn("Issuer"),
    TableColumn("Attestation", phone=False),
    TableColumn("Key", phone=False),
    TableColumn("Leaf hash", phone=False, is_for_desks=True),
    TableColumn("Logged, UTC", align="right"),
)


def draw_entries(data: EntryPage, state: LogState) -> Markup:
    """Draw a page of entries, newest first; a click on an index opens it."""
    filters = _draw_filters(data, state) if data.has_filters else NOTHING
    return html("{filters}{body}", filters=filters, body=_draw_body(data, state))


def tell_entries(data: EntryPage, state: LogState) -> str:
    """Count the entries, for the line under the title."""
    part = "" if data.total == data.whole else f"{count(data.total)} of "
    return f"{part}{plural(data.whole, 'entry', 'entries')}, newest first. Choose an index to open it"


def _draw_body(data: EntryPage, state: LogState) -> Markup:
    if not data.rows:
        return empty("No entry matches", _name_filters(data, state), button("Show all entries", ev="all", primary=True))
    return html(
        "{table}{pager}",
        table=table(
            _COLUMNS,
            [_draw_row(row) for row in data.rows],
            caption="Entries of the log, newest first",
            keys=[str(row.index) for row in data.rows],
            row_ev="open",
        ),
        pager=pager(state.page, data.pages, ev="page"),
    )


def _draw_filters(data: EntryPage, state: LogState) -> Markup:
    types = [chip("all types", ev="type", v="", pressed=not state.type)]
    for kind, n in data.types:
        label = html('{word} <span class="n">{n}</span>', word=describe_type(kind).word, n=count(n))
        types.append(chip(label, ev="type", v=kind, pressed=state.type == kind))
    return html(
        '<div class="chips lg-filters">{types}<label class="lg-choose"><span class="lbl">Issuer</span>'
        '<select data-ev="issuer" data-key="issuer">{options}</select></label>{days}{removable}</div>',
        types=join(types),
        days=draw_days("range", state.range, data.now.date()),
        options=option_list(_list_issuers(data, state), state.issuer),
        removable=set_filters(each for each in _list_removable(data, state) if each[0] != "range"),  # has its own cross
    )


def _list_issuers(data: EntryPage, state: LogState) -> Iterator[tuple[str, str]]:
    yield "", "all"
    if state.issuer and state.issuer not in {issuer for issuer, _, _ in data.issuers}:
        yield state.issuer, state.issuer
    for issuer, name, n in data.issuers:
        yield issuer, f"{name} ({count(n)})"


def _draw_row(row: EntryRow) -> list[Markup]:
    return [
        html("{index}", index=count(row.index)),
        type_pill(row.type),
        _draw_issuer(row),
        short_id(row.attestation_id) if row.attestation_id else NOTHING,
        html('<code class="mono">{kid}</code>', kid=row.kid) if row.kid else NOTHING,
        html('<code class="mono" title="{hash}">{short}</code>', hash=row.leaf_hash, short=shorten_hash(row.leaf_hash)),
        _draw_time(row.at),
    ]


def _draw_time(at: datetime) -> Markup:
    """Draw a time whose clock phones leave out."""
    date, _, clock = utc(at).removesuffix(" UTC").partition(", ")
    return html(
        '<time class="nw" datetime="{iso}">{date}<span class="opt">, {clock}</span></time>',
        iso=at.isoformat(),
        date=date,
        clock=clock,
    )


def _draw_issuer(row: EntryRow) -> Markup:
    if row.issuer is not None:
        return html("{name}", name=row.issuer)
    return (
        html('<span class="muted">another tenant</span>')
        if row.issuer_id
        else html('<span class="muted">the log</span>')
    )


def _list_removable(data: EntryPage, state: LogState) -> Iterator[tuple[str, str]]:
    if state.type:
        yield "type", f"type {describe_type(state.type).word}"
    if state.issuer:
        name = next((name for issuer, name, _ in data.issuers if issuer == state.issuer), state.issuer)
        yield "issuer", f"issuer {name}"
    if state.range:
        yield "range", DayRange.parse(state.range).words


def _name_filters(data: EntryPage, state: LogState) -> str:
    parts = [words for _, words in _list_removable(data, state)]
    if parts and state.page == 1:
        return f"No entry has {' and '.join(parts)}."
    return f"Page {count(state.page)} is beyond the last one, {count(data.pages)}."


PANE: Final = Pane(
    key="entries",
    question="Entries",
    reading=tell_entries,
    load=load_entries,
    draw=draw_entries,
    reads=(*FILTERS, "page", "looked"),
    copy_sql=copy_entries_sql,
    export=select_entries,
    is_common=True,
)
