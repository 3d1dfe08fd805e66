"""The page of the transparency-log inspector: its search box, panes, events and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.handles.attestations import VerificationHandle
from attestlab.portal.rules import SearchKind, parse_search
from attestlab_dashboards import icons
from attestlab_dashboards.log.events import EVENTS, recall_head
from attestlab_dashboards.log.panes import answer, bundle, change, drawer, entries, growth, kpis, path, steps
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.pages import Action, DashboardPage, Facts, Notice
from attestlab_dashboards.safe import NOTHING, html
from attestlab_dashboards.widgets import pill

_KINDS: Final = {
    SearchKind.INDEX: "log index",
    SearchKind.SHA256: "hash",
    SearchKind.ATTESTATION: "id",
    SearchKind.NOTHING: "name of a key or issuer",
}


def draw_search_box(state: LogState, _facts: Facts) -> Markup:
    """Draw the one search box of the page; what it recognises is decided by the text alone."""
    return html(
        '<div class="lg-find" data-drop="document">{icon}<label class="al-hidden" for="lg-find">Search the log</label>'
        '<input id="lg-find" type="text" data-ev="find" data-key="lg-find" data-search value="{find}" '
        'maxlength="300" autocomplete="off" spellcheck="false" '
        'placeholder="Index, id, hash, key or issuer, or drop a file">'
        '{recognised}<label class="btn sm lg-file">{document}<span>Choose a file</span>'
        '<input type="file" class="al-hidden" data-hash="document" aria-label="Choose a file to hash and search">'
        "</label></div>",
        icon=icons.draw("search"),
        find=state.find,
        recognised=_draw_recognised(state),
        document=icons.draw("document"),
    )


def _draw_recognised(state: LogState) -> Markup:
    if not state.find:
        return NOTHING
    return pill(f"read as {_KINDS[parse_search(state.find).kind]}", "calm", "search")


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
        path.BUTTON,
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
