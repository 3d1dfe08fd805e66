"""The page of the transparency-log inspector: its panes, events and actions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from attestlab import Lab
from attestlab.client.handles.attestations import VerificationHandle
from attestlab_dashboards.log.answer import draw_answer, load_answer
from attestlab_dashboards.log.bundle_check import draw_bundle_check, load_bundle_check, tell_bundle_check
from attestlab_dashboards.log.change import explain_comparison, load_change, remember_head
from attestlab_dashboards.log.change_drawing import draw_change
from attestlab_dashboards.log.copies import (
    copy_bundle_python,
    copy_entries_sql,
    copy_growth_sql,
    copy_path_python,
    copy_proof_python,
    copy_steps_python,
)
from attestlab_dashboards.log.drawer import draw_drawer, load_drawer
from attestlab_dashboards.log.entries import GROWTH_POINTS, load_entries, load_growth, select_entries, select_growth
from attestlab_dashboards.log.entries_table import draw_entries, tell_entries
from attestlab_dashboards.log.events import EVENTS, recall_head
from attestlab_dashboards.log.evidence import load_evidence
from attestlab_dashboards.log.exports import export_change, export_path, export_steps
from attestlab_dashboards.log.growth_drawing import draw_growth
from attestlab_dashboards.log.path_drawing import draw_path, tell_path
from attestlab_dashboards.log.search_box import draw_search_box, draw_tiles_and_examples, load_tiles
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.steps_drawing import draw_evidence, tell_subject
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
        Pane(key="answer", load=load_answer, draw=draw_answer, reads=(*_COMPARED, *_EVIDENCE)),
        Pane(key="kpis", load=load_tiles, draw=draw_tiles_and_examples, reads=_COMPARED),
        Pane(
            key="change",
            question="Did the log change?",
            reading=explain_comparison,
            span=7,
            load=load_change,
            draw=draw_change,
            reads=_COMPARED,
            copy_python=copy_proof_python,
            export=export_change,
            remember=remember_head,
        ),
        Pane(
            key="growth",
            question="Growth",
            reading=f"Entries in the log, on the newest {GROWTH_POINTS} days with any",
            span=5,
            load=load_growth,
            draw=draw_growth,
            reads=("looked",),
            copy_sql=copy_growth_sql,
            export=select_growth,
        ),
        Pane(
            key="steps",
            question="Is this attestation valid?",
            reading=tell_subject,
            span=5,
            load=load_evidence,
            draw=draw_evidence,
            reads=_EVIDENCE,
            copy_python=copy_steps_python,
            export=export_steps,
        ),
        Pane(
            key="path",
            question="Is it in the log?",
            reading=tell_path,
            span=7,
            load=load_evidence,
            draw=draw_path,
            reads=_EVIDENCE,
            copy_python=copy_path_python,
            export=export_path,
        ),
        Pane(
            key="entries",
            question="Entries",
            reading=tell_entries,
            load=load_entries,
            draw=draw_entries,
            reads=("type", "issuer", "page", "looked"),
            copy_sql=copy_entries_sql,
            export=select_entries,
        ),
        Pane(
            key="bundle",
            question="Is a bundle that you were given genuine?",
            reading=tell_bundle_check,
            load=load_bundle_check,
            draw=draw_bundle_check,
            reads=("bundle", "trust"),
            copy_python=copy_bundle_python,
        ),
        Pane(key="drawer", load=load_drawer, draw=draw_drawer, reads=("entry",)),
    ),
    events=EVENTS,
    recall=recall_head,
    actions={
        "ask": Action(scope="", run=ask_service),
        "check": Action(scope="", run=check_pasted_bundle),
    },
)
