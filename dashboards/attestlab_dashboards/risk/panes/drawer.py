"""The drawer of an entity: why it scores what it scores, what happened, and what one can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import accumulate
from typing import Final

from markupsafe import Markup

from attestlab.client.handles.risk import CaseHandle
from attestlab_dashboards import axes, icons
from attestlab_dashboards.formats import count, plural, short_id, time_tag, utc
from attestlab_dashboards.hues import hue_of
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.people import name_writer
from attestlab_dashboards.risk import forms
from attestlab_dashboards.risk.panes.who import ScoreFactor
from attestlab_dashboards.risk.profile import SHOWN_CASES, EntityEvent, EntityProfile, load_profile
from attestlab_dashboards.risk.state import RiskState, write_entity_key
from attestlab_dashboards.risk.windows import to_us
from attestlab_dashboards.risk.words import draw_entity, draw_state, kind_of, name_of
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import button, pill

_TICKS: Final = (0, 50, 100)


def draw_drawer(profile: EntityProfile | None, state: RiskState) -> Markup:
    """Draw the drawer; nothing if it is closed."""
    if profile is None:
        return NOTHING
    chosen = next((event for event in profile.history if event.id == state.signal), profile.worst)
    parts = [_draw_head(profile), _draw_line(profile), _draw_why(profile, chosen), _draw_history(profile, chosen)]
    return html(
        '<aside class="al-drawer rk-drawer" role="dialog" aria-label="{kind} {name}" tabindex="-1">{parts}</aside>',
        kind=kind_of(profile.entity.type),
        name=profile.name,
        parts=join([*parts, _draw_cases(profile), forms.draw_forms(profile, chosen)]),
    )


def _draw_head(profile: EntityProfile) -> Markup:
    key = write_entity_key(profile.entity)
    return html(
        '<div class="rk-drawer-head"><h2>{name}</h2>{states}<span class="rk-gap"></span>'
        '<button type="button" class="btn sm" data-copy="{id}" aria-label="Copy the id">{copy}</button>'
        '<button type="button" class="btn sm" data-ev="close" data-focus aria-label="Close">{cross}</button></div>'
        '<p class="sub">{kind}{seen}</p><div class="chips">{buttons}</div>',
        name=draw_entity(profile.entity, profile.names),
        states=join(_list_states(profile)),
        id=profile.entity.id,
        copy=icons.draw("copy"),
        cross=icons.draw("cross"),
        kind=kind_of(profile.entity.type),
        seen=_draw_seen(profile),
        buttons=join(
            [button("Everything of this entity", ev="about", v=key), button("Show its graph", ev="graph", v=key)]
        ),
    )


def _list_states(profile: EntityProfile) -> Iterator[Markup]:
    if profile.cases:
        yield draw_state(profile.cases[0].outcome or profile.cases[0].status)
    if any(each.challenge_required for each in profile.challenges):
        yield draw_state("challenged")
    for entry in profile.lists:
        is_deny = entry.list == "deny"
        yield pill(f"on the {entry.list} list", "bad" if is_deny else "good", "cross" if is_deny else "check")


def _draw_seen(profile: EntityProfile) -> Markup:
    if profile.first_seen is None or profile.last_seen is None:
        return html(". No signal is about it or names it.")
    return html(
        ", first seen {first}. {signals} {verb} it, {escalated} of them escalated; the last one {last}.",
        first=utc(profile.first_seen),
        signals=plural(profile.signals, "signal"),
        verb=_choose_verb(profile),
        escalated=count(profile.escalated),
        last=time_tag(profile.last_seen, profile.now),
    )


def _choose_verb(profile: EntityProfile) -> str:
    is_one = profile.signals == 1
    if profile.is_named_only:
        return "names" if is_one else "name"
    return "is about or names" if is_one else "are about or name"


def _draw_line(profile: EntityProfile) -> Markup:
    """Draw the highest score of each step of the entity's time, with the threshold."""
    if not profile.points:
        return NOTHING
    low, high = to_us(profile.points[0].at), to_us(profile.points[-1].at)
    places = [(_place(point.at, low, high), point.score) for point in profile.points]
    stems = join(
        html(
            '<g class="rk-stem{css}" data-tip="{tip}"><path d="{line}"/><rect class="al-hit" x="{x}" y="0" width="16" '
            'height="100"/></g>',
            css=" rk-high" if score >= profile.threshold else "",
            tip=f"{utc(point.at)}: highest score {score:g}",
            line=axes.write_path([(x, 0), (x, score)]),
            x=f"{x - 8:.2f}",
        )
        for (x, score), point in zip(places, profile.points, strict=True)
    )
    plot = html(
        '<svg class="al-plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="img" aria-label="{summary}">'
        '{grid}{stems}<path class="rk-threshold" d="M0 {y}H1000"/></svg>',
        summary=f"Highest scores over time, up to {max(score for _, score in places):g}; the threshold is "
        f"{profile.threshold:g}",
        grid=axes.draw_grid(_TICKS),
        stems=stems,
        y=f"{100 - profile.threshold:.2f}",
    )
    first, last = profile.points[0].at, profile.points[-1].at
    if first < last:
        plot = axes.draw_timed(plot, first, last, inset=_INSET)
    return html(
        '<h3>Score over time</h3>{lane}<div class="rk-ends"><span>{first}</span><span>{last}</span></div>{notes}'
        '<p class="al-tip small muted" data-tip-line>Dashed: {threshold}, the score that escalates.</p>',
        lane=axes.draw_lane(axes.draw_scale(_TICKS), plot, "s"),
        first=utc(first),
        last=utc(last),
        notes=axes.draw_notes_place(first, last) if first < last else NOTHING,
        threshold=f"{profile.threshold:g}",
    )


