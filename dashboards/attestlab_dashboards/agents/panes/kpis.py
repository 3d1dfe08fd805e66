"""The tiles: agents that may act, open sessions, and what a review would find."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.agents.fleet import IDLE_DAYS, OLD_KEY_DAYS
from attestlab_dashboards.agents.overview import FleetCounts, load_overview
from attestlab_dashboards.agents.state import FILTERS, AgentsState
from attestlab_dashboards.agents.words import plural
from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.widgets import Kpi, part_of


def draw_tiles(counts: FleetCounts, _state: AgentsState) -> Markup:
    """Draw the tiles."""
    return widgets.kpi_strip(
        [
            Kpi(
                label="May act",
                value=part_of(counts.active, counts.agents),
                note=f"{count(counts.suspended)} suspended, {count(counts.revoked)} revoked",
            ),
            Kpi(label="Open sessions", value=count(counts.sessions), note=f"of {plural(counts.working, 'agent')}"),
            Kpi(
                label="No person answers",
                value=part_of(counts.ownerless, counts.standing),
                note="no owner, or one who left",
            ),
            Kpi(
                label="Old keys",
                value=part_of(counts.old_key, counts.standing),
                note=f"in use for over {OLD_KEY_DAYS} days",
            ),
            Kpi(
                label="Idle",
                value=part_of(counts.idle, counts.standing),
                note=f"no session for {IDLE_DAYS} days",
            ),
        ]
    )


PANE: Final = Pane(key="kpis", load=load_overview, draw=draw_tiles, reads=FILTERS, scope=Scope.AGENTS_READ.value)
