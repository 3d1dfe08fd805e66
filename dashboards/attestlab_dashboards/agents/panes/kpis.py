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


def draw_tiles(counts: FleetCounts, state: AgentsState) -> Markup:
    """Draw the tiles; a number of findings leads to its agents, whom the page is then narrowed to."""
    return widgets.kpi_strip(
        [
            Kpi(
                label="May act",
                value=part_of(counts.active, counts.agents),
                note=f"{count(counts.suspended)} suspended, {count(counts.revoked)} revoked",
                rows="fleet",
                ev="status",
                v="active",
            ),
            Kpi(
                label="Open sessions",
                value=count(counts.sessions),
                note=f"of {plural(counts.working, 'agent')}",
                rows="sessions",
            ),
            _draw_finding("No person answers", "ownerless", counts, state, "no owner, or one who left"),
            _draw_finding("Old keys", "old_key", counts, state, f"in use for over {OLD_KEY_DAYS} days"),
            _draw_finding("Idle", "idle", counts, state, f"no session for {IDLE_DAYS} days"),
        ]
    )


def _draw_finding(label: str, finding: str, counts: FleetCounts, state: AgentsState, note: str) -> Kpi:
    """Draw how many agents have a finding; its event is left out where they are chosen, as it would drop them."""
    return Kpi(
        label=label,
        value=part_of(getattr(counts, finding), counts.standing),
        note=note,
        rows="review",
        ev="" if state.finding == finding else "finding",
        v=finding,
    )


PANE: Final = Pane(
    key="kpis", load=load_overview, draw=draw_tiles, reads=FILTERS, scope=Scope.AGENTS_READ.value, is_common=True
)
