"""Every value of a threshold: its curve."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.simulation.shapes import SweptOut
from attestlab_dashboards.formats import percent
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.documents import RuleThreshold, describe_number, list_thresholds
from attestlab_dashboards.policy.queries import REPLAY_FIELDS, Sweep, describe_work, load_sweep
from attestlab_dashboards.policy.state import PolicyState
from attestlab_dashboards.policy.sweeps import (
    BOTTOM,
    LEFT,
    RIGHT,
    TOP,
    describe_row,
    draw_if_no_sweep,
    draw_threshold_choice,
    export_values,
    find_current,
    write_sweep,
)
from attestlab_dashboards.safe import NOTHING, html, join


def load_curve(lab: Lab, state: PolicyState) -> Sweep:
    """Simulate every value of the chosen threshold."""
    return load_sweep(lab, state, 1)


def describe_curve(data: Sweep, _state: PolicyState) -> str:
    """Describe what the curve shows."""
    return f"Share of decisions, %, for every value of {data.chosen[0].attribute}" if data.chosen else ""


def export_sweep(lab: Lab, state: PolicyState) -> Records[SweptOut]:
    """Export the results for every value of the threshold.

    Raises:
        NotFound: the draft has no threshold.
    """
    return export_values(lab, state, 1)


def copy_sweep(state: PolicyState) -> str:
    """Write the sweep of the chosen threshold; without one, of the first that the document has."""
    return write_sweep(state, (state.sweep,))


_WIDTH, _HEIGHT = 620, 260  # units of the viewBox of the curve
_TICKS: Final = 5


def draw_curve(data: Sweep, state: PolicyState) -> Markup:
    """Draw the share that is denied, newly allowed and newly denied for every value of the threshold."""
    missing = draw_if_no_sweep(data, 1)
    if missing is not None or data.values is None:
        return missing or NOTHING
    chosen = data.chosen[0]
    rows = sorted(data.values, key=lambda row: row.values[0])
    return html(
        '{choice}{chart}<p class="sub" data-tip-line>{line}</p>',
        choice=draw_threshold_choice("Threshold", "sweep", data.choices, chosen),
        chart=_draw_curve(rows, chosen, _find_active(data, chosen)),
        line=describe_row(find_current(rows)) if rows else "",
    )


def _find_active(data: Sweep, chosen: RuleThreshold) -> float | None:
    """Return the value that the active version compares with at the same place, if it is another one."""
    same = [each for each in list_thresholds(data.replay.about.active) if each.key == chosen.key]
    return same[0].value if same and same[0].value != chosen.value else None


def _draw_curve(rows: Sequence[SweptOut], chosen: RuleThreshold, active: float | None) -> Markup:
    total = max(1, rows[0].allowed + rows[0].denied)
    marked = [*(row.values[0] for row in rows), *([] if active is None else [active])]
    x = _scale(min(marked), max(marked), LEFT, _WIDTH - RIGHT)
    top = max(10.0, *(100 * max(row.denied, row.opened, row.closed) / total for row in rows))
    y = _scale(0, top, _HEIGHT - BOTTOM, TOP)
    shares = {name: [100 * getattr(row, name) / total for row in rows] for name in ("denied", "opened", "closed")}
    xs = [x(row.values[0]) for row in rows]
    lines = [
        _draw_area(xs, [y(each) for each in shares["denied"]], y(0)),
        _draw_line(xs, [y(v) for v in shares["denied"]], "c4"),
    ]
    lines += [
        _draw_line(xs, [y(v) for v in shares[name]], tone)
        for name, tone in (("closed", "c0"), ("opened", "red"))
        if any(shares[name])
    ]
    current = find_current(rows)
    return html(
        '<svg class="po-chart" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">'
        "{grid}{lines}{marks}{points}</svg>"
        '<div class="po-legend">{legend}</div>',
        width=_WIDTH,
        height=_HEIGHT,
        label=f"Share of decisions by {chosen.attribute}. {describe_row(current)}",
        grid=join([*_draw_y_axis(y, top, "%"), *_draw_x_axis(x, min(marked), max(marked))]),
        lines=join(lines),
        marks=_draw_marks(x, y, current, total, active),
        points=join(_draw_target(row, xs[place], xs) for place, row in enumerate(rows)),
        legend=join(
            html('<span><i class="f-{tone}"></i>{name}</span>', tone=tone, name=name)
            for tone, name, key in (
                ("c4", "denied", "denied"),
                ("red", "newly allowed", "opened"),
                ("c0", "newly denied", "closed"),
            )
            if any(shares[key]) or key == "denied"
        ),
    )


def _scale(low: float, high: float, start: float, end: float) -> Callable[[float], float]:
    span = (high - low) or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def _draw_area(xs: Sequence[float], ys: Sequence[float], base: float) -> Markup:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return html(
        '<polygon class="po-area" points="{first},{base} {points} {last},{base}"/>',
        first=f"{xs[0]:.1f}",
        last=f"{xs[-1]:.1f}",
        base=f"{base:.1f}",
        points=points,
    )


def _draw_line(xs: Sequence[float], ys: Sequence[float], tone: str) -> Markup:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return html('<polyline class="po-s-{tone}" points="{points}"/>', tone=tone, points=points)


def _draw_y_axis(y: Callable[[float], float], top: float, unit: str) -> list[Markup]:
    return [
        html(
            '<line class="po-grid" x1="{x1}" x2="{x2}" y1="{y}" y2="{y}"/>'
            '<text class="po-t end" x="{tx}" y="{ty}">{label}</text>',
            x1=LEFT,
            x2=_WIDTH - RIGHT,
            y=f"{y(value):.1f}",
            tx=LEFT - 8,
            ty=f"{y(value) + 4:.1f}",
            label=f"{value:.0f}{' ' + unit if place == _TICKS - 1 else ''}",
        )
        for place, value in enumerate(top * step / (_TICKS - 1) for step in range(_TICKS))
    ]


def _draw_x_axis(x: Callable[[float], float], low: float, high: float) -> list[Markup]:
    values = [low + (high - low) * step / (_TICKS - 1) for step in range(_TICKS)] if high > low else [low]
    return [
        html(
            '<text class="po-t {anchor}" x="{x}" y="{y}">{label}</text>',
            anchor="end" if place and place == len(values) - 1 else "mid" if place else "",
            x=f"{x(value):.1f}",
            y=_HEIGHT - BOTTOM + 18,
            label=f"{value:.0f}",
        )
        for place, value in enumerate(values)
    ]


def _draw_marks(
    x: Callable[[float], float], y: Callable[[float], float], current: SweptOut, total: int, active: float | None
) -> Markup:
    """Draw the value of the draft, with its shares, and that of the active version."""
    here = x(current.values[0])
    is_right = here > _WIDTH * 0.7
    marks = [
        html(
            '<line class="po-draft" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
            '<text class="po-t po-strong{end}" x="{tx}" y="14">draft: {value}, {share} denied</text>'
            '<circle class="po-dot" cx="{x}" cy="{y}" r="4"/>',
            x=f"{here:.1f}",
            top=TOP,
            bottom=_HEIGHT - BOTTOM,
            end=" end" if is_right else "",
            tx=f"{here - 6 if is_right else here + 6:.1f}",
            value=describe_number(current.values[0]),
            share=percent(current.denied, total),
            y=f"{y(100 * current.denied / total):.1f}",
        )
    ]
    if active is not None:
        marks.append(_draw_active(x(active), here, active))
    return join(marks)


def _draw_active(there: float, here: float, value: float) -> Markup:
    """Draw the value of the active version; its words stay clear of those of the draft."""
    is_left = there > _WIDTH * 0.8 or (there < here and there > 140)
    return html(
        '<line class="po-active" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>'
        '<text class="po-t{end}" x="{tx}" y="{ty}">active: {value}</text>',
        x=f"{there:.1f}",
        top=TOP,
        bottom=_HEIGHT - BOTTOM,
        end=" end" if is_left else "",
        tx=f"{there - 6 if is_left else there + 6:.1f}",
        ty=TOP + 14 if abs(there - here) < 170 else 14,
        value=describe_number(value),
    )


def _draw_target(row: SweptOut, x: float, xs: Sequence[float]) -> Markup:
    """Draw the invisible part of the chart that tells one value."""
    width = max(2.0, (xs[-1] - xs[0]) / max(1, len(xs) - 1))
    return html(
        '<rect class="po-target" x="{x}" y="{y}" width="{width}" height="{height}" data-tip="{tip}"></rect>',
        x=f"{x - width / 2:.1f}",
        y=TOP,
        width=f"{width:.1f}",
        height=_HEIGHT - TOP - BOTTOM,
        tip=describe_row(row),
    )


PANE: Final = Pane(
    key="curve",
    question="Where should the line be?",
    reading=describe_curve,
    span=7,
    load=load_curve,
    draw=draw_curve,
    reads=(*REPLAY_FIELDS, "sweep"),
    export=export_sweep,
    copy_python=copy_sweep,
    is_long=True,
    expects=describe_work,
)
