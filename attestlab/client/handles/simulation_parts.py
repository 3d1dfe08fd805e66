"""Parts of a simulation that are tables: the values of a sweep, and what one rule does alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Unpack

from attestlab.client.analysis.records import Records
from attestlab.core.errors import ValidationFailed
from attestlab.core.extras import naming_extras
from attestlab.simulation.shapes import RuleAloneOut, RuleSegmentOut, SweptOut

if TYPE_CHECKING:
    import pyarrow as pa

    from attestlab.client.collections.filters import NoFilterArgs
    from attestlab.plots import Chart
    from attestlab.simulation.shapes import SimulationOut

PLOTTED = ("flips", "rules", "sweep")
_SWEPT = ("value", "second_value")


class SweptValues(Records[SweptOut]):
    """The result for every value of one threshold, or of two, which are the columns `value` and `second_value`."""

    shape: ClassVar = SweptOut

    def arrow(self, **filters: Unpack[NoFilterArgs]) -> pa.Table:
        """Return the results as a pyarrow Table.

        Args:
            filters: none; the message says where they go.
        """
        self._refuse(filters, "arrow")
        with naming_extras():
            import pyarrow as pa

        counts = super().arrow()
        columns = [*zip(*(each.values for each in self), strict=True)] or [()]
        values = {name: pa.array(column, pa.float64()) for name, column in zip(_SWEPT, columns, strict=False)}
        return pa.table({**values, **{name: counts[name] for name in counts.column_names if name != "values"}})

    def plot(self, what: str = "changes", *, title: str | None = None) -> Chart:
        """Draw what each value of the threshold would decide; of two thresholds, a table.

        Args:
            what: `changes`, the decisions that would be newly allowed and newly denied; `allowed` or `denied`.
            title: above the chart.

        Returns:
            A HoloViews element, which a notebook shows as a picture (`attestlab.plots.draw_sweep`).

        Raises:
            ValidationFailed: `what` is another word.
            MissingExtra: the extra `notebook` is not installed.

        >>> sweep = lab.policies.sweep("Employment checks", ("old-key", "key.age_days"), until="2026-11-02").sweep
        >>> chart = sweep.plot("denied")
        """
        from attestlab import plots  # loads HoloViews, which only charts need

        return plots.draw_sweep(self, what, title=title)


class RuleAlone(RuleAloneOut):
    """What one rule does alone, by segment and by target."""

    segments: Records[RuleSegmentOut]
    targets: Records[RuleSegmentOut]


def plot_simulation(report: SimulationOut, what: str | None, title: str | None) -> Chart:
    """Draw a part of a simulation: by default its sweep, or without one the decisions that change.

    Raises:
        ValidationFailed: `what` names no part, or the simulation has no sweep.
    """
    from attestlab import plots  # loads HoloViews, which only charts need
    from attestlab.plots.requirements import require_choice

    if what is None:
        what = "flips" if report.sweep is None else "sweep"
    require_choice(what, PLOTTED, name="what")
    if what == "rules":
        return plots.draw_rules(report, title=title)
    if what == "flips":
        return plots.draw_flips(report, title=title)
    if report.sweep is None:
        raise ValidationFailed("This simulation has no sweep. Make one: lab.policies.sweep(policy, (rule, attribute)).")
    return plots.draw_sweep(report.sweep, title=title)
