"""The menu *Export* at the title of a page: the page as one file, and the rows of each of its panes."""

from __future__ import annotations

from functools import partial
from typing import Final
from urllib.parse import urlencode

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards import icons
from attestlab_dashboards.downloads import FORMATS
from attestlab_dashboards.pages import AnyPage, AnyPane, Pane
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.state import PageState

KEY: Final = "export"


def load_scopes(lab: Lab, _state: PageState) -> frozenset[str]:
    """Load what the person may read, so that no file is offered that would be refused."""
    return frozenset(lab.me().credential.scopes)


def draw_export(page: AnyPage, scopes: frozenset[str], state: PageState) -> Markup:
    """Draw the menu for what the page shows now."""
    query = urlencode(state.to_query())
    rows = join(
        _draw_rows(page, pane, query)
        for pane in page.panes
        if pane.export is not None and (not pane.scope or pane.scope in scopes)
    )
    return html(
        '<details class="al-views" id="export"><summary class="chip">{icon}Export</summary><div class="al-views-menu">'
        '<ul><li><a href="{path}/still?{query}" download data-key="export:page">This page as one HTML file</a>'
        "<small>as it is now; it needs no connection</small></li>{rows}</ul></div></details>",
        icon=icons.draw("download"),
        path=page.path,
        query=query,
        rows=rows,
    )


def _draw_rows(page: AnyPage, pane: AnyPane, query: str) -> Markup:
    links = join(
        html(
            '<a href="{path}/export?{query}&amp;pane={pane}&amp;format={name}" download aria-label="{rows}, {name}" '
            'data-key="export:{pane}:{name}">{label}</a>',
            path=page.path,
            query=query,
            pane=pane.key,
            name=name,
            rows=f"Rows of: {pane.question}",
            label="Parquet" if name == "parquet" else name.upper(),
        )
        for name in FORMATS
    )
    return html('<li class="al-files"><span>{question}</span>{links}</li>', question=pane.question, links=links)


def make_export_pane(page: AnyPage) -> AnyPane:
    """Make the menu of a page; no still has it, because it is one itself."""
    return Pane(key=KEY, load=load_scopes, draw=partial(draw_export, page), reads=(), is_optional=True, is_tool=True)