_INSET: Final = "0 1%"  # of `_place`


def _place(at: datetime, low: int, high: int) -> float:
    return 10 + 980 * (to_us(at) - low) / (high - low) if high > low else 500.0


def _draw_why(profile: EntityProfile, chosen: EntityEvent | None) -> Markup:
    """Draw the factors of a score as bars that start where the last ended, and their sum."""
    if chosen is None:
        return NOTHING
    factors = chosen.factors or [ScoreFactor("score", chosen.score, f"{name_of(chosen.source)} sent the score alone.")]
    starts = accumulate((factor.points for factor in factors), initial=0.0)
    rows = (_draw_factor(factor, start) for factor, start in zip(factors, starts, strict=False))
    tone = "red" if chosen.score >= profile.threshold else "amber"
    return html(
        '<h3>Why {score}<span>{source}, {at}</span></h3><div class="rk-why">{rows}'
        '<div class="rk-why-row rk-sum"><span>Score</span><span class="bar"><i class="f-{tone}" style="width:{width}%">'
        "</i></span><b>{score}</b></div></div>",
        score=f"{chosen.score:.4g}",
        source=name_of(chosen.source),
        at=utc(chosen.at),
        rows=join(rows),
        tone=tone,
        width=f"{chosen.score:.1f}",
    )


def _draw_factor(factor: ScoreFactor, start: float) -> Markup:
    low, width = min(start, start + factor.points), abs(factor.points)
    return html(
        '<div class="rk-why-row"><span title="{name}">{words}</span><span class="bar"><i class="rk-space" '
        'style="width:{low}%"></i><i class="f-{hue}" style="width:{width}%"></i></span><b>{points}</b></div>',
        name=name_of(factor.name),
        words=factor.explanation or name_of(factor.name),
        low=f"{max(0.0, low):.1f}",
        hue=hue_of(factor.name),
        width=f"{width:.1f}",
        points=f"{factor.points:+.1f}",
    )


def _draw_history(profile: EntityProfile, chosen: EntityEvent | None) -> Markup:
    if not profile.history:
        return NOTHING
    rows = join(_draw_event(event, profile, is_chosen=event == chosen) for event in profile.history)
    note = (
        f"newest {len(profile.history)} of {count(profile.signals)}" if profile.signals > len(profile.history) else ""
    )
    return html('<h3>History<span>{note}</span></h3><div class="rk-history">{rows}</div>', note=note, rows=rows)


def _draw_event(event: EntityEvent, profile: EntityProfile, *, is_chosen: bool) -> Markup:
    other = (
        html(" of {entity}", entity=draw_entity(event.entity, profile.names)) if event.entity != profile.entity else ""
    )
    return html(
        '<div class="rk-event"><time datetime="{iso}">{at}</time><div><button type="button" class="rk-link" '
        'data-ev="signal" data-v="{id}" data-key="signal:{id}" aria-pressed="{chosen}">{source}: {type}</button>, '
        'score <b>{score}</b>{other}{mark}<details id="raw-{id}"><summary>Raw JSON</summary>'
        '<pre class="mono" tabindex="0">{raw}</pre>'
        '<button type="button" class="btn sm" data-copy="{raw}">Copy</button></details></div></div>',
        iso=event.at.isoformat(),
        at=utc(event.at),
        id=event.id,
        chosen="true" if is_chosen else "false",
        source=name_of(event.source),
        type=name_of(event.type).lower() if event.type != "ato" else "account takeover",
        score=f"{event.score:.4g}",
        other=other,
        mark=html(" {pill}", pill=pill("escalated", "bad", "up")) if event.case_id else NOTHING,
        raw=event.raw,
    )


def _draw_cases(profile: EntityProfile) -> Markup:
    if not profile.cases:
        return NOTHING
    shown = profile.cases[:SHOWN_CASES]
    note = f"newest {len(shown)}" if len(profile.cases) > len(shown) else ""
    cases = join(_draw_case(case, profile) for case in shown)
    return html("<h3>Cases<span>{note}</span></h3>{cases}", note=note, cases=cases)


def _draw_case(case: CaseHandle, profile: EntityProfile) -> Markup:
    return html(
        '<div class="rk-case">{id} {state} <span class="small muted">{signals}, highest score {score}, opened '
        "{opened}</span>{note}{comments}{form}</div>",
        id=short_id(str(case.id)),
        state=draw_state(case.outcome or case.status),
        signals=plural(case.signal_count, "signal"),
        score=f"{case.max_score:.4g}",
        opened=time_tag(case.opened_at, profile.now),
        note=html('<p class="small">{note}</p>', note=case.note) if case.note else NOTHING,
        comments=_draw_comments(case, profile),
        form=forms.draw_resolution(case) if case.status == "open" and profile.may_act else NOTHING,
    )


def _draw_comments(case: CaseHandle, profile: EntityProfile) -> Markup:
    """Draw what people wrote about a case, the oldest first, and the form for the next comment."""
    written = join(
        html(
            '<li><b>{name}</b> <span class="small muted">{at}</span><p>{text}</p></li>',
            name=name_writer(each.created_by, profile.people, profile.own_ids),
            at=time_tag(each.created_at, profile.now),
            text=each.text,
        )
        for each in case.comments
    )
    shown = (
        html('<ol class="rk-comments" aria-label="Comments">{written}</ol>', written=written) if written else NOTHING
    )
    return html("{shown}{form}", shown=shown, form=forms.draw_comment(case) if profile.may_act else NOTHING)


PANE: Final = Pane(
    key="drawer",
    load=load_profile,
    draw=draw_drawer,
    reads=("entity",),
)
