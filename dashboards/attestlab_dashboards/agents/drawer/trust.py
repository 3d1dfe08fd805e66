"""The part of the drawer about trust: an agent's score with each of its reasons, and the changes that led to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice, zip_longest
from typing import Final, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from attestlab import Lab
from attestlab.agents.rules import INITIAL_TRUST_SCORE, TrustCause
from attestlab.agents.trust.rules import DAMPING, MAX_PENALTY
from attestlab.agents.trust.shapes import TrustComponentOut, TrustPenaltyOut
from attestlab.client.handles.agent_trust import AgentTrustChangeHandle, AgentTrustHandle
from attestlab.client.handles.agents import AgentHandle
from attestlab_dashboards import icons
from attestlab_dashboards.agents.state import AgentsState
from attestlab_dashboards.agents.words import plural
from attestlab_dashboards.formats import count, percent, short_id, time_tag
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import share_bar

SHOWN_CHANGES: Final = 10
SHOWN_PENALTIES: Final = 5
_MIDDLING, _GOOD = 0.5, 0.8  # from these values on, a bar is amber, and green
_CAUSES: Final = {
    TrustCause.COMPLIANCE: "a compliance check",
    TrustCause.OUTCOMES: "outcomes that others reported",
    TrustCause.WITNESS: "votes about its claim",
    TrustCause.SIGNAL: "a risk signal about it",
    TrustCause.KEY: "a change of its key",
    TrustCause.DELEGATION: "its delegation",
    TrustCause.PARENT: "its parent's score",
    TrustCause.TIME: "time: evidence and signals age",
}


class TrustReasons(NamedTuple):
    """An agent's trust as it is now, and the newest changes, of which the last may only be there to compare with."""

    now: datetime
    agent: AgentHandle
    trust: AgentTrustHandle
    changes: tuple[AgentTrustChangeHandle, ...]


def load_reasons(lab: Lab, agent: AgentHandle, _state: AgentsState) -> TrustReasons:
    """Load the reasons of an agent's trust."""
    changes = tuple(islice(agent.trust_history(), SHOWN_CHANGES + 1))
    return TrustReasons(lab.now(), agent, agent.trust(), changes)


def draw_reasons(reasons: TrustReasons) -> Markup:
    """Draw the score, how it is computed, what it rests on, and how it changed."""
    return join(
        [_draw_score(reasons), _draw_components(reasons.trust), _draw_penalties(reasons), _draw_changes(reasons)]
    )


def _draw_score(reasons: TrustReasons) -> Markup:
    return html(
        '<div class="ag-score"><b>{score}</b><span>{level}<span class="sub">{how}</span></span></div>',
        score=f"{reasons.trust.score:.3f}",
        level=reasons.agent.trust_level,
        how=explain_score(reasons.trust),
    )


def explain_score(trust: AgentTrustHandle) -> str:
    """Explain how a score comes from its parts."""
    if not trust.evidence and not trust.penalties:
        return f"Without evidence or a signal, an agent has exactly {INITIAL_TRUST_SCORE:.3f}."
    steps = [_explain_evidence(trust.raw, trust.evidence)]
    if lost := min(MAX_PENALTY, sum(each.points for each in trust.penalties)):
        steps.append(f"Signals take {lost:.3f}.")
    if trust.cap is not None:
        steps.append(f"It has no more than its parent's {trust.cap:.3f}.")
    return " ".join(steps)


def _explain_evidence(raw: float, evidence: int) -> str:
    if not evidence:
        return (
            f"No outcome or decision moves it from {INITIAL_TRUST_SCORE:.3f} towards the mean of its parts, {raw:.3f}."
        )
    earned = INITIAL_TRUST_SCORE + (raw - INITIAL_TRUST_SCORE) * evidence / (evidence + DAMPING)
    facts = "1 outcome or decision moves" if evidence == 1 else f"{count(evidence)} outcomes and decisions move"
    return f"The mean of its parts is {raw:.3f}; {facts} it from {INITIAL_TRUST_SCORE:.3f} to {earned:.3f}."


def _draw_components(trust: AgentTrustHandle) -> Markup:
    items = join(_draw_component(each) for each in trust.components)
    return html('<h3>What it rests on</h3><ul class="ag-reasons">{items}</ul>', items=items)


def _draw_component(part: TrustComponentOut) -> Markup:
    return html(
        '<li><div class="ag-reason"><b>{name}</b>{bar}<span class="num">{value}</span></div><div>{sentence}</div>'
        '<div class="sub">{facts}</div></li>',
        name=part.name.capitalize(),
        bar=NOTHING if part.value is None else share_bar(part.value, _choose_tone(part.value)),
        value="no evidence" if part.value is None else f"{part.value:.3f}",
        sentence=part.explanation,
        facts=f"weight {percent(part.weight, 1)} · {plural(part.evidence, 'fact')} · adds {part.contribution:.3f}",
    )


def _choose_tone(value: float) -> str:
    return "green" if value >= _GOOD else "amber" if value >= _MIDDLING else "red"


def _draw_penalties(reasons: TrustReasons) -> Markup:
    penalties = reasons.trust.penalties
    if not penalties:
        return NOTHING
    more = len(penalties) - SHOWN_PENALTIES
    return html(
        '<h3>What signals take, half as much every 14 days</h3><ul class="ag-reasons">{items}{more}</ul>'
        '<a class="btn sm" href="risk?entity={entity}">Open its signals</a>',
        items=join(_draw_penalty(each) for each in penalties[:SHOWN_PENALTIES]),
        more=html('<li class="sub">and {more}</li>', more=plural(more, "smaller one")) if more > 0 else NOTHING,
        entity=quote(f"user:{reasons.agent.agent_id}", safe=""),
    )


def _draw_penalty(penalty: TrustPenaltyOut) -> Markup:
    return html(
        '<li><div class="ag-reason"><b class="bad">{points}</b><span class="sub">{age} old</span>{id}</div></li>',
        points=f"{penalty.points:.3f}",
        age=plural(round(penalty.age_days), "day"),
        id=short_id(str(penalty.signal_id)),
    )


def _draw_changes(reasons: TrustReasons) -> Markup:
    if not reasons.changes:
        return html('<h3>How it changed</h3><p class="sub">It has not changed yet.</p>')
    items = join(_draw_change(*pair, reasons.now) for pair in _list_steps(reasons.changes))
    return html('<h3>How it changed</h3><ol class="ag-changes">{items}</ol>', items=items)


def _list_steps(changes: Sequence[AgentTrustChangeHandle]) -> Iterator[tuple[AgentTrustChangeHandle, float]]:
    """List the shown changes, newest first, each with the score before it; the first evidence came after 0.5."""
    for change, before in list(zip_longest(changes, changes[1:]))[:SHOWN_CHANGES]:
        yield change, INITIAL_TRUST_SCORE if before is None else before.score


def _draw_change(change: AgentTrustChangeHandle, before: float, now: datetime) -> Markup:
    delta = round(change.score - before, 3)
    return html(
        '<li>{at}<span><b class="{tone}">{icon}{delta}</b> to <b>{score}</b> because of {cause}{reference}</span></li>',
        at=time_tag(change.at, now),
        tone="good" if delta > 0 else "bad" if delta < 0 else "muted",
        icon=icons.draw("up" if delta > 0 else "down" if delta < 0 else "minus"),
        delta=f"{abs(delta):.3f}",
        score=f"{change.score:.3f}",
        cause=_CAUSES.get(TrustCause(change.cause), change.cause),
        reference=html(" {id}", id=short_id(str(change.reference))) if change.reference else NOTHING,
    )
