"""The filters of the page: which daily use its charts show, and of how many days."""

from __future__ import annotations

from markupsafe import Markup

from attestlab_dashboards import widgets
from attestlab_dashboards.pages import Facts
from attestlab_dashboards.safe import html, join
from attestlab_dashboards.usage.state import METERS, SPANS, UsageState


def draw_filters(state: UsageState, _facts: Facts) -> Markup:
    """Draw the filters."""
    meters = [widgets.chip(meter.capitalize(), ev="meter", v=meter, pressed=state.meter == meter) for meter in METERS]
    spans = [
        widgets.chip("A year" if days == 365 else f"{days} days", ev="days", v=str(days), pressed=state.days == days)
        for days in sorted(SPANS)
    ]
    return join([*meters, html('<span class="sep"></span>'), *spans])
