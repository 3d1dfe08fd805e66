"""The key figures, each next to the previous period."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from markupsafe import Markup

from attestlab_dashboards.formats import count
from attestlab_dashboards.pages import Pane
from attestlab_dashboards.ranges import write_span
from attestlab_dashboards.risk.overview import READS, RiskOverview, RiskTotals, copy_overview_sql, load_overview
from attestlab_dashboards.risk.state import RiskState
from attestlab_dashboards.risk.windows import BEFORE
from attestlab_dashboards.risk.words import write_step
from attestlab_dashboards.safe import html
from attestlab_dashboards.widgets import Kpi, Tone, kpi_strip


def draw_kpis(overview: RiskOverview, state: RiskState) -> Markup:
    """Draw the five tiles."""
    now, steps = overview.now, overview.steps
    before, words = _find_compared(overview, state)
    open_now, open_before, open_cases = overview.open_cases
    times = [write_step(overview.period.time_of(step), overview.period) for step in overview.period.steps]
    tiles = [
        _tile("Signals", now.signals, before.signals, [each.signals for each in steps], words, "-signals"),
        _tile("Escalated", now.escalated, before.escalated, [each.escalated for each in steps], words, "-escalated"),
        _tile("Entities affected", now.entities, before.entities, [each.entities for each in steps], words, "-score"),
        _median_tile(now, before, steps, words),
        Kpi(
            label="Open cases",
            rows="queue",
            value=count(open_now),
            note=_draw_change(f"{open_now - open_before:+,}", open_now > open_before, "since the start of this time"),
            values=open_cases,
            tone="bad" if open_now > open_before else "info",
        ),
    ]
    return kpi_strip([replace(tile, times=times) for tile in tiles])


def _find_compared(overview: RiskOverview, state: RiskState) -> tuple[RiskTotals, str]:
    """Find the totals that the tiles are compared with, and the words of their time."""
    other = overview.compared
    if other is not None and state.compare != BEFORE:
        return other.now, write_span(other.period.start, other.period.end)
    return overview.before, "the time before" if "time" in state.active_filters else state.shown_window.before


def _tile(label: str, now: int, before: int, values: Sequence[float], words: str, sort: str) -> Kpi:
    """Draw a count; its rows are the entities, sorted by it."""
    is_bad = sort == "-escalated"
    change = f"{round(100 * (now - before) / before):+,} %" if before else ""
    note = _draw_change(change, is_bad and now > before, f"vs {words}") if change else f"none in {words}"
    return Kpi(
        label=label,
        value=count(now),
        note=note,
        values=values,
        tone="bad" if is_bad else "info",
        rows="who",
        ev="sort",
        v=sort,
    )


def _median_tile(now: RiskTotals, before: RiskTotals, steps: Sequence[RiskTotals], words: str) -> Kpi:
    change = "" if now.median is None or before.median is None else f"{round(now.median - before.median, 1):+g}"
    tone: Tone = "info"
    return Kpi(
        label="Median score",
        value="none" if now.median is None else html("{median} <small>of 100</small>", median=f"{now.median:.0f}"),
        note=_draw_change(change, False, f"vs {words}") if change else f"none in {words}",
        values=[each.median or 0.0 for each in steps],
        tone=tone,
        rows="when",
    )


def _draw_change(change: str, is_bad: bool, words: str) -> Markup:
    css = "bad" if is_bad else "b"
    return html('<span class="b {css}">{change}</span> {words}', css=css, change=change, words=words)


PANE: Final = Pane(
    key="kpis",
    load=load_overview,
    draw=draw_kpis,
    reads=READS,
    copy_sql=copy_overview_sql,
    is_common=True,
)
