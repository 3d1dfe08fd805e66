"""What: the values that signals have, with counts and bars; a click filters by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab_dashboards.formats import count
from attestlab_dashboards.hues import PLAIN_HUE, hue_of
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.risk.overview import (
    READS,
    FacetRow,
    RiskOverview,
    copy_overview_sql,
    export_signals,
    load_overview,
)
from attestlab_dashboards.risk.panes.when import draw_no_signals
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.words import SCORE_BANDS, kind_of, name_of
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import share_bar

_ROWS: Final = {"source": 3, "type": 3, "facet_kind": 5, "score": 0}  # of a facet, before "more"
_TITLES: Final = {"source": "Source", "type": "Signal type", "facet_kind": "Entity", "score": "Score"}


def draw_what(overview: RiskOverview, state: RiskState) -> Markup:
    """Draw the facets."""
    if not any(overview.facets.values()):
        return draw_no_signals(overview, state)
    groups = (_draw_facet(name, overview, state) for name in _TITLES if overview.facets[name])
    return html('<div class="rk-facets">{groups}</div>', groups=join(groups))


def _draw_facet(facet: str, overview: RiskOverview, state: RiskState) -> Markup:
    rows = overview.facets[facet]
    if facet == "score":
        rows = sorted(rows, key=lambda row: -int(row.value))
    top = max(row.signals for row in rows)
    shown = _ROWS[facet]
    drawn = [_draw_row(facet, row, top, state) for row in rows]
    is_open = any(_is_chosen(facet, _read_value(facet, row), state) for row in rows[shown:])
    return html(
        '<div class="rk-facet-group"><div class="rk-facet-title"><h3>{title}</h3><span>signals</span></div>{rows}{more}'
        "</div>",
        title=_TITLES[facet],
        rows=join(drawn[:shown]),
        more=_draw_more(facet, drawn[shown:], is_all=not shown, is_open=is_open),
    )


def _draw_more(facet: str, rows: Sequence[Markup], *, is_all: bool, is_open: bool) -> Markup:
    """Draw the rows that a click shows; open where one of them is the filter."""
    if not rows:
        return NOTHING
    return html(
        '<details class="rk-facet-more" id="facet-{facet}"{open}><summary>{words}</summary>{rows}</details>',
        facet=facet,
        open=html(" open") if is_open else NOTHING,
        words=f"Show {len(rows)}" if is_all else f"{len(rows)} more",
        rows=join(rows),
    )


def _read_value(facet: str, row: FacetRow) -> str:
    return SCORE_BANDS[int(row.value)] if facet == "score" else row.value


def _draw_row(facet: str, row: FacetRow, top: int, state: RiskState) -> Markup:
    value = _read_value(facet, row)
    hue = hue_of(value) if facet == state.by else PLAIN_HUE
    return html(
        '<button type="button" class="rk-facet" data-ev="{ev}" data-v="{value}" data-key="{ev}:{value}" '
        'aria-pressed="{pressed}"><span class="rk-facet-name">{name}</span>{bar}'
        '<span class="num">{signals}</span></button>',
        ev=facet,
        value=value,
        pressed="true" if _is_chosen(facet, value, state) else "false",
        name=_name_value(facet, value),
        bar=share_bar(row.signals / top, hue),
        signals=count(row.signals),
    )


def _name_value(facet: str, value: str) -> str:
    if facet == "score":
        return value.replace("-", " to ")
    return kind_of(value) if facet == "facet_kind" else name_of(value)


def _is_chosen(facet: str, value: str, state: RiskState) -> bool:
    if facet == "score":
        return value == f"{state.min_score}-{state.max_score}"
    return value == {"source": state.source, "type": state.type, "facet_kind": state.kind}[facet]


PANE: Final = Pane(
    key="what",
    question="What",
    how="Choose a row to filter",
    span=4,
    load=load_overview,
    draw=draw_what,
    reads=READS,
    copy_sql=copy_overview_sql,
    export=export_signals,
    is_common=True,
)
