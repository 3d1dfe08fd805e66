"""The small line of a tile: its numbers are read at the pointer, at a tap, or all together at the focus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from attestlab_dashboards.safe import html, join

WIDTH, HEIGHT = 74, 30  # units of the viewBox
_PARTS: Final = "part {number} of {all}"


def draw_sparkline(label: str, values: Sequence[float], times: Sequence[str], tone: str) -> Markup:
    """Draw values, oldest first, each with the words of its time; without times they are numbered parts."""
    named = times or [_PARTS.format(number=place + 1, all=len(values)) for place in range(len(values))]
    low, high = min(values), max(values)
    span, step = (high - low) or 1.0, WIDTH / (len(values) - 1)
    points = [f"{place * step:.1f},{HEIGHT * (1 - (value - low) / span):.1f}" for place, value in enumerate(values)]
    return html(
        '<svg class="sp {tone}" viewBox="0 0 74 30" preserveAspectRatio="none" role="img" tabindex="0" '
        'aria-label="{summary}" data-tip="{summary}"><polyline points="{points}"/>{hits}</svg>',
        tone=tone,
        summary=_write_summary(label, values, named),
        points=" ".join(points),
        hits=join(_draw_hit(place, value, named[place], step) for place, value in enumerate(values)),
    )


def _draw_hit(place: int, value: float, words: str, step: float) -> Markup:
    """Draw the part of the line that shows its number; the outer ones reach to the middle of their step."""
    left, right = max(0.0, (place - 0.5) * step), min(float(WIDTH), (place + 0.5) * step)
    return html(
        '<rect class="al-hit" x="{x}" y="0" width="{width}" height="30" data-tip="{words}: {value}"/>',
        x=f"{left:.1f}",
        width=f"{right - left:.1f}",
        words=words,
        value=_write(value),
    )


def _write_summary(label: str, values: Sequence[float], named: Sequence[str]) -> str:
    """Write the first, the highest and the last number."""
    places = dict.fromkeys((0, max(range(len(values)), key=values.__getitem__), len(values) - 1))
    return f"{label}: {'; '.join(f'{named[place]} {_write(values[place])}' for place in places)}"


def _write(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.1f}"
