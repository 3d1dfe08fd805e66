"""The time axis of the risk explorer's charts."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from markupsafe import Markup

from attestlab_dashboards.axes import draw_marks
from attestlab_dashboards.formats import day
from attestlab_dashboards.risk.windows import Period

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
