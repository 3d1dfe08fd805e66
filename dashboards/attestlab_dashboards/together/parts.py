"""The parts that every page has: its saved views, its exports, and the annotations of its charts."""

from __future__ import annotations

from attestlab_dashboards.pages import AnyPage, SharedParts
from attestlab_dashboards.together.annotations import ACTIONS, draw_annotations, may_read_annotations
from attestlab_dashboards.together.exports import make_export_pane
from attestlab_dashboards.together.views import list_view_actions, make_views_pane


def make_shared_parts(page: AnyPage, *, has_downloads: bool = True) -> SharedParts:
    """Make the panes and actions that a page shares with all others; exports where its address serves files."""
    return SharedParts(
        panes=(make_views_pane(page), *([make_export_pane(page)] if has_downloads else [])),
        actions={**list_view_actions(page), **ACTIONS},
        draw_notes=draw_annotations,
        may_read_notes=may_read_annotations,
    )
