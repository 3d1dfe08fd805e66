"""The policy simulator as a page: its panes, events and actions."""

from __future__ import annotations

from typing import Final

from attestlab_dashboards.pages import DashboardPage
from attestlab_dashboards.policy.actions import ACTIONS
from attestlab_dashboards.policy.events import EVENTS
from attestlab_dashboards.policy.panes import (
    activation,
    answer,
    changes,
    chips,
    curve,
    decision,
    dialog,
    draft,
    example,
    examples,
    issuers,
    kpis,
    map,
    matrix,
    rule,
    rules,
    sankey,
    segments,
)
from attestlab_dashboards.policy.state import PolicyState

PAGE: Final = DashboardPage(
    path="policy",
    name="Policy",
    question="What would this rule have done?",
    state=PolicyState,
    chips=chips.draw_chips,
    panes=(
        answer.PANE,
        kpis.PANE,
        chips.PANE,
        draft.PANE,
        decision.PANE,
        matrix.PANE,
        sankey.PANE,
        segments.PANE,
        issuers.PANE,
        curve.PANE,
        map.PANE,
        rules.PANE,
        changes.PANE,
        examples.PANE,
        activation.BUTTON,
        activation.PANE,
        example.PANE,
        rule.PANE,
        dialog.PANE,
    ),
    events=EVENTS,
    actions=ACTIONS,
)
