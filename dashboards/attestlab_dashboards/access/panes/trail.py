"""What everyone did, newest first, in sentences."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.rows import Rows
from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.access.trail import LINE_ROWS, DeedPage, compose_lines, draw_lines, load_page
from attestlab_dashboards.formats import plural
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.ranges import draw_days
from attestlab_dashboards.safe import html, join


def load_trail(lab: Lab, state: AccessState) -> DeedPage:
    """Load a page of all lines."""
    return load_page(lab, state, page=state.trail_page, is_drawer=False)


def write_reading(page: DeedPage, _state: AccessState) -> str:
    """Write how many lines there are."""
    return f"{plural(page.all_lines, 'line')} of the audit trail, newest first; a name opens all that they did"


def draw_trail(page: DeedPage, state: AccessState) -> Markup:
    """Draw a page of the lines."""
    days = draw_days("range", state.range, page.register.now.date())
    chips = html('<div class="chips">{days}{whole}</div>', days=days, whole=draw_whole(state))
    if not page.lines:
        return join([chips, _draw_nothing(state)])
    return html(
        "{chips}{lines}{pager}",
        chips=chips,
        lines=draw_lines(page),
        pager=widgets.pager(page.page, widgets.count_pages(page.all_lines, LINE_ROWS), ev="trail_page"),
    )


def _draw_nothing(state: AccessState) -> Markup:
    if state.range:
        return widgets.empty("Nothing was done in these days", "No line of the audit trail is of this time.")
    return widgets.empty("Nothing was done yet", "The audit trail begins with the first change.")


def draw_whole(state: AccessState) -> Markup:
    """Draw the switch that adds lines which only follow from others."""
    return widgets.chip("With renewals and mails", ev="whole", v="1", pressed=state.whole, removable=state.whole)


def export_trail(lab: Lab, state: AccessState) -> Rows:
    """Return all lines."""
    return compose_lines(state, page=None, is_drawer=False).read(lab)


def write_trail_sql(state: AccessState) -> str:
    """Write the query of all lines."""
    return compose_lines(state, page=None, is_drawer=False).to_sql()


PANE: Final = Pane(
    key="trail",
    question="Who did what",
    reading=write_reading,
    load=load_trail,
    draw=draw_trail,
    reads=("range", "trail_page", "whole"),
    scope=Scope.AUDIT_READ.value,
    copy_sql=write_trail_sql,
    export=export_trail,
)
