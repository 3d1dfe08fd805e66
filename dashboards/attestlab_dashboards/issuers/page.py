"""Issuer governance as a page: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.issuers.actions import ACTIONS
from attestlab_dashboards.issuers.events import EVENTS
from attestlab_dashboards.issuers.filters import draw_filters
from attestlab_dashboards.issuers.panes import (
    answer,
    confirm,
    deliveries,
    drift,
    inbox,
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
from attestlab_dashboards.issuers.state import IssuerState
from attestlab_dashboards.pages import DashboardPage

PAGE: Final = DashboardPage(
    path="issuers",
    name="Issuers",
    question="Whom do we trust, and has that changed?",
    state=IssuerState,
    chips=draw_filters,
    panes=(
        answer.PANE,
        kpis.PANE,
        requests.PANE,
        issuers.PANE,
        origins.PANE,
        drift.PANE,
        keys.PANE,
        trail.PANE,
        loss.PANE,
        inbox.PANE,
        deliveries.PANE,
        resend.PANE,
        issuer.PANE,
        register.BUTTON,
        register.PANE,
        confirm.PANE,
    ),
    events=EVENTS,
    actions=ACTIONS,
    count_waiting=requests.count_waiting,
)
