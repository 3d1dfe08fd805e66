"""The issuers table."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, time_tag
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.queries.listing import IssuerPage, IssuerRow
from attestlab_dashboards.issuers.registering import draw_button
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.words import compare_standing, draw_change, draw_risk, draw_status, plural, write_word
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.widgets import Column

_COLUMNS: Final = (
    Column("Issuer", sort="name"),
    Column("Status", sort="status"),
    Column("Tier", phone=False, sort="tier"),
    Column("Risk", phone=False, sort="risk"),
    Column("Jur.", phone=False, sort="jurisdiction"),
    Column("Keys", "right", phone=False, sort="keys"),
    Column("Mints, 30 days", "right", phone=False, sort="mints"),
    Column("Since its first mint", sort="change"),
    Column("Last mint", "right", sort="last"),
)
_ACTION: Final = Column("Change of its standing", "right", phone=False, is_spoken_only=True)
_SORTED_BY: Final = {
    "name": "name",
    "status": "status",
    "tier": "tier",
    "risk": "risk",
    "jurisdiction": "jurisdiction",
    "keys": "keys in use",
    "mints": "mints in the last 30 days",
    "change": "attestations whose issuer stood better",
    "last": "last mint",
}


def write_order(page: IssuerPage, state: IssuerState) -> str:
    """Write how many issuers there are, and their order."""
    return f"{plural(page.issuers, 'issuer')}, by {_SORTED_BY[state.sort.removeprefix('-')]}"


def draw_table(page: IssuerPage, state: IssuerState) -> Markup:
    """Draw a page of the table."""
    add = draw_button(may_register=page.viewer.may_change_keys)
    if not page.rows:
        return join([add, draw_nothing_found(state)])
    may_act = page.viewer.may_request
    table = widgets.table(
        [*_COLUMNS, _ACTION] if may_act else _COLUMNS,
        [_draw_row(row, page, may_act=may_act) for row in page.rows],
        caption="Issuers",
        keys=[row.id for row in page.rows],
        row_ev="issuer",
        sorted_by=state.sort,
    )
    return join([add, table, widgets.pager(page.page, widgets.count_pages(page.issuers), ev="page")])


def _draw_row(row: IssuerRow, page: IssuerPage, *, may_act: bool) -> list[Markup]:
    cells = [
        html('<b>{name}</b><span class="sub">{domain}</span>', name=row.name, domain=row.domain),
        draw_status(row.status),
        html("{tier}", tier=write_word(row.trust_tier)),
        draw_risk(row.risk_rating),
        _draw_country(row),
        _draw_keys(row),
        _draw_mints(row, page.most_mints),
        _draw_changes(row),
        time_tag(row.last_mint, page.now) if row.last_mint else html('<span class="muted">never</span>'),
    ]
    return [*cells, _draw_action(row)] if may_act else cells


def _draw_country(row: IssuerRow) -> Markup:
    if row.jurisdiction is None:
        return html('<span class="muted">none</span>')
    return html(
        '<button type="button" class="is-link" data-ev="jurisdiction" data-v="{code}" data-key="country:{id}" '
        'title="Only {code}">{code}</button>',
        code=row.jurisdiction,
        id=row.id,
    )


def _draw_keys(row: IssuerRow) -> Markup:
    if not row.old_keys:
        return html("{keys}", keys=count(row.keys))
    which = f"{count(row.old_keys)} old" if row.old_keys == row.keys else f"{row.old_keys} of {row.keys} old"
    return html('<span class="warn is-old" title="over the age limit">{which}</span>', which=which)


def _draw_mints(row: IssuerRow, most: int) -> Markup:
    bar = widgets.share_bar(row.mints / most if most else 0.0, "c0")
    return html('<span class="is-mints">{bar}<span>{mints}</span></span>', bar=bar, mints=count(row.mints))


def _draw_changes(row: IssuerRow) -> Markup:
    if row.tier_then is None:
        return html('<span class="muted">no mint yet</span>')
    changes = compare_standing(row.tier_then, row.trust_tier, row.risk_then, row.risk_rating)
    if not changes:
        return html('<span class="muted">no change</span>')
    return join(map(draw_change, changes), html("<br>"))


def _draw_action(row: IssuerRow) -> Markup:
    if row.status == "REVOKED":
        return html('<span class="muted">final</span>')
    ask, label = ("suspend", "Suspend") if row.status == "ACTIVE" else ("reinstate", "Reinstate")
    return html(
        '<button type="button" class="is-act" data-ev="ask" data-v="{ask}:{id}" data-key="ask:{ask}:{id}" '
        'aria-label="{label} {name}">{label}</button>',
        ask=ask,
        id=row.id,
        label=label,
        name=row.name,
    )
