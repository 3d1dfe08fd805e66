"""Who: those behind the peak, then the entities of the period by escalated signals. A row opens the entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards.formats import count, time_tag
from attestlab_dashboards.risk.queries.answer import RiskAnswer, load_answer
from attestlab_dashboards.risk.queries.entities import RiskyEntities, RiskyEntity, load_entities
from attestlab_dashboards.risk.state import RiskState, write_entity_key
from attestlab_dashboards.risk.words import draw_entity, draw_state, kind_of, name_of, write_step
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import Column, button, empty, pager, share_bar, table

FACTOR_HUES: Final = ("c0", "c1", "c2", "c3", "c4")
_COLUMNS: Final = (
    Column("Entity"),
    Column("Score", "right", sort="score"),
    Column("Mainly because of", phone=False),
    Column("Signals", "right", phone=False, sort="signals"),
    Column("Escalated", "right", phone=False, sort="escalated"),
    Column("Last seen", "right", phone=False, sort="seen"),
    Column("State", phone=False),
)


@dataclass(frozen=True)
class Who:
    """A page of the entities that signals are about, and the answer, whose entities signals may only name."""

    found: RiskyEntities
    answer: RiskAnswer


def load_who(lab: Lab, state: RiskState) -> Who:
    """Load both; the answer is shared with the sentence at the top of the page."""
    return Who(load_entities(lab, state), load_answer(lab, state))


def draw_who(who: Who, state: RiskState) -> Markup:
    """Draw those behind the peak, and a page of entities."""
    found = who.found
    if not found.entities:
        reset = button("Reset all filters", ev="clear", v="all") if state.active_filters else html("")
        return empty("No entity matches", "No signal of this time passes the filters.", reset)
    return join(
        [
            _draw_culprits(who.answer),
            table(
                _COLUMNS,
                [_draw_row(each, found) for each in found.entities],
                caption="Entities by score",
                keys=[write_entity_key(each.entity) for each in found.entities],
                row_ev="entity",
                sorted_by=state.sort,
            ),
            pager(min(state.page, found.pages), found.pages, ev="page"),
        ]
    )


def read_who(who: Who, state: RiskState) -> str:
    """Write the second line of the card."""
    order = {"score": "highest score", "signals": "most signals", "escalated": "most escalations", "seen": "last seen"}
    words = order[state.sort.lstrip("-")]
    return f"{count(who.found.count)} entities by {words}" + ("" if state.sort.startswith("-") else ", reversed")


def _draw_culprits(answer: RiskAnswer) -> Markup:
    """Draw whom the escalations of the peak name: often a device or an address that no signal is about."""
    culprit = answer.culprit
    if culprit is None:
        return NOTHING
    entities = join(
        html(
            '<button type="button" class="rk-link" data-ev="entity" data-v="{key}" data-key="who:{key}">'
            "{entity}</button>",
            key=write_entity_key(each),
            entity=draw_entity(each, answer.names),
        )
        for each in culprit.entities
    )
    return html(
        '<p class="rk-culprits"><span class="muted">Behind {when}</span>{entities}'
        '<span class="muted">{kind}, named by {signals} of {escalated} escalated signals</span></p>',
        when=write_step(answer.start, answer.period),
        entities=entities,
        kind=kind_of(culprit.entities[0].type),
        signals=count(culprit.signals),
        escalated=count(answer.escalated),
    )


def _draw_row(each: RiskyEntity, found: RiskyEntities) -> list[Markup]:
    tone = "red" if each.score >= found.threshold else "amber" if each.score >= found.threshold - 20 else "c4"
    return [
        draw_entity(each.entity, found.names),
        html(
            '<span class="rk-score"><b>{score}</b>{bar}</span>',
            score=f"{each.score:.0f}",
            bar=share_bar(each.score / 100, tone),
        ),
        _draw_factors(each),
        html("{n}", n=count(each.signals)),
        html("{n}", n=count(each.escalated)),
        time_tag(each.last_seen, found.now),
        draw_state(each.state),
    ]


def _draw_factors(each: RiskyEntity) -> Markup:
    """Draw the parts of the score as a bar, with the name of the largest."""
    if not each.factors:
        return html('<span class="muted small">score of its source</span>')
    main = max(each.factors, key=lambda factor: factor.points)
    parts = (
        html('<i class="f-{hue}" style="width:{width}%"></i>', hue=hue, width=f"{max(0.0, factor.points):.1f}")
        for hue, factor in zip(FACTOR_HUES * 4, each.factors, strict=False)
    )
    title = ", ".join(f"{name_of(factor.name)} {factor.points:+.0f}" for factor in each.factors)
    return html(
        '<span class="rk-factors" title="{title}"><span class="bar">{parts}</span>'
        '<span class="small">{name} {points}</span></span>',
        title=title,
        parts=join(parts),
        name=name_of(main.name),
        points=f"{main.points:+.0f}",
    )
