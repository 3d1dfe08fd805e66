"""The page of the transparency-log inspector: its panes, events and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab import Lab
from attestlab.client.handles.attestations import VerificationHandle
from attestlab_dashboards.log.comparison import explain_comparison, load_change, remember_head
from attestlab_dashboards.log.events import EVENTS, recall_head
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.panes import answer, bundle, change, drawer, entries, growth, kpis, path, steps
from attestlab_dashboards.log.search_box import draw_search_box
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.pages import Action, DashboardPage, Notice, Pane
from attestlab_dashboards.safe import html

_COMPARED: Final = ("kept", "seen", "looked")
_EVIDENCE: Final = ("find", "file", "flip", "trust", "answer")


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
        Pane(key="answer", load=answer.load_answer, draw=answer.draw_answer, reads=(*_COMPARED, *_EVIDENCE)),
        Pane(key="kpis", load=kpis.load_tiles, draw=kpis.draw_tiles_and_examples, reads=_COMPARED),
        Pane(
            key="change",
            question="Did the log change?",
            reading=explain_comparison,
            span=7,
            load=load_change,
            draw=change.draw_change,
            reads=_COMPARED,
            copy_python=change.copy_proof_python,
            export=change.export_change,
            remember=remember_head,
        ),
        Pane(
            key="growth",
            question="Growth",
            reading=f"Entries in the log, on the newest {growth.GROWTH_POINTS} days with any",
            span=5,
            load=growth.load_growth,
            draw=growth.draw_growth,
            reads=("looked",),
            copy_sql=growth.copy_growth_sql,
            export=growth.select_growth,
        ),
        Pane(
            key="steps",
            question="Is this attestation valid?",
            reading=steps.tell_subject,
            span=5,
            load=load_evidence,
            draw=steps.draw_evidence,
            reads=_EVIDENCE,
            copy_python=steps.copy_steps_python,
            export=steps.export_steps,
        ),
        Pane(
            key="path",
            question="Is it in the log?",
            reading=path.tell_path,
            span=7,
            load=load_evidence,
            draw=path.draw_path,
            reads=_EVIDENCE,
            copy_python=path.copy_path_python,
            export=path.export_path,
        ),
        Pane(
            key="entries",
            question="Entries",
            reading=entries.tell_entries,
            load=entries.load_entries,
            draw=entries.draw_entries,
            reads=("type", "issuer", "page", "looked"),
            copy_sql=entries.copy_entries_sql,
            export=entries.select_entries,
        ),
        Pane(
            key="bundle",
            question="Is a bundle that you were given genuine?",
            reading=bundle.tell_bundle_check,
            load=bundle.load_bundle_check,
            draw=bundle.draw_bundle_check,
            reads=("bundle", "trust"),
            copy_python=bundle.copy_bundle_python,
        ),
        Pane(key="drawer", load=drawer.load_drawer, draw=drawer.draw_drawer, reads=("entry",)),
    ),
    events=EVENTS,
    recall=recall_head,
    actions={
        "ask": Action(scope="", run=ask_service),
        "check": Action(scope="", run=check_pasted_bundle),
    },
)
