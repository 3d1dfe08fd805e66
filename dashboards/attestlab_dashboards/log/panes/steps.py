"""The eight steps of a verification, the playground, and what was neither checked nor trusted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup
from pydantic import BaseModel

from attestlab import Lab, Verdict
from attestlab.client.analysis.records import Records
from attestlab.core.errors import NotFound
from attestlab_dashboards import icons
from attestlab_dashboards.formats import count
from attestlab_dashboards.log.evidence import EVIDENCE, EntryEvidence, Examination, Trust, load_evidence
from attestlab_dashboards.log.state import Flip, LogState
from attestlab_dashboards.log.step_views import InspectedStep, StepState
from attestlab_dashboards.log.subject import MAX_TWINS, Subject, write_attestation_name
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import button, chip, disable, empty


def copy_steps_python(state: LogState) -> str:
    """Compose the examination of the searched attestation."""
    return write_examination(
        state, f"attestlab.Bundle.parse(lab.attestations.bundle({write_attestation_name(state)}).document)"
    )


def write_examination(state: LogState, bundle: str) -> str:
    """Write the offline examination of a bundle as Python."""
    trust = f"{state.trust!r}" if state.trust else "lab.log.vkey().trust_policy"
    return "\n".join(
        (
            "import attestlab",
            "from datetime import UTC, datetime",
            "",
            f"bundle = {bundle}",
            f"trust = attestlab.TrustPolicy.parse({trust})",
            "attestlab.examine_bundle(bundle, trust=trust, now=datetime.now(UTC))",
        )
    )


class StepRow(BaseModel):
    """One of the eight steps of a verification, with its result."""

    step: int
    name: str
    question: str
    state: str
    answer: str
    meaning: str


def export_steps(lab: Lab, state: LogState) -> Records[StepRow]:
    """Export the steps of the searched attestation.

    Raises:
        NotFound: the search found no attestation whose bundle the person may read.
    """
    examination = load_evidence(lab, state).examination
    if examination is None:
        raise NotFound("bundle of", state.find or "the newest entry")
    rows = (
        StepRow(
            step=place,
            name=each.name,
            question=each.question,
            state=each.state,
            answer=each.answer,
            meaning=each.sentence,
        )
        for place, each in enumerate(examination.steps, 1)
    )
    return Records(rows, StepRow)


_GLYPHS: Final = {
    StepState.GOOD: "check",
    StepState.FAILED: "cross",
    StepState.OPEN: "clock",
    StepState.SILENT: "minus",
    StepState.SKIPPED: "minus",
}
_FLIPS: Final = (
    (Flip.CLAIM, "a claim"),
    (Flip.SIGNATURE, "the signature"),
    (Flip.ENTRY, "the entry"),
    (Flip.PATH, "a path hash"),
    (Flip.ROOT, "the root"),
)
_NUMBERS: Final = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight"]


def draw_evidence(evidence: EntryEvidence, state: LogState) -> Markup:
    """Draw the steps of the searched attestation, and the playground below them."""
    if evidence.subject.entry is None:
        return empty("No attestation to verify", evidence.subject.missing, button("Clear the search", ev="find"))
    if evidence.examination is None:
        return html("{why}{playground}", why=_explain_missing(evidence), playground=_draw_playground(evidence, state))
    return html(
        "{verdict}{others}{steps}{file}{playground}{limits}",
        verdict=draw_verdict(evidence.examination, "" if evidence.flipped is None else evidence.flipped.what),
        others=_draw_others(evidence.subject),
        steps=draw_steps(evidence.examination.steps),
        file=_draw_requests(evidence, state),
        playground=_draw_playground(evidence, state),
        limits=draw_limits(evidence.examination, evidence.trust),
    )


def _draw_others(subject: Subject) -> Markup:
    """Draw the other attestations of the document that was searched."""
    if not subject.others:
        return NOTHING
    chips = (
        chip(f"entry {count(index)}, {status}", ev="twin", v=f"{index}.{subject.file}", pressed=False)
        for index, status in subject.others
    )
    return html(
        '<div class="chips lg-others"><span class="small muted">This file was attested {times} times:</span>'
        "{chips}</div>",
        times=f"more than {count(MAX_TWINS)}" if subject.has_more else count(len(subject.others) + 1),
        chips=join(chips),
    )


def tell_subject(evidence: EntryEvidence, _state: LogState) -> str:
    """Name the searched entry, and as what the search was recognised, for the line under the title."""
    entry, word = evidence.subject.entry, evidence.subject.word
    if entry is None:
        return "Search an attestation, a hash, a key or an issuer"
    found = f"Found by {word}. Entry {count(entry.log_index)}" if word else f"Entry {count(entry.log_index)}"
    if evidence.document is None or not evidence.has_bundle:
        return found
    return f"{found}, {evidence.document['attestation']['schema']} by {evidence.document['issuer']['name']}"


def _explain_missing(evidence: EntryEvidence) -> Markup:
    subject = evidence.subject
    go = NOTHING
    if subject.attestation_id is not None and not subject.is_mint:
        go = button("Verify the attestation that it ends", ev="find", v=subject.attestation_id, primary=True)
    return empty("Only its place in the log can be verified", evidence.why_no_bundle, go)


def draw_verdict(examination: Examination, flipped: str = "") -> Markup:
    """Draw the verdict and the sentence that explains it."""
    is_valid = examination.verdict is Verdict.VALID
    return html(
        '<div class="lg-verdict {tone}" role="status"><b>{icon}{word}</b><span>{why}</span></div>',
        tone="good" if is_valid else "bad",
        icon=icons.draw("check" if is_valid else "cross"),
        word=examination.verdict.value,
        why=_tell_verdict(examination.steps, flipped),
    )


def _tell_verdict(steps: Sequence[InspectedStep], flipped: str) -> str:
    failed = next((place for place, step in enumerate(steps, 1) if step.state is StepState.FAILED), None)
    if failed is not None:
        cause = f"one bit was flipped in {flipped}" if flipped else steps[failed - 1].sentence
        return f"Step {failed} failed: {cause if cause.endswith('.') else f'{cause}.'}"
    held = sum(step.state is StepState.GOOD for step in steps)
    rest = [f"step {place}: {step.answer}" for place, step in enumerate(steps, 1) if step.state is not StepState.GOOD]
    return f"{_NUMBERS[held]} step{' holds' if held == 1 else 's hold'}{'; ' if rest else ''}{', '.join(rest).lower()}."


def draw_steps(steps: Sequence[InspectedStep], *, name: str = "steps") -> Markup:
    """Draw the steps in their order; the style sheet lights them up in turn. `name` sets their ids apart."""
    return html(
        '<ol class="lg-steps">{steps}</ol>',
        steps=join(_draw_step(place, step, name) for place, step in enumerate(steps, 1)),
    )


def _draw_step(place: int, step: InspectedStep, group: str) -> Markup:
    values = join(html("<dt>{name}</dt><dd>{value}</dd>", name=name, value=value) for name, value in step.values)
    return html(
        '<li class="lg-{state} lg-s{place}"><details id="lg-{group}-{name}"{opened}><summary data-key="{group}:{name}">'
        '<span class="lg-o">{icon}</span><span class="lg-k">{place}</span><span class="lg-q">{question}</span>'
        '<span class="lg-a">{answer}</span><span class="lg-ch"></span></summary>'
        '<p class="lg-why">{sentence}</p><dl class="lg-vals">{values}</dl></details></li>',
        group=group,
        state=step.state.value,
        place=place,
        name=step.name,
        opened=html(" open data-auto") if step.state is StepState.FAILED else NOTHING,
        icon=icons.draw(_GLYPHS[step.state]),
        question=step.question,
        answer=step.answer,
        sentence=step.sentence,
        values=values,
    )


def _draw_requests(evidence: EntryEvidence, state: LogState) -> Markup:
    """Draw what the person can add: a file for step 2, and the service's answer for step 8."""
    if evidence.flipped is not None:
        return NOTHING
    return html(
        '<div class="lg-actions"><label class="btn sm" data-drop="file">{icon}Compare a file (step 2)'
        '<input type="file" class="al-hidden" data-hash="file" aria-label="Choose a file to compare"></label>{clear}'
        '<form data-act="ask"><input type="hidden" name="id" value="{id}"><button class="btn sm" data-key="ask" '
        'title="It counts as one verification of the issuer">Ask the service (step 8)</button></form></div>',
        icon=icons.draw("document"),
        clear=button("Without the file", ev="file") if state.file else NOTHING,
        id=evidence.subject.attestation_id or "",
    )


