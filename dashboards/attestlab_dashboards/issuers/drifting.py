"""What has changed since they signed: attestations whose issuer stood otherwise at the mint."""

from __future__ import annotations

from markupsafe import Markup

from attestlab_dashboards import widgets
from attestlab_dashboards.formats import count
from attestlab_dashboards.issuers.filters import draw_nothing_found
from attestlab_dashboards.issuers.queries.drift import DRIFT_ROWS, DriftPage, DriftRow
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.issuers.words import write_word
from attestlab_dashboards.safe import html, join


def draw_drift(page: DriftPage, state: IssuerState) -> Markup:
    """Draw a page of the drift."""
    if not page.rows:
        if state.active_filters:
            return draw_nothing_found(state)
        return widgets.empty("Nothing changed", "Every attestation has the standing that its issuer has today.")
    rows = join(_draw_row(row, page.most) for row in page.rows)
    pager = widgets.pager(page.page, -(-page.all_rows // DRIFT_ROWS), ev="drift_page")
    return html('<ul class="is-drift">{rows}</ul>{pager}', rows=rows, pager=pager)


def _draw_row(row: DriftRow, most: int) -> Markup:
    tone = "bad" if row.is_worse else "good"
    return html(
        '<li><button type="button" class="is-name" data-ev="issuer" data-v="{id}" data-key="drift:{id}:{what}:{was}">'
        '{name}</button><span class="is-step"><span class="muted">{what}</span> {was} <span aria-label="to">→</span> '
        '<b class="{tone}">{is_now}</b></span><b class="num" title="attestations">{number}</b>{bar}</li>',
        id=row.issuer_id,
        name=row.name,
        what=row.what,
        was=write_word(row.was),
        tone=tone,
        is_now=write_word(row.is_now),
        number=count(row.attestations),
        bar=widgets.share_bar(row.attestations / most if most else 0.0, "red" if row.is_worse else "green"),
    )
