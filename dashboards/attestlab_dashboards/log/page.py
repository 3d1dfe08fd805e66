"""The page of the transparency-log inspector: its panes, events and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab import Lab
from attestlab.client.handles.attestations import VerificationHandle
from attestlab_dashboards.log.events import EVENTS, recall_head
from attestlab_dashboards.log.panes import answer, bundle, change, drawer, entries, growth, kpis, path, steps
from attestlab_dashboards.log.search_box import draw_search_box
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.pages import Action, DashboardPage, Notice
from attestlab_dashboards.safe import html


def ask_service(lab: Lab, state: LogState, fields: Mapping[str, str]) -> Notice:
    """Let the service verify the attestation, which alone can evaluate its policies; it counts as a verification."""
    verified = lab.verify(fields.get("id", ""))
    assert isinstance(verified, VerificationHandle)
    reasons = " ".join(str(reason) for reason in verified.reasons)
    text = html(
        "The service says <b>{verdict}</b>: {reasons}. It counted one verification of the issuer.",
        verdict=verified.verdict.value,
        reasons=reasons.replace(" ", ", "),
    )
    return Notice(text, state.replace(answer=reasons))


def check_pasted_bundle(_lab: Lab, state: LogState, fields: Mapping[str, str]) -> Notice:
    """Take the text of a bundle that was pasted; the pane of the check shows its result."""
    pasted = EVENTS["bundle"](state, fields.get("bundle", ""))
    return Notice(html("The bundle is checked below, without the service."), pasted)


PAGE: Final = DashboardPage(
    path="log",
    name="Log",
    question="Did the log change, and is this attestation in it?",
    state=LogState,
    chips=draw_search_box,
    panes=(
        answer.PANE,
        kpis.PANE,
        change.PANE,
        growth.PANE,
        steps.PANE,
        path.PANE,
        entries.PANE,
        bundle.PANE,
        drawer.PANE,
    ),
    events=EVENTS,
    recall=recall_head,
    actions={
        "ask": Action(scope="", run=ask_service),
        "check": Action(scope="", run=check_pasted_bundle),
    },
)
