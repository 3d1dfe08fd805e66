"""The answer: which day stands out, how many times the usual, and who is behind it."""

from __future__ import annotations

from markupsafe import Markup

from attestlab.risk.rules import EntityType
from attestlab_dashboards.formats import count, percent
from attestlab_dashboards.risk.queries.answer import RiskAnswer, Suspects
from attestlab_dashboards.risk.state import RiskState, write_entity_key
from attestlab_dashboards.risk.windows import write_bounds
from attestlab_dashboards.risk.words import KINDS, kind_of, label_of, write_span, write_step
from attestlab_dashboards.safe import NOTHING, html, join


def draw_answer(answer: RiskAnswer, state: RiskState) -> Markup:
    """Draw the answer as one sentence whose bold words open what they name."""
    shown = write_span(answer.period.start, answer.period.end)
    if not answer.escalated:
        return html("No signal was escalated in the time shown, <b>{shown}</b>.", shown=shown)
    if not answer.stands_out:
        return html(
            "Nothing stands out: at most <b>{escalated}</b> escalations {step} (usually {usual}), {when}.",
            escalated=count(answer.escalated),
            step=state.shown_window.step_words,
            usual=f"{answer.usual:g}",
            when=write_step(answer.start, answer.period),
        )
    return html("{peak} {behind}", peak=_draw_peak(answer), behind=_draw_suspects(answer))


def _draw_peak(answer: RiskAnswer) -> Markup:
    times = answer.escalated / answer.usual if answer.usual else 0
    return html(
        'Escalations reached <button type="button" class="rk-link" data-ev="span" data-v="{span}" '
        'data-key="answer-span" title="Show only this time"><b>{escalated} {when}</b></button>, {usual}.',
        span=write_bounds(answer.start, answer.start + answer.period.step),
        escalated=count(answer.escalated),
        when=_write_when(answer),
        usual=html("<b>{times}</b> times the usual {usual}", times=f"{times:.0f}", usual=f"{answer.usual:g}")
        if times
        else "where there are usually none",
    )


def _write_when(answer: RiskAnswer) -> str:
    step = write_step(answer.start, answer.period)
    return f"in {step}" if step.startswith("the week") else f"on {step}"


def _draw_suspects(answer: RiskAnswer) -> Markup:
    culprit = answer.culprit
    if culprit is None:
        return _draw_crowd(answer)
    others = [each for each in answer.suspects if each is not culprit and _is_place(each, culprit)]
    place = html(", all for {issuer}", issuer=_draw_names(others[0], answer)) if others else NOTHING
    return html(
        "<b>{share}</b> name {names}{place}.",
        share=percent(culprit.signals, answer.escalated),
        names=_draw_names(culprit, answer),
        place=place,
    )


def _is_place(suspects: Suspects, culprit: Suspects) -> bool:
    """Whether these are the one issuer that all those signals name as well."""
    is_issuer = suspects.entities[0].type is EntityType.ISSUER
    return is_issuer and suspects.different == 1 and suspects.signals >= culprit.signals


def _draw_crowd(answer: RiskAnswer) -> Markup:
    """Say that no few are behind it, with how many are."""
    crowds = [f"{count(each.different)} {KINDS[each.entities[0].type][1]}" for each in answer.suspects[:3]]
    if not crowds:
        return NOTHING
    listed = crowds[0] if len(crowds) == 1 else f"{', '.join(crowds[:-1])} and {crowds[-1]}"
    return html("No few are behind it: they name <b>{listed}</b>.", listed=listed)


def _draw_names(suspects: Suspects, answer: RiskAnswer) -> Markup:
    kind = suspects.entities[0].type
    links = (
        html(
            '<button type="button" class="rk-link" data-ev="entity" data-v="{key}" data-key="answer:{key}">'
            "<b>{label}</b></button>",
            key=write_entity_key(entity),
            label=label_of(entity, answer.names),
        )
        for entity in suspects.entities
    )
    noun = kind_of(kind).lower().replace("ip ", "IP ") if len(suspects.entities) == 1 else KINDS[kind][1]
    number = "" if len(suspects.entities) == 1 else f"{len(suspects.entities)} "
    return html("the {number}{noun} {names}", number=number, noun=noun, names=join(links, html(", ")))
