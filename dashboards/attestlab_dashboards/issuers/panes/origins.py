"""Where the mints come from: the share of each trust tier and risk rating, red only where the risk is high."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count, percent, plural
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.overview import (
    BY_STANDING,
    IssuerSummary,
    StandingCounts,
    export_overview,
    load_summary,
    write_overview_sql,
)
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.words import RISKS, TIERS, write_word
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import html, join

_HIGH: Final = frozenset({"HIGH", "CRITICAL"})
_FAINTEST, _STRONGEST = 10, 62  # percent of the colour in a cell


def write_shares(summary: IssuerSummary, _state: IssuerState) -> str:
    """Write what the shares are of, and how concentrated the mints are."""
    total = summary.overview.total
    if not total.mints:
        return "Trust tier (down) and risk (across)"
    alike = total.mints**2 / total.squared_mints
    return (
        f"Share of {plural(total.mints, 'mint')} in 30 days by trust tier (down) and risk (across); "
        f"as concentrated as if {alike:.1f} issuers shared them equally"
    )


def draw_origins(summary: IssuerSummary, state: IssuerState) -> Markup:
    """Draw the matrix."""
    total = summary.overview.total
    if not total.issuers:
        return draw_nothing_found(state)
    if not total.mints:
        return widgets.empty("No mint in 30 days", f"{plural(total.issuers, 'issuer')} minted nothing since then.")
    cells = {(cell.trust_tier, cell.risk_rating): cell for cell in summary.overview.cells}
    head = join(html('<th scope="col">{risk}</th>', risk=write_word(risk)) for risk in RISKS)
    rows = join(
        html(
            '<tr><th scope="row">{tier}</th>{cells}</tr>',
            tier=write_word(tier),
            cells=join(_draw_cell(cells.get((tier, risk)), risk, total.mints) for risk in RISKS),
        )
        for tier in reversed(TIERS)
    )
    return html(
        '<table class="is-matrix"><caption class="al-hidden">Share of mints by tier and risk</caption>'
        "<thead><tr><td></td>{head}</tr></thead><tbody>{rows}</tbody></table>",
        head=head,
        rows=rows,
    )


def _draw_cell(cell: StandingCounts | None, risk: str, mints: int) -> Markup:
    if cell is None or not cell.mints:
        issuers = cell.issuers if cell else 0
        return html(
            '<td class="zero"><span>{what}</span></td>', what=plural(issuers, "issuer") + ", no mint" if issuers else ""
        )
    strength = _FAINTEST + round((_STRONGEST - _FAINTEST) * cell.mints / mints)
    return html(
        '<td class="{tone}" style="--is-a:{strength}%" title="{exact}"><b>{share}</b><span>{who}</span></td>',
        tone="high" if risk in _HIGH else "calm",
        strength=strength,
        exact=f"{plural(cell.mints, 'mint')} of {plural(cell.issuers, 'issuer')}",
        share=percent(cell.mints, mints),
        who=_write_names(cell),
    )


def _write_names(cell: StandingCounts) -> str:
    first, more = cell.names[0], cell.issuers - 1
    return first if more <= 0 else f"{first} and {count(more)} more"


PANE: Final = Pane(
    key="origins",
    question="Where the mints come from",
    reading=write_shares,
    span=7,
    load=load_summary,
    draw=draw_origins,
    reads=BY_STANDING,
    scope=Scope.ISSUERS_READ.value,
    copy_sql=write_overview_sql,
    export=export_overview,
)
