"""Issuer governance as a page: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab.orgs.rules import Scope
from attestlab_dashboards.issuers.actions import ACTIONS
from attestlab_dashboards.issuers.events import EVENTS
from attestlab_dashboards.issuers.filters import draw_filters
from attestlab_dashboards.issuers.impact import load_impact
from attestlab_dashboards.issuers.overview import BY_STANDING, export_overview, load_summary, write_overview_sql
from attestlab_dashboards.issuers.panes import (
    answer,
    confirm,
    deliveries,
    drift,
    issuer,
    issuers,
    keys,
    kpis,
    loss,
    origins,
    register,
    requests,
    resend,
    trail,
)
from attestlab_dashboards.issuers.state import FILTERS, IssuerState
from attestlab_dashboards.pages import DashboardPage, Pane

_READ: Final = Scope.ISSUERS_READ.value
_PANES: Final = (
    Pane(
        key="answer",
        load=load_summary,
        draw=answer.draw_answer,
        reads=BY_STANDING,
        scope=_READ,
    ),
    Pane(key="kpis", load=load_summary, draw=kpis.draw_tiles, reads=BY_STANDING, scope=_READ),
    Pane(
        key="issuers",
        question="Issuers",
        reading=issuers.write_order,
        load=issuers.load_listing,
        draw=issuers.draw_table,
        reads=(*FILTERS, "sort", "page", "age_limit"),
        scope=_READ,
        copy_sql=issuers.write_listing_sql,
        export=issuers.export_listing,
    ),
    Pane(
        key="origins",
        question="Where the mints come from",
        reading=origins.write_shares,
        span=7,
        load=load_summary,
        draw=origins.draw_origins,
        reads=BY_STANDING,
        scope=_READ,
        copy_sql=write_overview_sql,
        export=export_overview,
    ),
    Pane(
        key="drift",
        question="What has changed since they signed",
        reading="Attestations whose issuer stood otherwise at the mint",
        span=5,
        load=drift.load_drift,
        draw=drift.draw_drift,
        reads=(*FILTERS, "drift_page"),
        scope=_READ,
        copy_sql=drift.write_drift_sql,
        export=drift.export_drift,
    ),
    Pane(
        key="keys",
        question="Keys",
        reading=keys.write_reading,
        load=keys.load_lanes,
        draw=keys.draw_lanes,
        reads=(*FILTERS, "keys_page"),
        scope=_READ,
        copy_sql=keys.write_lanes_sql,
        export=keys.export_lanes,
    ),
    Pane(
        key="requests",
        question="Waiting for a second person",
        reading="Changes of standing that were asked for and are not in force",
        load=requests.load_open_requests,
        draw=requests.draw_open_requests,
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
        load=trail.load_trail,
        draw=trail.draw_trail,
        reads=("trail_page", "actor"),
        scope=Scope.AUDIT_READ.value,
        copy_sql=trail.write_trail_sql,
        export=trail.export_trail,
    ),
    Pane(
        key="loss",
        question="If a key is lost",
        reading=loss.write_reading,
        span=5,
        load=loss.load_loss,
        draw=loss.draw_loss,
        reads=(*FILTERS, "key", "since"),
        scope=_READ,
        copy_sql=loss.write_loss_sql,
        export=loss.export_affected,
    ),
    Pane(
        key="deliveries",
        question="Webhooks",
        reading=deliveries.write_reading,
        load=deliveries.load_deliveries,
        draw=deliveries.draw_deliveries,
        reads=("endpoint",),
        scope=_READ,
        copy_sql=deliveries.write_attempts_sql,
        export=deliveries.export_attempts,
    ),
    Pane(
        key="resend",
        load=resend.load_resend,
        draw=resend.draw_resend,
        reads=("ask", "about", "endpoint"),
        scope=_READ,
    ),
    Pane(key="issuer", load=issuer.load_subject, draw=issuer.draw_drawer, reads=("issuer", "age_limit"), scope=_READ),
    Pane(
        key="register",
        load=register.load_registration,
        draw=register.draw_registration,
        reads=("ask",),
        scope=_READ,
    ),
    Pane(key="confirm", load=load_impact, draw=confirm.draw_dialog, reads=("ask", "about", "since"), scope=_READ),
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
