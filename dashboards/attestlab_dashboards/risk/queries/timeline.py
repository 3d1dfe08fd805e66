"""What the chart over time shows: the figures of the window, and the step that stands out."""

from __future__ import annotations

from dataclasses import dataclass

from attestlab import Lab
from attestlab_dashboards.risk.queries.answer import RiskAnswer, load_answer
from attestlab_dashboards.risk.queries.overview import RiskOverview, load_overview
from attestlab_dashboards.risk.state import RiskState


@dataclass(frozen=True)
class RiskTimeline:
    """The figures of a window, and the step that stands out."""

    overview: RiskOverview
    answer: RiskAnswer


def load_timeline(lab: Lab, state: RiskState) -> RiskTimeline:
    """Load it. Both are shared with other panes."""
    return RiskTimeline(load_overview(lab, state), load_answer(lab, state))