def _draw_playground(evidence: EntryEvidence, state: LogState) -> Markup:
    return html(
        '<div class="lg-tamper" role="group" aria-label="Playground"><span class="small muted">Flip one bit of</span>'
        "{flips}{undo}</div>",
        flips=join(_draw_flip(flip, words, evidence, state) for flip, words in _FLIPS),
        undo=button("Undo", ev="flip") if evidence.flipped is not None else NOTHING,
    )


def _draw_flip(flip: Flip, words: str, evidence: EntryEvidence, state: LogState) -> Markup:
    why = evidence.obstacles.get(flip, "")
    return html(
        '<button type="button" class="chip" data-ev="flip" data-v="{flip}" data-key="flip:{flip}" '
        'aria-pressed="{on}"{off}>{words}</button>',
        flip=flip.value,
        on="true" if state.flip is flip and not why else "false",
        off=disable(why),
        words=words,
    )


def draw_limits(examination: Examination, trust: Trust | None) -> Markup:
    """Draw what was not checked, and which keys were trusted."""
    return html(
        '<p class="lg-limits"><b>Not checked:</b> {not_checked}. {trusted} Flips touch a copy, never the log.</p>',
        not_checked="; ".join(examination.not_checked),
        trusted=draw_trust(trust),
    )


def draw_trust(trust: Trust | None) -> Markup:
    """Draw which keys were trusted, and where they came from."""
    if trust is None:
        return NOTHING
    origin = " that you pinned" if trust.is_pinned else " that the service publishes (pin your own to trust it less)"
    witnesses = f", and the witnesses {', '.join(trust.witnesses)}" if trust.witnesses else ", and no witness"
    return html(
        "<b>Trusted:</b> the log key <code>{key}</code>{origin}{witnesses}.",
        key=trust.key_id,
        origin=origin,
        witnesses=witnesses,
    )


PANE: Final = Pane(
    key="steps",
    question="Is this attestation valid?",
    reading=tell_subject,
    span=5,
    load=load_evidence,
    draw=draw_evidence,
    reads=EVIDENCE,
    copy_python=copy_steps_python,
    export=export_steps,
    is_common=True,
)
