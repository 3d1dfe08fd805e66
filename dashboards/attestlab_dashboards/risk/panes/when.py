"""When: volume by source, escalations and the density of scores on one time axis. A drag selects time and scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, chain
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards import axes, formats
from attestlab_dashboards.axes import draw_marks
from attestlab_dashboards.formats import day
from attestlab_dashboards.hues import hue_of
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.ranges import write_span
from attestlab_dashboards.risk.density import encode_density
from attestlab_dashboards.risk.overview import READS, RiskOverview, copy_overview_sql, export_signals, load_overview
from attestlab_dashboards.risk.panes.answer import RiskAnswer, load_answer
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import Period, to_us, write_bounds
from attestlab_dashboards.risk.words import name_of, write_step
from attestlab_dashboards.safe import NOTHING, html, join
from attestlab_dashboards.widgets import button, chip, empty, hint

_TIME_TICKS: Final = 5


def draw_time_axis(period: Period) -> Markup:
    """Draw the words of the window's time axis."""
    steps = period.steps
    each = max(1, round(len(steps) / _TIME_TICKS))
    is_short = period.step < timedelta(hours=6)
    return draw_marks(
        ((place + 0.5) / len(steps), f"{start:%H:%M}" if is_short else day(start, period.window_end))
        for place, start in ((place, period.time_of(steps[place])) for place in range(each // 2, len(steps), each))
    )


@dataclass(frozen=True)
class RiskTimeline:
    """The figures of a window, and the step that stands out."""

    overview: RiskOverview
    answer: RiskAnswer


def load_timeline(lab: Lab, state: RiskState) -> RiskTimeline:
    """Load it. Both are shared with other panes."""
    return RiskTimeline(load_overview(lab, state), load_answer(lab, state))


_BAR_SHARE: Final = 0.8  # of a step's width


_HINT: Final = hint(
    "Hover or Tab to a column for its numbers. Drag over the columns to select a time, over the scores to select both; "
    "a double click selects all. On a column, Enter selects it, and Shift+Enter all up to it.",
    "Tap a column for its numbers. Drag a finger over the columns to select a time.",
)


def draw_when(timeline: RiskTimeline, state: RiskState) -> Markup:
    """Draw the three lanes, and what is selected in them."""
    overview = timeline.overview
    if not overview.series and not overview.density:
        return draw_no_signals(overview, state)
    lanes = [_draw_volume(overview, state), _draw_escalated(timeline, state), _draw_density(timeline, state)]
    return html(
        '<div class="rk-when">{legend}{lanes}{axis}</div><div class="rk-when-foot">'
        '<p class="al-tip small muted" data-tip-line>{hint}</p>{notes}</div>{selected}',
        legend=_draw_legend(overview, state),
        lanes=join(lanes),
        axis=draw_time_axis(overview.period),
        notes=axes.draw_notes_place(overview.period.window_start, overview.period.window_end),
        hint=_HINT,
        selected=_draw_selection(overview, state),
    )


def draw_no_signals(overview: RiskOverview, state: RiskState) -> Markup:
    """Say why nothing is found, and offer the way back."""
    if overview.newest is None:
        return empty("No signal yet", "This tenant has recorded no risk signal. Send the first one to the API.")
    if not state.active_filters:
        return empty(
            "No signal in this window", "Choose a longer window.", button("Show a year", ev="window", v="365d")
        )
    dropped = [button(f"Drop the {name} filter", ev="clear", v=name) for name in state.active_filters[:2]]
    span = write_span(overview.period.start, overview.period.end)
    return empty(
        "No signal matches",
        f"The filters ({', '.join(state.active_filters)}) never happened together: {span}.",
        join([*dropped, button("Reset all", ev="clear", v="all")]),
    )


def _draw_legend(overview: RiskOverview, state: RiskState) -> Markup:
    items: Iterable[Markup] = (
        html(
            '<span class="rk-key"><i class="rk-dot f-{hue}"></i>{name}</span>',
            hue=hue_of(name),
            name=name_of(name) if name else "All others",
        )
        for name in overview.series
    )
    if overview.compared is not None:
        period = overview.compared.period
        ghost = html(
            '<span class="rk-key"><i class="rk-ghost-key"></i>{span}</span>', span=write_span(period.start, period.end)
        )
        items = chain(items, [ghost])
    choices = [chip(f"By {word}", ev="by", v=word, pressed=state.by == word) for word in ("source", "type")]
    return html(
        '<div class="rk-legend"><span class="rk-keys">{items}</span><span class="chips">{choices}</span></div>',
        items=join(items),
        choices=join(choices),
    )


def _draw_volume(overview: RiskOverview, state: RiskState) -> Markup:
    totals = [sum(counts) for counts in zip(*overview.series.values(), strict=True)] or [0]
    compared = [each.signals for each in overview.compared_steps]
    ticks = axes.choose_ticks(max(*totals, *compared, 0))
    bars = join(_draw_column(overview, place, ticks[-1]) for place in range(len(overview.period.steps)))
    most = max(range(len(totals)), key=totals.__getitem__)
    summary = (
        f"{formats.plural(sum(totals), 'signal')}; most, {formats.count(totals[most])}, "
        f"{write_step(overview.period.time_of(overview.period.steps[most]), overview.period)}"
    )
    drawn = join([axes.draw_grid(ticks), bars, _draw_ghost(compared, ticks[-1])])
    plot = _draw_plot(overview.period, drawn, summary, brush="brush_time", role="group")
    return axes.draw_lane(axes.draw_scale(ticks), plot, "l")


def _draw_ghost(values: Sequence[int], top: float) -> Markup:
    """Draw the compared time as a pale line through the middles of the columns."""
    if not values:
        return NOTHING
    width = axes.WIDTH / len(values)
    line = axes.write_path(((place + 0.5) * width, axes.HEIGHT * value / top) for place, value in enumerate(values))
    return html('<path class="rk-ghost" d="{line}"/>', line=line)


def _draw_column(overview: RiskOverview, place: int, top: float) -> Markup:
    counts = [values[place] for values in overview.series.values()]
    x, width = _place_bar(place, len(overview.period.steps))
    start, tip = overview.period.time_of(overview.period.steps[place]), _write_tip(overview, place)
    floors = accumulate([0, *counts])
    bars = (
        axes.draw_rect(x, 100 * floor / top, width, 100 * count / top, f"f-{hue_of(name)}")
        for name, count, floor in zip(overview.series, counts, floors, strict=False)
        if count
    )
    return html(
        '<g class="rk-column{css}" role="button" tabindex="0" aria-label="{tip}" data-tip="{tip}" data-span="{span}" '
        'data-key="column-{place}">{hit}{bars}</g>',
        css=_column_class(overview, place),
        tip=tip,
        span=write_bounds(start, start + overview.period.step),
        place=place,
        hit=_draw_hit(place, len(overview.period.steps)),
        bars=join(bars),
    )


def _write_tip(overview: RiskOverview, place: int) -> str:
    step = overview.steps[place]
    parts = ", ".join(
        f"{name_of(name) if name else 'others'} {formats.count(values[place])}"
        for name, values in overview.series.items()
        if values[place]
    )
    start = overview.period.time_of(overview.period.steps[place])
    numbers = f"{formats.plural(step.signals, 'signal')}, {formats.count(step.escalated)} escalated"
    named = f" ({parts})" if parts else ""
    return f"{write_step(start, overview.period)}: {numbers}{named}{_write_other(overview, place)}"


def _write_other(overview: RiskOverview, place: int) -> str:
    """Write the numbers of the compared time beside a column."""
    if overview.compared is None:
        return ""
    other = overview.compared_steps[place]
    return f"; compared: {formats.plural(other.signals, 'signal')}, {formats.count(other.escalated)} escalated"


def _column_class(overview: RiskOverview, place: int) -> str:
    """Return the class of a column: outside of the selection, or not complete yet."""
    period = overview.period
    start = period.time_of(period.steps[place])
    if start + period.step <= period.start or start >= period.end:
        return " rk-dim"
    newest = overview.newest
    return " rk-pale" if newest is not None and start <= newest < start + period.step else ""


def _draw_escalated(timeline: RiskTimeline, state: RiskState) -> Markup:
    overview, period = timeline.overview, timeline.overview.period
    counts = [step.escalated for step in overview.steps]
    compared = [each.escalated for each in overview.compared_steps]
    ticks = axes.choose_ticks(max(*counts, *compared, 0), 2)
    bars = join(
        html(
            '<g class="rk-column{css}" data-tip="{tip}">{hit}{bar}</g>',
            css=_column_class(overview, place),
            tip=_write_tip(overview, place),
            hit=_draw_hit(place, len(counts)),
            bar=axes.draw_rect(*_bar_box(place, len(counts), 100 * count / ticks[-1]), "f-red"),
        )
        for place, count in enumerate(counts)
    )
    summary = f"{formats.count(sum(counts))} escalated; at most {formats.count(max(counts, default=0))}"
    drawn = join([axes.draw_grid(ticks), bars, _draw_ghost(compared, ticks[-1])])
    plot = _draw_plot(period, drawn, summary, brush="brush_time")
    lane = axes.draw_lane(
        axes.draw_scale(ticks), html("<div>{plot}{note}</div>", plot=plot, note=_draw_note(timeline)), "s"
    )
    return html(
        '<h3 class="al-lane-title">Escalated {words}</h3>{lane}', words=state.shown_window.step_words, lane=lane
    )


def _draw_note(timeline: RiskTimeline) -> Markup:
    """Draw the words next to the column that stands out, on the side where there is room."""
    answer, period = timeline.answer, timeline.overview.period
    if not answer.stands_out or not period.window_start <= answer.start < period.window_end:
        return NOTHING
    place = (to_us(answer.start) // to_us(period.step) - period.steps[0]) / len(period.steps)
    side, at = ("right", 1 - place) if place > 0.5 else ("left", place + 1 / len(period.steps))
    return html(
        '<span class="rk-note" style="{side}:{at}%">{escalated}, usually {usual}</span>',
        side=side,
        at=f"{100 * at + 0.5:.2f}",
        escalated=formats.count(answer.escalated),
        usual=f"{answer.usual:g}",
    )


def _draw_density(timeline: RiskTimeline, state: RiskState) -> Markup:
    overview = timeline.overview
    threshold = overview.threshold
    image = html(
        '<image class="rk-density" href="data:image/png;base64,{png}" x="0" y="0" width="1000" height="100" '
        'preserveAspectRatio="none"/><path class="rk-threshold" d="M0 {y}H1000"/>',
        png=encode_density(overview.density, threshold),
        y=f"{100 - threshold:.2f}",
    )
    total = sum(cell.signals for cell in overview.density)
    summary = f"Scores of {formats.plural(total, 'signal')} over time; from {threshold:g} on they are escalated"
    drawn = join([image, _draw_selected_box(overview.period, state)])
    plot = _draw_plot(overview.period, drawn, summary, brush="brush")
    return html(
        '<h3 class="al-lane-title">Score of each signal<span>red: {threshold} and above, the score that escalates'
        "</span></h3>{lane}",
        threshold=f"{threshold:g}",
        lane=axes.draw_lane(axes.draw_scale([0, 25, 50, 75, 100]), plot, "m"),
    )


def _draw_selected_box(period: Period, state: RiskState) -> Markup:
    if not {"time", "score"} & set(state.active_filters):
        return NOTHING
    span = to_us(period.window_end) - to_us(period.window_start)
    start, end = (
        min(1_000.0, max(0.0, 1_000 * (to_us(at) - to_us(period.window_start)) / span))
        for at in (state.since or period.window_start, state.until or period.window_end)
    )
    return axes.draw_rect(start, state.min_score, end - start, state.max_score - state.min_score, "rk-selected")


def _draw_plot(period: Period, drawn: Markup, summary: str, *, brush: str, role: str = "img") -> Markup:
    plot = html(
        '<svg class="al-plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="{role}" aria-label="{summary}" '
        'data-brush="{brush}" data-x0="{first}" data-x1="{last}" data-y0="0" data-y1="100">'
        '<rect data-plot class="al-hit" x="0" y="0" width="1000" height="100"/>{drawn}</svg>',
        role=role,
        summary=summary,
        brush=brush,
        first=period.window_start.isoformat(),
        last=period.window_end.isoformat(),
        drawn=drawn,
    )
    return axes.draw_timed(plot, period.window_start, period.window_end, has_flags=role == "group")


def _draw_selection(overview: RiskOverview, state: RiskState) -> Markup:
    chips = []
    if state.since and state.until:
        chips.append(chip(write_span(state.since, state.until), ev="clear", v="time", pressed=True, removable=True))
    if "score" in state.active_filters:
        words = f"Score {state.min_score} to {state.max_score}"
        chips.append(chip(words, ev="clear", v="score", pressed=True, removable=True))
    if not chips:
        return NOTHING
    return html(
        '<div class="chips rk-selection">{chips}<span class="small"><b>{signals}</b> selected, '
        "<b>{entities}</b></span></div>",
        chips=join(chips),
        signals=formats.plural(overview.now.signals, "signal"),
        entities=formats.plural(overview.now.entities, "entity", "entities"),
    )


def _place_bar(place: int, steps: int) -> tuple[float, float]:
    width = 1_000 / steps
    return (place + (1 - _BAR_SHARE) / 2) * width, _BAR_SHARE * width


def _draw_hit(place: int, steps: int) -> Markup:
    """Draw the invisible area of a column, which the pointer finds."""
    return axes.draw_rect(axes.WIDTH * place / steps, 0, axes.WIDTH / steps, axes.HEIGHT, "al-hit")


def _bar_box(place: int, steps: int, height: float) -> tuple[float, float, float, float]:
    x, width = _place_bar(place, steps)
    return x, 0, width, height


PANE: Final = Pane(
    key="when",
    question="When",
    reading=lambda _data, state: f"Signals {state.shown_window.step_words} by {state.by}, up to the newest one",
    span=8,
    load=load_timeline,
    draw=draw_when,
    reads=READS,
    copy_sql=copy_overview_sql,
    export=export_signals,
    is_common=True,
)
