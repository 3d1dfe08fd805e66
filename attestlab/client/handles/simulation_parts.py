"""Parts of a simulation that are tables: the values of a sweep, and what one rule does alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from attestlab.client.analysis.records import Records
from attestlab.core.extras import naming_extras
from attestlab.simulation.shapes import RuleAloneOut, RuleSegmentOut, SweptOut

if TYPE_CHECKING:
    import pyarrow as pa

_SWEPT = ("value", "second_value")


class SweptValues(Records[SweptOut]):
    """The result for every value of one threshold, or of two, which are the columns `value` and `second_value`."""

    shape: ClassVar = SweptOut

    def arrow(self) -> pa.Table:
        """Return the results as a pyarrow Table."""
        with naming_extras():
            import pyarrow as pa

        counts = super().arrow()
        columns = [*zip(*(each.values for each in self), strict=True)] or [()]
        values = {name: pa.array(column, pa.float64()) for name, column in zip(_SWEPT, columns, strict=False)}
        return pa.table({**values, **{name: counts[name] for name in counts.column_names if name != "values"}})


class RuleAlone(RuleAloneOut):
    """What one rule does alone, by segment and by target."""

    segments: Records[RuleSegmentOut]
    targets: Records[RuleSegmentOut]
