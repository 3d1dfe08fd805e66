"""Draws the entries of the log as a table with its filters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from markupsafe import Markup

from attestlab_dashboards.formats import count, short_id, utc
from attestlab_dashboards.log.entries import EntryPage, EntryRow
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.words import describe_type, shorten_hash, type_pill
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import Column, button, chip, empty, option_list, pager, table

_COLUMNS = (
    Column("Index", align="right"),
    Column("Type"),
    Column("Issuer"),
    Column("Attestation", phone=False),
    Column("Key", phone=False),
    Column("Leaf hash", phone=False),
    Column("Logged, UTC", align="right"),
)


def draw_entries(data: EntryPage, state: LogState) -> Markup:
    """Draw a page of entries, newest first; a click on an index opens it."""
    return html("{filters}{body}", filters=_draw_filters(data, state), body=_draw_body(data, state))


def tell_entries(data: EntryPage, state: LogState) -> str:
    """Count the entries, for the line under the title."""
    whole = sum(n for _, n in data.types)
    part = count(data.total) if data.total == whole else f"{count(data.total)} of {count(whole)}"
    return f"{part} entries, newest first. Click an index to open it"


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
        '<select data-ev="issuer" data-key="issuer">{options}</select></label></div>',
        types=join(types),
        options=option_list(_list_issuers(data, state), state.issuer),
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


def _name_filters(data: EntryPage, state: LogState) -> str:
    parts = []
    if state.type:
        parts.append(f"type {describe_type(state.type).word}")
    if state.issuer:
        parts.append(
            "issuer " + next((name for issuer, name, _ in data.issuers if issuer == state.issuer), state.issuer)
        )
    if parts and state.page == 1:
        return f"No entry has {' and '.join(parts)}."
    return f"Page {count(state.page)} is beyond the last one, {count(data.pages)}."
