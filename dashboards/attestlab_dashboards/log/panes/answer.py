"""The answer sentence: did the log change, and is this attestation in it?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from attestlab import Lab, Verdict
from attestlab_dashboards import icons
from attestlab_dashboards.formats import count, plural
from attestlab_dashboards.log.comparison import COMPARED, Change, ComparisonResult, load_change
from attestlab_dashboards.log.evidence import EVIDENCE, EntryEvidence, load_evidence
from attestlab_dashboards.log.state import LogState
from attestlab_dashboards.log.step_views import StepState
from attestlab_dashboards.log.subject import Subject
from attestlab_dashboards.log.words import describe_type, tell_since
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html


@dataclass(frozen=True)
class Answer:
    """The answers to both questions of the page."""

    change: Change
    evidence: EntryEvidence


def load_answer(lab: Lab, state: LogState) -> Answer:
    """Load the answers to both questions."""
    return Answer(load_change(lab, state), load_evidence(lab, state))


def draw_answer(data: Answer, _state: LogState) -> Markup:
    """Draw one sentence for each question, with its numbers bold; before both, that a file was never attested."""
    if data.evidence.subject.unattested:
        return html("{alarm}{change}", alarm=draw_unattested(data.evidence.subject), change=_tell_change(data.change))
    return html("{change} {entry}", change=_tell_change(data.change), entry=_tell_entry(data.evidence))


def draw_unattested(subject: Subject) -> Markup:
    """Draw in red that a document was never attested; the browser puts the name of a file in, which it alone knows."""
    return html(
        '<span class="lg-unattested" role="alert">{icon}<span><b>Not attested: <bdi data-file="{digest}">this '
        "document</bdi></b> {missing} Its SHA-256 is {digest}. One changed character or a re-saved copy "
        "gives another one.</span></span>",
        icon=icons.draw("cross"),
        digest=subject.unattested,
        missing=subject.missing,
    )


def _tell_change(change: Change) -> Markup:
    values = {"since": tell_since(change), "old": count(change.older.size), "new": count(change.newer.size)}
    match change.outcome:
        case ComparisonResult.GREW:
            return html(
                "It grew by <b>{growth}</b> since {since} and <b>nothing older was changed</b>.",
                growth=plural(change.growth, "entry", "entries"),
                **values,
            )
        case ComparisonResult.SAME:
            return html(
                "It has <b>{size}</b>, as {when} {since}, and <b>nothing was changed</b>.",
                size=plural(change.newer.size, "entry", "entries"),
                when="when" if change.seen_at is not None else "on",
                **values,
            )
        case ComparisonResult.FORKED:
            return html(
                '<b class="lg-wrong">It is not the log that you saw</b>: its first {entries} not what you saw.',
                entries="entry is" if change.older.size == 1 else f"{values['old']} entries are",
                **values,
            )
        case ComparisonResult.ROLLED_BACK:
            return html(
                '<b class="lg-wrong">It lost entries</b>: you saw <b>{old}</b>, now it has <b>{new}</b>.', **values
            )
    return html('<b class="lg-wrong">It could not prove that it only grew</b> since {since}.', **values)


def _tell_entry(evidence: EntryEvidence) -> Markup:
    entry = evidence.subject.entry
    if entry is None:
        return html("{why}", why=evidence.subject.missing)
    what = html("Entry <b>{index}</b>, {kind},", index=count(entry.log_index), kind=_name_entry(evidence))
    if evidence.flipped is not None:
        return html(
            "In a copy with {what} changed, {verdict}.", what=_name_flip(evidence), verdict=_tell_flip(evidence)
        )
    if not evidence.is_included:
        return html('{what} <b class="lg-wrong">is not proven to be in it</b>.', what=what)
    return html("{what} <b>is in it</b>{validity}.", what=what, validity=_tell_validity(evidence))


def _name_entry(evidence: EntryEvidence) -> str:
    """Name an entry: a mint by kind and issuer as far as its bundle may be read, another one by its type."""
    if evidence.document is not None and evidence.has_bundle:
        return f"a {evidence.document['attestation']['schema']} by {evidence.document['issuer']['name']}"
    entry = evidence.subject.entry
    return "" if entry is None else describe_type(entry.type).noun


def _name_flip(evidence: EntryEvidence) -> str:
    return "" if evidence.flipped is None else evidence.flipped.what.partition(":")[0]


def _tell_flip(evidence: EntryEvidence) -> Markup:
    steps = () if evidence.examination is None else evidence.examination.steps
    failed = next((place for place, step in enumerate(steps, 1) if step.state is StepState.FAILED), None)
    if failed is not None:
        return html('<b class="lg-wrong">step {step} fails</b>', step=failed)
    return (
        NOTHING if evidence.is_included else html('<b class="lg-wrong">the path no longer leads to the signed root</b>')
    )


def _tell_validity(evidence: EntryEvidence) -> Markup:
    if evidence.examination is None:
        return NOTHING
    verdict = evidence.examination.verdict
    if verdict is Verdict.VALID:
        return html(" and <b>valid</b>")
    return html(', but it is <b class="lg-wrong">{verdict}</b>', verdict=verdict.value)


PANE: Final = Pane(
    key="answer",
    load=load_answer,
    draw=draw_answer,
    reads=(*COMPARED, *EVIDENCE),
    is_common=True,
)
