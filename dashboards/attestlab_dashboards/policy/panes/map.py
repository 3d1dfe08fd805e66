"""Every pair of values of two thresholds: a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab.client.analysis.records import Records
from attestlab.simulation.shapes import SweptOut
from attestlab_dashboards.formats import percent
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.policy.documents import WORDS, RuleThreshold, describe_number
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


def load_map(lab: Lab, state: PolicyState) -> Sweep:
    """Simulate every pair of values of the two chosen thresholds."""
    return load_sweep(lab, state, 2)


def describe_map(data: Sweep, _state: PolicyState) -> str:
    """Describe what the map shows."""
    if len(data.chosen) < 2:
        return ""
    across, up = data.chosen
    return f"Share denied by {up.attribute} (up) and {across.attribute} (across)"


def export_map(lab: Lab, state: PolicyState) -> Records[SweptOut]:
    """Export the results for every pair of values of two thresholds.

    Raises:
        NotFound: the draft has fewer thresholds.
    """
    return export_values(lab, state, 2)


def copy_map(state: PolicyState) -> str:
    """Write the sweep of two thresholds at once: the chosen ones, else the first that the document has."""
    return write_sweep(state, (state.sweep, state.second))


_MAP_WIDTH, _MAP_HEIGHT = 440, 270  # and of the map


def draw_map(data: Sweep, state: PolicyState) -> Markup:
    """Draw the share that is denied for every pair of values of two thresholds."""
    missing = draw_if_no_sweep(data, 2)
    if missing is not None or data.values is None:
        return missing or NOTHING
    rows = list(data.values)
    others = [each for each in data.choices if each != data.chosen[0]]
    return html(
        '{choice}{chart}<p class="sub" data-tip-line>{line}</p>',
        choice=draw_threshold_choice("Second threshold", "second", others, data.chosen[1]),
        chart=_draw_map(rows, data.chosen),
        line=describe_row(find_current(rows)),
    )


def _draw_map(rows: Sequence[SweptOut], chosen: tuple[RuleThreshold, ...]) -> Markup:
    xs, ys = (sorted({row.values[axis] for row in rows}) for axis in (0, 1))
    shares = [row.denied / max(1, row.allowed + row.denied) for row in rows]
    low, high = min(shares), max(shares)
    width, height = (_MAP_WIDTH - LEFT - RIGHT) / len(xs), (_MAP_HEIGHT - TOP - BOTTOM) / len(ys)
    cells = []
    for row, share in zip(rows, shares, strict=True):
        x, y = LEFT + width * xs.index(row.values[0]), _MAP_HEIGHT - BOTTOM - height * (ys.index(row.values[1]) + 1)
        cells.append(_draw_cell(row, (x, y, width, height), 0.08 + 0.92 * (share - low) / ((high - low) or 1.0)))
    current = find_current(rows)
    return html(
        '<div class="po-scale"><span>{low}</span><i></i><span>{high} denied</span></div>'
        '<svg class="po-chart" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">{cells}{axes}</svg>',
        low=percent(low, 1),
        high=percent(high, 1),
        width=_MAP_WIDTH,
        height=_MAP_HEIGHT,
        label=f"Share denied by {chosen[0].attribute} and {chosen[1].attribute}. {describe_row(current)}",
        cells=join(cells),
        axes=_draw_map_axes(xs, ys, chosen),
    )


def _draw_cell(row: SweptOut, box: tuple[float, float, float, float], opacity: float) -> Markup:
    x, y, width, height = (f"{each:.1f}" for each in box)
    return html(
        '<rect class="f-c0{current}" fill-opacity="{opacity}" x="{x}" y="{y}" width="{width}" height="{height}" '
        'data-tip="{tip}"></rect>',
        current=" po-current" if row.is_current else "",
        opacity=f"{opacity:.2f}",
        x=x,
        y=y,
        width=width,
        height=height,
        tip=describe_row(row),
    )


def _draw_map_axes(xs: Sequence[float], ys: Sequence[float], chosen: tuple[RuleThreshold, ...]) -> Markup:
    bottom = _MAP_HEIGHT - BOTTOM + 18
    labels = [
        ("", LEFT, bottom, f"{chosen[0].attribute} {WORDS[chosen[0].op]} {describe_number(xs[0])}"),
        (" end", _MAP_WIDTH - RIGHT, bottom, describe_number(xs[-1])),
        (" end", LEFT - 8, _MAP_HEIGHT - BOTTOM, describe_number(ys[0])),
        (" end", LEFT - 8, TOP + 10, describe_number(ys[-1])),
        ("", LEFT, 14, f"{chosen[1].attribute} {WORDS[chosen[1].op]} (up)"),
    ]
    return join(
        html('<text class="po-t{end}" x="{x}" y="{y}">{words}</text>', end=end, x=x, y=y, words=words)
        for end, x, y, words in labels
    )


PANE: Final = Pane(
    key="map",
    question="And two lines at once?",
    reading=describe_map,
    span=5,
    load=load_map,
    draw=draw_map,
    reads=(*REPLAY_FIELDS, "sweep", "second"),
    export=export_map,
    copy_python=copy_map,
    is_long=True,
    expects=describe_work,
)
