"""The row of filters: which daily use the chart shows, and of which days."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date
from typing import Final

from markupsafe import Markup

from attestlab import Lab
from attestlab_dashboards import widgets
from attestlab_dashboards.pages import Facts, Pane
from attestlab_dashboards.ranges import draw_own_range
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.usage.state import METERS, SPANS, YESTERDAY, UsageState


def load_today(lab: Lab, _state: UsageState) -> date:
    """Load the UTC day of now, with which the chips have dates."""
    return lab.now().astimezone(UTC).date()


def draw_filters(state: UsageState, _facts: Facts) -> Markup:
    """Draw the filters before anything is loaded, without dates."""
    return draw_dated_filters(None, state)


def draw_dated_filters(today: date | None, state: UsageState) -> Markup:
    """Draw the meters, the spans of days, and a chip with a cross for what is set."""
    meters = [widgets.chip(meter.capitalize(), ev="meter", v=meter, pressed=state.meter == meter) for meter in METERS]
    yesterday = widgets.chip("Yesterday", ev="range", v=YESTERDAY, pressed=state.range == YESTERDAY)
    return html(
        '{meters}<span class="sep"></span>{spans}{own}{removable}',
        meters=join(meters),
        spans=join([yesterday, *(_draw_span(days, today, state) for days in sorted(SPANS))]),
        own=draw_own_range("range", state.own_range),
        removable=widgets.set_filters(_list_removable(today, state)),
    )


def _draw_span(days: int, today: date | None, state: UsageState) -> Markup:
    """Draw a span to choose; the chosen one has its dates."""
    is_chosen = state.days == days and not state.range
    words = f"{_write_span(days)}: {state.find_days(today).words}" if is_chosen and today else _write_span(days)
    return widgets.chip(words, ev="days", v=str(days), pressed=is_chosen)


def _write_span(days: int) -> str:
    return "A year" if days == max(SPANS) else f"{days} days"


def _list_removable(today: date | None, state: UsageState) -> Iterator[tuple[str, str]]:
    if state.meter != METERS[0]:
        yield "meter", f"Use: {state.meter}"
    if state.own_range:
        yield "range", state.own_range.words
    elif state.range:
        yield "range", f"Yesterday: {state.find_days(today).words}" if today else "Yesterday"
    elif state.days != SPANS[0]:
        yield "days", state.find_days(today).words if today else _write_span(state.days)


PANE: Final = Pane(key="chips", load=load_today, draw=draw_dated_filters, reads=(), is_optional=True, is_common=True)
