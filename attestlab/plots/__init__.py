"""Charts of what a lab answers, as HoloViews elements that a notebook shows as pictures; needs the extra `notebook`.

A chart can be changed (`chart.opts(title="Mine")`), laid over another one (`one * other`), placed beside it
(`one + other`), and saved (`holoviews.save(chart, "chart.png")`). `lab.signals.plot`, `graph.plot`, `drift.plot` and
those of reports draw the same with less to write.

>>> from attestlab import plots
>>> chart = plots.draw_graph(lab.signals.graph("device:device-73d1efba", depth=1))
"""

from __future__ import annotations

from attestlab.core.extras import naming_extras

with naming_extras():
    from attestlab.plots.look import Chart
    from attestlab.plots.policies import draw_flips, draw_rules, draw_sweep
    from attestlab.plots.risk import draw_contributions, draw_curve, draw_drift, draw_graph, draw_risk_rules
    from attestlab.plots.signals import draw_scores, draw_severities, draw_volume
    from attestlab.plots.tables import (
        draw_bars,
        draw_columns,
        draw_counts,
        draw_days,
        draw_lines,
        draw_states,
        draw_times,
    )

__all__ = [
    "Chart",
    "draw_bars",
    "draw_columns",
    "draw_contributions",
    "draw_counts",
    "draw_curve",
    "draw_days",
    "draw_drift",
    "draw_flips",
    "draw_graph",
    "draw_lines",
    "draw_risk_rules",
    "draw_rules",
    "draw_scores",
    "draw_severities",
    "draw_states",
    "draw_sweep",
    "draw_times",
    "draw_volume",
]
