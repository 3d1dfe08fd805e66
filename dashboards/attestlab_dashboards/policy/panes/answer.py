"""The answer in one sentence."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup

from attestlab.client.handles.policies import SimulationHandle
from attestlab_dashboards.formats import count, percent
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, DraftReplay, PolicyText, load_replay
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.words import NOUNS, describe_segment, name_decisions
from attestlab_dashboards.safe import NOTHING, html, join


def draw_answer(data: DraftReplay, _state: PolicyState) -> Markup:
    """Answer the question of the page in a sentence."""
    about, report = data.about, data.report
    if report is None:
        first = data.problems[0]
        return html(
            "Nothing was replayed: <b>line {line}</b> has an error. {message}", line=first.line, message=first.message
        )
    if not report.decided:
        return html(
            "No {noun} was decided in this window, so there is nothing to replay.", noun=NOUNS[about.category][0]
        )
    changed = report.newly_allowed + report.newly_denied
    if not changed:
        return _draw_unchanged(about, report)
    parts = [
        _draw_flips(report, "DENY", "would be allowed", about),
        _draw_flips(report, "ALLOW", "would be denied", about),
    ]
    return html(
        "{name} would have changed <b>{changed} of {all}</b> ({share}): {parts}.",
        name=about.name,
        changed=count(changed),
        all=name_decisions(about, report.decided),
        share=percent(changed, report.decided),
        parts=join([part for part in parts if part], html("; ")),
    )


def _draw_unchanged(about: PolicyText, report: SimulationHandle) -> Markup:
    decisions = name_decisions(about, report.decided)
    if about.is_draft:
        return html("{name} would have changed <b>none of {all}</b>.", name=about.name, all=decisions)
    return html(
        "{name} would have decided <b>all {all}</b> as they were decided. "
        "Change a rule to see what it would have done.",
        name=about.name,
        all=decisions,
    )


def _draw_flips(report: SimulationHandle, before: str, words: str, about: PolicyText) -> Markup:
    """Draw how many decisions flip one way, and the segment with most of them; nothing if none does."""
    number = report.newly_allowed if before == "DENY" else report.newly_denied
    if not number:
        return NOTHING
    flips = [each for each in report.flips if each.from_ == before and each.segments]
    largest = max(flips, key=lambda each: each.count, default=None)
    where = NOTHING
    if largest is not None:
        segment = describe_segment(largest.segments)
        most = "all" if largest.count == number else f"{count(largest.count)} of them"
        where = html(", {most} for {segment}", most=most, segment=segment)
    old = "denied" if before == "DENY" else "allowed"
    return html(
        "<b>{number} {old} {noun} {words}</b>{where}",
        number=count(number),
        old=old,
        noun=NOUNS[about.category][number != 1],
        words=words,
        where=where,
    )


PANE: Final = Pane(
    key="answer",
    load=load_replay,
    draw=draw_answer,
    reads=REPLAY_FIELDS,
)
