"""The tiles: active issuers, mints of 30 days, what got worse, old keys, open requests."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.orgs.rules import Scope
from attestlab_dashboards import widgets
from attestlab_dashboards.formats import ago, count, percent, plural
from attestlab_dashboards.issuers.overview import (
    BY_STANDING,
    TOP,
    IssuerSummary,
    StandingCounts,
    load_summary,
    write_limit,
)
from attestlab_dashboards.issuers.panes.requests import OpenRequests
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.widgets import Kpi, part_of


def draw_tiles(summary: IssuerSummary, state: IssuerState) -> Markup:
    """Draw the tiles."""
    total = summary.overview.total
    return widgets.kpi_strip(
        [
            Kpi(
                label="Active issuers",
                rows="issuers",
                ev="status",
                v="ACTIVE",
                value=part_of(total.active, total.issuers),
                note=f"{count(total.suspended)} suspended, {count(total.revoked)} revoked",
            ),
            Kpi(
                label="Minted, 30 days",
                value=count(total.mints),
                note=write_concentration(total),
                rows="issuers",
                ev="sort",
                v="-mints",
            ),
            Kpi(
                label="Got worse",
                rows="drift",
                value=count(total.worse),
                note=f"{percent(total.worse, total.attestations)} of {plural(total.attestations, 'attestation')}",
            ),
            Kpi(
                label="Old keys",
                rows="keys",
                value=part_of(total.old_keys, total.keys),
                note=f"in use for over {write_limit(state.age_limit)}",
            ),
            _draw_waiting(summary.requests),
        ]
    )


def write_concentration(total: StandingCounts) -> str:
    """Write how much of the mints the largest issuers have."""
    if not total.mints:
        return "no mint"
    largest = min(TOP, sum(1 for _ in total.names))
    who = "one issuer" if largest == 1 else f"{largest} issuers"
    return f"{percent(total.top_mints, total.mints)} by {who}"


def _draw_waiting(requests: OpenRequests) -> Kpi:
    if not requests.are_visible:
        return Kpi(label="Waiting for approval", value="not shown", note="your role does not see requests")
    pending = [request for request in requests.requests if request.status == "PENDING"]
    ready = len(requests.requests) - len(pending)
    oldest = min((request.created_at for request in pending), default=None)
    note = f"{count(ready)} approved, to execute" if ready else "none to execute"
    if oldest is not None:
        note = f"the oldest from {ago(oldest, requests.now)}"
    return Kpi(label="Waiting for approval", value=count(len(pending)), note=note, rows="requests")


PANE: Final = Pane(
    key="kpis",
    load=load_summary,
    draw=draw_tiles,
    reads=BY_STANDING,
    scope=Scope.ISSUERS_READ.value,
)
