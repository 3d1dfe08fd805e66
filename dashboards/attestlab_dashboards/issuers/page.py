"""Issuer governance as a page: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab.orgs.rules import Scope
from attestlab_dashboards.issuers import (
    confirm,
    delivering,
    drawer,
    drifting,
    lanes,
    losing,
    origins,
    pending,
    registering,
    summary,
    table,
    trail,
)
from attestlab_dashboards.issuers.actions import ACTIONS
from attestlab_dashboards.issuers.events import EVENTS
from attestlab_dashboards.issuers.filters import draw_filters
from attestlab_dashboards.issuers.queries import (
    deliveries,
    drift,
    impact,
    key_lanes,
    key_loss,
    listing,
    overview,
    requests,
    subject,
)
from attestlab_dashboards.issuers.queries import trail as trail_query
from attestlab_dashboards.issuers.state import FILTERS, IssuerState
from attestlab_dashboards.pages import DashboardPage, Pane

_READ: Final = Scope.ISSUERS_READ.value
_PANES: Final = (
    Pane(
        key="answer",
        load=summary.load_summary,
        draw=summary.draw_answer,
        reads=overview.BY_STANDING,
        scope=_READ,
    ),
    Pane(key="kpis", load=summary.load_summary, draw=summary.draw_tiles, reads=overview.BY_STANDING, scope=_READ),
    Pane(
        key="issuers",
        question="Issuers",
        reading=table.write_order,
        load=listing.load_listing,
        draw=table.draw_table,
        reads=(*FILTERS, "sort", "page", "age_limit"),
        scope=_READ,
        copy_sql=listing.write_listing_sql,
        export=listing.export_listing,
    ),
    Pane(
        key="origins",
        question="Where the mints come from",
        reading=origins.write_shares,
        span=7,
        load=summary.load_summary,
        draw=origins.draw_origins,
        reads=overview.BY_STANDING,
        scope=_READ,
        copy_sql=overview.write_overview_sql,
        export=overview.export_overview,
    ),
    Pane(
        key="drift",
        question="What has changed since they signed",
        reading="Attestations whose issuer stood otherwise at the mint",
        span=5,
        load=drift.load_drift,
        draw=drifting.draw_drift,
        reads=(*FILTERS, "drift_page"),
        scope=_READ,
        copy_sql=drift.write_drift_sql,
        export=drift.export_drift,
    ),
    Pane(
        key="keys",
        question="Keys",
        reading=lanes.write_reading,
        load=key_lanes.load_lanes,
        draw=lanes.draw_lanes,
        reads=(*FILTERS, "keys_page"),
        scope=_READ,
        copy_sql=key_lanes.write_lanes_sql,
        export=key_lanes.export_lanes,
    ),
    Pane(
        key="requests",
        question="Waiting for a second person",
        reading="Changes of standing that were asked for and are not in force",
        load=requests.load_open_requests,
        draw=pending.draw_open_requests,
        reads=(),
        scope=_READ,
        copy_python=requests.write_requests_python,
        export=requests.export_open_requests,
    ),
    Pane(
        key="trail",
        question="Audit",
        reading=trail.write_reading,
        span=7,
        load=trail_query.load_trail,
        draw=trail.draw_trail,
        reads=("trail_page", "actor"),
        scope=Scope.AUDIT_READ.value,
        copy_sql=trail_query.write_trail_sql,
        export=trail_query.export_trail,
    ),
    Pane(
        key="loss",
        question="If a key is lost",
        reading=losing.write_reading,
        span=5,
        load=key_loss.load_loss,
        draw=losing.draw_loss,
        reads=(*FILTERS, "key", "since"),
        scope=_READ,
        copy_sql=key_loss.write_loss_sql,
        export=key_loss.export_affected,
    ),
    Pane(
        key="deliveries",
        question="Webhooks",
        reading=delivering.write_reading,
        load=deliveries.load_deliveries,
        draw=delivering.draw_deliveries,
        reads=("endpoint",),
        scope=_READ,
        copy_sql=deliveries.write_attempts_sql,
        export=deliveries.export_attempts,
    ),
    Pane(
        key="resend",
        load=deliveries.load_resend,
        draw=delivering.draw_resend,
        reads=("ask", "about", "endpoint"),
        scope=_READ,
    ),
    Pane(key="issuer", load=subject.load_subject, draw=drawer.draw_drawer, reads=("issuer", "age_limit"), scope=_READ),
    Pane(
        key="register",
        load=registering.load_registration,
        draw=registering.draw_registration,
        reads=("ask",),
        scope=_READ,
    ),
    Pane(
        key="confirm", load=impact.load_impact, draw=confirm.draw_dialog, reads=("ask", "about", "since"), scope=_READ
    ),
)
PAGE: Final = DashboardPage(
    path="issuers",
    name="Issuers",
    question="Whom do we trust, and has that changed?",
    state=IssuerState,
    chips=draw_filters,
    panes=_PANES,
    events=EVENTS,
    actions=ACTIONS,
)
