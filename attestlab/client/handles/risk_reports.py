"""Reports of risk: the drift of scores, and what other rules would have escalated."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attestlab.client import risk_cards
from attestlab.client.analysis.records import Records
from attestlab.client.handles.base import Handle
from attestlab.risk.shapes import DriftOut, KindDriftOut
from attestlab.simulation.risk.shapes import (
    CurvePointOut,
    RiskFlipOut,
    RiskRuleEffectOut,
    RiskSimulationOut,
    SignalExampleOut,
)

if TYPE_CHECKING:
    from attestlab.plots import Chart


class DriftHandle(DriftOut, Handle):
    """The drift of scores between two windows, strongest first."""

    shown_fields: ClassVar = ("since", "until", "items", "truncated")

    items: Records[KindDriftOut]

    def plot(self, *, title: str | None = None) -> Chart:
        """Draw the drift of each source and type, with the bounds from which it is moderate and major.

        Args:
            title: above the chart; by default the window.

        Returns:
            A HoloViews element, which a notebook shows as a picture (`attestlab.plots.draw_drift`).

        Raises:
            MissingExtra: the extra `notebook` is not installed.

        >>> chart = lab.signals.drift(since="2026-10-26", until="2026-11-02").plot()
        """
        from attestlab import plots  # loads HoloViews, which only charts need

        return plots.draw_drift(self, title=title)

    def _repr_html_(self) -> str:
        return risk_cards.draw_drift(self)


class RiskSimulationHandle(RiskSimulationOut, Handle):
    """What a rule set would have escalated, compared with the outcomes of cases and with the live rule."""

    shown_fields: ClassVar = ("signals", "precision", "recall", "fpr", "cost")

    rules: Records[RiskRuleEffectOut]
    curve: Records[CurvePointOut]
    flips: Records[RiskFlipOut]
    examples: Records[SignalExampleOut]

    def plot(self, what: str = "cost", *, title: str | None = None) -> Chart:
        """Draw what each value of the threshold costs, or what the rules escalate.

        Args:
            what: `cost` of the wrong decisions; `alarms`, frauds found and false alarms; `quality`, precision and
                recall; or `rules`, what each rule is the first to escalate.
            title: above the chart; by default the threshold.

        Returns:
            A HoloViews element, which a notebook shows as a picture (`attestlab.plots.draw_curve`, `.draw_risk_rules`).

        Raises:
            ValidationFailed: `what` is another word.
            MissingExtra: the extra `notebook` is not installed.

        >>> high = {"attr": "signal.score", "op": "gte", "value": 95}
        >>> report = lab.signals.simulate([{"id": "high", "when": high}], since="2026-10-26")
        >>> chart = report.plot("alarms")
        """
        from attestlab import plots  # loads HoloViews, which only charts need

        if what == "rules":
            return plots.draw_risk_rules(self, title=title)
        return plots.draw_curve(self, what, title=title)

    def _repr_html_(self) -> str:
        return risk_cards.draw_risk_simulation(self)
