"""Cases with their outcomes. A row opens its entity, where an open case is resolved."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab_dashboards.formats import count, short_id, time_tag
from attestlab_dashboards.risk.queries.case_list import CaseList, ListedCase
from attestlab_dashboards.risk.state import RiskState, write_entity_key
from attestlab_dashboards.risk.words import draw_entity, draw_state
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import Column, chip, empty, pager, table

_COLUMNS: Final = (
    Column("Entity"),
    Column("Highest score", "right", phone=False),
    Column("Signals", "right", phone=False),
    Column("Opened", "right", phone=False),
    Column("Outcome"),
    Column("Note", phone=False),
    Column("Case", phone=False),
)


def draw_cases(found: CaseList, state: RiskState) -> Markup:
    """Draw a page of cases."""
    numbers = {
        "open": found.open_count,
        "resolved": found.resolved_count,
        "all": found.open_count + found.resolved_count,
    }
    chips = join(
        chip(f"{name.capitalize()} {count(number)}", ev="cases", v=name, pressed=name == state.cases)
        for name, number in numbers.items()
    )
    if not found.cases:
        body = empty(
            "No case here", "A signal at the escalation threshold opens a case. The row above shows the others."
        )
    else:
        body = table(
            _COLUMNS,
            [_draw_row(case, found) for case in found.cases],
            caption="Cases",
            keys=[write_entity_key(case.entity) for case in found.cases],
            row_ev="entity",
            marks=[case.id for case in found.cases],
        )
    turn = pager(min(state.cases_page, found.pages), found.pages, ev="cases_page")
    return html('<div class="chips">{chips}</div>{body}{pager}', chips=chips, body=body, pager=turn)


def read_cases(found: CaseList, _state: RiskState) -> str:
    """Write the second line of the card."""
    return f"{count(found.open_count)} open, {count(found.resolved_count)} resolved. Open a row to resolve its case"


def _draw_row(case: ListedCase, found: CaseList) -> list[Markup]:
    return [
        draw_entity(case.entity, found.names),
        html("{score}", score=f"{case.score:.4g}"),
        html("{signals}", signals=count(case.signals)),
        time_tag(case.opened_at, found.now),
        draw_state(case.state),
        html('<span class="rk-case-note" title="{note}">{note}</span>', note=case.note) if case.note else NOTHING,
        short_id(case.id),
    ]
