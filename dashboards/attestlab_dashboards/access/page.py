"""Access as a page: its panes, filters and events, and its writes, which the verbs of the facade check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab import Lab
from attestlab.orgs.rules import Scope
from attestlab_dashboards.access.events import EVENTS
from attestlab_dashboards.access.filters import draw_filters
from attestlab_dashboards.access.panes import answer, confirm, keys, kpis, people, sessions, trail, who
from attestlab_dashboards.access.state import AccessState
from attestlab_dashboards.pages import Action, DashboardPage, Notice, read_field
from attestlab_dashboards.reducers import close_question
from attestlab_dashboards.safe import html


def revoke(lab: Lab, state: AccessState, fields: Mapping[str, str]) -> Notice:
    """Revoke an API key."""
    key = lab.api_keys.revoke(read_field(fields, "about"), read_field(fields, "reason"))
    text = html("<b>Revoked.</b> {name} opens nothing from now on. Next: see what it did.", name=key.name)
    return Notice(text, close_question(state))


def report_lost(lab: Lab, state: AccessState, fields: Mapping[str, str]) -> Notice:
    """Report an API key as lost."""
    key = lab.api_keys.compromise(read_field(fields, "about"), read_field(fields, "reason"))
    text = html("<b>Reported.</b> {name} is revoked and marked as lost. Next: see what it did.", name=key.name)
    return Notice(text, close_question(state))


def end_session(lab: Lab, state: AccessState, fields: Mapping[str, str]) -> Notice:
    """End the session of a person."""
    lab.sessions.end(read_field(fields, "about"))
    return Notice(html("<b>Ended.</b> Its next request is refused."), close_question(state))


ACTIONS: Final[Mapping[str, Action[AccessState]]] = {
    "revoke": Action(scope=Scope.USERS_WRITE.value, run=revoke),
    "lose": Action(scope=Scope.USERS_WRITE.value, run=report_lost),
    "end": Action(scope=Scope.USERS_WRITE.value, run=end_session),
}

PAGE: Final = DashboardPage(
    path="access",
    name="Access",
    question="Who has access, and what did they do?",
    state=AccessState,
    scope=Scope.USERS_READ.value,
    chips=draw_filters,
    panes=(
        answer.PANE,
        kpis.PANE,
        people.PANE,
        keys.PANE,
        sessions.PANE,
        trail.PANE,
        who.PANE,
        confirm.PANE,
    ),
    events=EVENTS,
    actions=ACTIONS,
)
"""The page about access: who has it, and what each of them did."""
